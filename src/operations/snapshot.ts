/** Opens the version that a request names by id, branch, version and tag. */

import { lazyModule } from "../async/lazy.js";
import { requireTable, type TableEntry, type WantedVersion } from "../catalog/locations/tables.js";
import {
  CorruptFileError,
  InvalidInputError,
  InvalidTableStateError,
  TableBranchNotFoundError,
  TableNotFoundError,
  TableVersionNotFoundError,
} from "../errors.js";
import { formatIdentifier } from "../ident.js";
import { confirmDirectory } from "../io/disk/confinement.js";
import type { ObjectId } from "../namespace/request.js";
import { checkBranchName, isMainBranch } from "../table/refs/refNames.js";
import { type AcceptedLogs, refuseBufferedRows, refuseLogs } from "../table/versions/bufferedRows.js";
import { anchorOf, declaredAnchor, type TableAnchor } from "../table/versions/identity.js";
import { openVersion } from "../table/versions/openVersion.js";
import { versionsDirectory } from "../table/versions/paths.js";
import { branchAt, type OpenVersion, type TableAt, tableAt } from "../table/versions/tableAt.js";
import { findVersion, type LatestVersion, type VersionEntry } from "../table/versions/versions.js";
import type { Access } from "./access.js";
import type { OperationContext } from "./context.js";
import { optionalMoment, optionalString, optionalVersion, requireTableId } from "./request.js";

/** The first request of a branch or a tag loads this module. */
const refs = lazyModule(() => import("./findRefs.js"));

/** The first request of a moment loads this module. */
const moments = lazyModule(() => import("./versionAtMoment.js"));

/** An existing table or branch. */
export interface OpenTable {
  readonly entry: TableEntry;
  readonly table: TableAt<OperationContext>;
  /** Null for a declared table. */
  readonly latest: LatestVersion | null;
}

/** A table or branch with versions. */
export interface WritableTable extends OpenTable {
  readonly latest: LatestVersion;
}

/** Returns the anchor on which changes of an opened table are planned. */
export async function anchorOfOpen({ table, latest }: OpenTable): Promise<TableAnchor> {
  const base = latest && (await openVersion(table, latest));
  return base === null ? declaredAnchor(table) : anchorOf(base);
}

/** A version of a table. */
type Snapshot = OpenVersion<OperationContext>;

interface Selection {
  readonly id?: ObjectId | undefined;
  readonly branch?: string | undefined;
  readonly version?: number | undefined;
  readonly tag?: string | undefined;
  readonly asOf?: Date | string | undefined;
  /** True: accepts a branch that is not registered yet, possibly without versions. */
  readonly unregisteredBranch?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens the table or branch of a request.
 * @throws TableNotFoundError; TableBranchNotFoundError; InvalidInputError for illegal names
 */
export const openTable = (context: OperationContext, request: Selection): Promise<OpenTable> =>
  open(context, request, "latest");

/** Opens the table or branch of a request; `latest` may be an older version. */
export const openAtAnyVersion = (context: OperationContext, request: Selection): Promise<OpenTable> =>
  open(context, request, "any");

async function open(
  context: OperationContext,
  request: Selection,
  wanted: WantedVersion,
): Promise<OpenTable> {
  const id = requireTableId(request.id);
  const branch = optionalString(request.branch, "branch");
  const onMain = isMainBranch(branch);
  if (!onMain) checkBranchName(branch);
  const entry = await requireTable(context, id, onMain ? wanted : "any");
  const confirming = confirmPlace(context, entry.directory, entry.latest);
  if (confirming !== undefined) await confirming;
  if (onMain) return { entry, table: tableAt(context, entry.directory), latest: entry.latest };
  const table = tableAt(context, entry.directory, branch);
  const early = request.unregisteredBranch === true;
  const latest =
    early || (await (await refs.get()).isRegistered(table, branch))
      ? await (wanted === "any"
          ? context.latestVersions.findAny(table.root)
          : context.latestVersions.find(table.root))
      : null;
  if (latest === null && !early) {
    throw new TableBranchNotFoundError(`table ${formatIdentifier(id)} has no branch ${branch}`);
  }
  await confirmPlace(context, table.root, latest);
  return { entry, table, latest };
}

/**
 * Checks that a table or branch lies in a directory that the engine may use.
 * @returns undefined if the check is synchronous
 * @throws PermissionDeniedError if a symbolic link leads to another directory
 */
const confirmPlace = (
  { confinement, confirmed }: OperationContext,
  tableRoot: string,
  latest: LatestVersion | null,
): Promise<void> | undefined =>
  latest === null
    ? confirmDirectory(confinement, tableRoot)
    : confirmed.confirm(versionsDirectory(tableRoot), latest.directory);

/**
 * Opens the table or branch of a request for a change.
 * @throws errors of {@link openTable} and {@link writableOf}; InvalidTableStateError for a declared table
 */
export async function openWritable(
  context: OperationContext,
  request: Selection,
  logs: AcceptedLogs = "none",
): Promise<WritableTable> {
  const open = await openTable(context, request);
  const writable = await writableOf(open, logs);
  if (writable === null) throw withoutData(open.entry.id);
  return writable;
}

/**
 * Returns an opened table for a change. Null for a declared table.
 * @param logs logs that the change accepts; its commit must be told them too
 * @throws UnsupportedError for other logs
 */
export async function writableOf(
  open: OpenTable,
  logs: AcceptedLogs = "none",
): Promise<WritableTable | null> {
  const { latest } = open;
  if (latest === null) return null;
  const base = await openVersion(open.table, latest);
  if (base !== null) await refuseLogs(base, logs);
  return { ...open, latest };
}

/**
 * Opens the version of a request; default: the latest. Null for a declared table. A tag may lead to a branch
 * that the request does not name, which `authorize` must allow too.
 * @throws errors of {@link openTable}; TableVersionNotFoundError; TableTagNotFoundError;
 *   PermissionDeniedError
 */
export async function openSnapshot(
  context: OperationContext,
  request: Selection,
  access: Access,
): Promise<Snapshot | null> {
  return (await openDescribed(context, request, access)).snapshot;
}

/** Name of a version in a request; at most one member has a value. */
interface VersionPoint {
  readonly version: number | undefined;
  readonly tag: string | undefined;
  /** Milliseconds since 1970. */
  readonly asOf: number | undefined;
}

/**
 * Returns the members of a request that name a version.
 * @throws InvalidInputError if two of them have values
 */
export function requestedPoint(
  request: Pick<Selection, "branch" | "version" | "tag" | "asOf">,
): VersionPoint {
  const version = optionalVersion(request.version);
  const tag = optionalString(request.tag, "tag");
  const asOf = optionalMoment(request.asOf, "asOf");
  if (
    tag !== undefined &&
    (version !== undefined || optionalString(request.branch, "branch") !== undefined)
  ) {
    throw new InvalidInputError("tag: cannot be given together with version or branch");
  }
  if (asOf !== undefined && (version !== undefined || tag !== undefined)) {
    throw new InvalidInputError("asOf: cannot be given together with version or tag");
  }
  return { version, tag, asOf };
}

/** Opens the version of a request, as {@link openSnapshot}, together with its table. */
export async function openDescribed(
  context: OperationContext,
  request: Selection,
  access: Access,
): Promise<{ readonly entry: TableEntry; readonly snapshot: Snapshot | null }> {
  const point = requestedPoint(request);
  const { tag, asOf } = point;
  let { version } = point;
  let { entry: tableEntry, table, latest } = await openTable(context, request);
  if (tag !== undefined) {
    const { requireTag } = await refs.get();
    const target = await requireTag({ table, entry: tableEntry }, tag);
    await access.requireBranch(target.branch);
    if (target.branch !== null) table = branchAt(table, target.branch);
    version = target.version;
    latest = target.branch !== null ? null : latest;
  } else if (latest === null && version === undefined) {
    return { entry: tableEntry, snapshot: null };
  }
  let entry: (VersionEntry & Pick<LatestVersion, "manifestStat">) | null = latest;
  if (asOf !== undefined) {
    entry = await (await moments.get()).versionAtMoment(table, latest, asOf, request);
    version = entry.version;
  } else if (version !== undefined && version !== latest?.version) entry = await findVersion(table, version);
  const file = entry && (await context.manifests.read(context.disk, entry.path, entry.manifestStat));
  if (version === undefined && file === null) {
    throw new TableNotFoundError(`table ${formatIdentifier(tableEntry.id)} was dropped while it was opened`);
  }
  if (entry === null || file === null) {
    throw new TableVersionNotFoundError(`table ${formatIdentifier(tableEntry.id)} has no version ${version}`);
  }
  const { path, scheme } = entry;
  return { entry: tableEntry, snapshot: { version: entry.version, scheme, path, table, file } };
}

/**
 * Opens the version whose rows a request reads.
 * @throws InvalidTableStateError for a declared table; UnsupportedError for a table that buffers rows
 */
export async function requireSnapshot(
  context: OperationContext,
  request: Selection,
  access: Access,
): Promise<Snapshot> {
  const { entry, snapshot } = await openDescribed(context, request, access);
  if (snapshot === null) throw withoutData(entry.id);
  const refusing = refuseBufferedRows(snapshot);
  if (refusing !== undefined) await refusing;
  return snapshot;
}

const withoutData = (id: readonly string[]): InvalidTableStateError =>
  new InvalidTableStateError(`table ${formatIdentifier(id)} is only declared: it has no data yet`);

/**
 * True if the version that was opened still exists, rather than a later table's version. Missing files then
 * mean damage.
 */
export async function isInPlace({ table, path, file }: OpenVersion): Promise<boolean> {
  const current = await table.environment.manifests.read(table.disk, path);
  return current?.isCopyOf(file) === true;
}

/** Returns the error of a reader of these versions. Missing files of a removed version are not corruption. */
export async function removedError(
  versions: readonly OpenVersion[],
  { id }: Pick<Selection, "id">,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof CorruptFileError)) return error;
  for (const opened of versions) {
    try {
      if (await isInPlace(opened)) continue;
    } catch (reason) {
      return reason;
    }
    return new TableVersionNotFoundError(
      `version ${opened.version} of table ${formatIdentifier(requireTableId(id))} was removed while it was read`,
      { cause: error },
    );
  }
  return error;
}
