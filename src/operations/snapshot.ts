/** Finds the version that a request means by its id, branch, version and tag. */

import { type FoundTable, requireTable, type WantedVersion } from "../catalog/places/tables.js";
import {
  InvalidInputError,
  InvalidTableStateError,
  TableBranchNotFoundError,
  TableNotFoundError,
  TableTagNotFoundError,
  TableVersionNotFoundError,
} from "../errors.js";
import { formatIdentifier } from "../ident.js";
import type { FragmentSource } from "../query/fragmentColumns.js";
import { versionSource } from "../query/versionSource.js";
import { branchRoot, checkBranchName, isMainBranch } from "../table/refs/refs.js";
import { declaredAnchor, type TableAnchor } from "../table/versions/identity.js";
import type { ManifestFile } from "../table/versions/manifest.js";
import { readManifestAt } from "../table/versions/manifestCache.js";
import { versionsDirectory } from "../table/versions/paths.js";
import { anchorOf, findVersion, type LatestVersion, type VersionEntry } from "../table/versions/versions.js";
import type { Access } from "./access.js";
import type { OperationContext } from "./context.js";
import { findTag, isRegistered } from "./findRefs.js";
import { optionalString, optionalVersion, requireTableId } from "./request.js";

/** An existing table, or an existing branch of it. */
export interface OpenTable {
  readonly table: FoundTable;
  /** Directory of the table or branch, with its versions and files. */
  readonly tableRoot: string;
  /** Null while the table is only declared. */
  readonly latest: LatestVersion | null;
}

/** A table, or a branch of it, that has versions. */
export interface WritableTable extends OpenTable {
  readonly latest: LatestVersion;
}

/** The anchor on which changes of an opened table are planned. */
export async function anchorOfOpen(
  context: OperationContext,
  { tableRoot, latest }: OpenTable,
): Promise<TableAnchor> {
  const file = latest && (await readManifestAt(context, latest));
  if (latest !== null && file !== null) return anchorOf({ entry: latest, file });
  return declaredAnchor(context.disk, tableRoot);
}

/** One version of a table. */
export interface Snapshot {
  readonly tableRoot: string;
  readonly entry: VersionEntry;
  readonly file: ManifestFile;
}

interface Selection {
  readonly id?: readonly string[];
  readonly branch?: string;
  readonly version?: number;
  readonly tag?: string;
  /** A branch counts as existing even before it is registered, possibly without versions. */
  readonly unregisteredBranch?: boolean;
}

/**
 * The table a request names, on its branch.
 * @throws TableNotFoundError, TableBranchNotFoundError, InvalidInputError for illegal names
 */
export function openTable(context: OperationContext, request: Selection): Promise<OpenTable> {
  return open(context, request, "latest");
}

/** As {@link openTable}, for a caller that does not need the latest version: `latest` may be one before it. */
export function openAtAnyVersion(context: OperationContext, request: Selection): Promise<OpenTable> {
  return open(context, request, "any");
}

async function open(
  context: OperationContext,
  request: Selection,
  wanted: WantedVersion,
): Promise<OpenTable> {
  const id = requireTableId(request.id);
  const branch = optionalString(request.branch, "branch");
  const onMain = isMainBranch(branch);
  if (!onMain) checkBranchName(branch);
  const table = await requireTable(context, id, onMain ? wanted : "any");
  await confirmPlace(context, table.directory, table.latest);
  if (onMain) return { table, tableRoot: table.directory, latest: table.latest };
  const tableRoot = branchRoot(table.directory, branch);
  const early = request.unregisteredBranch === true;
  const latest =
    early || (await isRegistered(context, table.directory, branch))
      ? await (wanted === "any"
          ? context.latestVersions.findAny(tableRoot)
          : context.latestVersions.find(tableRoot))
      : null;
  if (latest === null && !early) {
    throw new TableBranchNotFoundError(`table ${formatIdentifier(id)} has no branch ${branch}`);
  }
  await confirmPlace(context, tableRoot, latest);
  return { table, tableRoot, latest };
}

/**
 * Checks that a table or branch lies where the engine may work.
 * @returns undefined if there is nothing to wait for
 * @throws PermissionDeniedError if a link leads elsewhere
 */
const confirmPlace = (
  { places }: OperationContext,
  tableRoot: string,
  latest: LatestVersion | null,
): Promise<void> | undefined =>
  latest === null
    ? places.confirm(tableRoot)
    : places.confirmSeen(versionsDirectory(tableRoot), latest.directory);

/**
 * The table that a request names, on its branch, to be changed.
 * @throws what {@link openTable} throws; InvalidTableStateError while the table is only declared
 */
export async function openWritable(context: OperationContext, request: Selection): Promise<WritableTable> {
  const open = await openTable(context, request);
  const { latest } = open;
  if (latest !== null) return { ...open, latest };
  throw new InvalidTableStateError(
    `table ${formatIdentifier(open.table.id)} is only declared: it has no data yet`,
  );
}

/**
 * The version that a request names, or else the latest; null while the table is only declared. A tag leads to a branch
 * that the request does not name: the caller must be allowed that branch, too.
 * @throws what {@link openTable} throws, TableVersionNotFoundError, TableTagNotFoundError, PermissionDeniedError
 */
export async function openSnapshot(
  context: OperationContext,
  request: Selection,
  access: Access,
): Promise<Snapshot | null> {
  return (await openDescribed(context, request, access)).snapshot;
}

/** As {@link openSnapshot}, together with the version's table. */
export async function openDescribed(
  context: OperationContext,
  request: Selection,
  access: Access,
): Promise<{ readonly table: FoundTable; readonly snapshot: Snapshot | null }> {
  const asked = optionalVersion(request.version);
  const tag = optionalString(request.tag, "tag");
  if (tag !== undefined && (asked !== undefined || optionalString(request.branch, "branch") !== undefined)) {
    throw new InvalidInputError("tag: excludes version and branch");
  }
  let { table, tableRoot, latest } = await openTable(context, request);
  let version = asked;
  if (tag !== undefined) {
    const target = await findTag(context, table.directory, tag);
    if (target === null)
      throw new TableTagNotFoundError(`table ${formatIdentifier(table.id)} has no tag ${tag}`);
    await access.requireBranch(target.branch);
    if (target.branch !== null) tableRoot = branchRoot(table.directory, target.branch);
    version = target.version;
    latest = target.branch !== null ? null : latest;
  } else if (latest === null && version === undefined) {
    return { table, snapshot: null };
  }
  const entry: (VersionEntry & Pick<LatestVersion, "manifestStat">) | null =
    version === undefined || version === latest?.version
      ? latest
      : await findVersion(context.disk, tableRoot, version);
  const file = entry && (await context.manifests.read(context.disk, entry.path, entry.manifestStat));
  if (version === undefined && file === null) {
    throw new TableNotFoundError(`table ${formatIdentifier(table.id)} was dropped while it was opened`);
  }
  if (entry === null || file === null) {
    throw new TableVersionNotFoundError(`table ${formatIdentifier(table.id)} has no version ${version}`);
  }
  return { table, snapshot: { tableRoot, entry, file } };
}

/** @throws InvalidTableStateError while the table is only declared */
export async function requireSnapshot(
  context: OperationContext,
  request: Selection,
  access: Access,
): Promise<Snapshot> {
  const snapshot = await openSnapshot(context, request, access);
  if (snapshot !== null) return snapshot;
  throw new InvalidTableStateError(
    `table ${formatIdentifier(requireTableId(request.id))} is only declared: it has no data yet`,
  );
}

/**
 * The source that the rows of a version are read from.
 * @throws UnsupportedError for a table in a data format version that is not read
 */
export const fragmentSource = (context: OperationContext, { tableRoot, file }: Snapshot): FragmentSource =>
  versionSource(context, tableRoot, file);

/**
 * Whether the opened version is still in place, so that only damage explains missing files. The table may have been
 * dropped, and made again, since.
 */
export async function isInPlace(context: OperationContext, snapshot: Snapshot): Promise<boolean> {
  const current = await context.manifests.read(context.disk, snapshot.entry.path);
  return current?.isCopyOf(snapshot.file) === true;
}
