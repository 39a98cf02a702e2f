/** Turns parts of a batch request into steps. Both batch operations use it. */

import type { CreateVersionStep } from "../../catalog/batches/journalFormat.js";
import { InvalidInputError } from "../../errors.js";
import type { CreateTableVersionRequest, TableVersion } from "../../namespace/versions.js";
import { checkStagedContent } from "../../table/staging/stagedContent.js";
import { removeStaged } from "../../table/staging/stagedLocation.js";
import {
  planPublication,
  readStagedVersion,
  type StagedManifest,
  type StagedVersion,
} from "../../table/staging/stagedVersion.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { readManifestAt } from "../../table/versions/openVersion.js";
import { manifestPath } from "../../table/versions/paths.js";
import type { TableAt } from "../../table/versions/tableAt.js";
import { timestampMillis } from "../../table/versions/versionAsOf.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import { openTable } from "../snapshot.js";
import { stagedOf } from "./stagedOf.js";

/** A version to create, with its table or branch. */
export interface VersionPart {
  readonly location: string;
  readonly table: TableAt;
  readonly staged: StagedVersion;
}

/**
 * Opens the table of a part. Error messages name the member.
 * @throws errors that `createTableVersion` throws before it reads the staged file
 */
export async function openVersionPart(
  context: OperationContext,
  request: CreateTableVersionRequest,
  access: Access,
): Promise<VersionPart> {
  const staged = stagedOf(request, access);
  const { entry, table } = await openTable(context, request);
  return { location: entry.location, table, staged };
}

/** Steps of the version parts. The caller holds the locks of their tables. */
export interface PlannedVersions {
  readonly steps: readonly CreateVersionStep[];
  /** Manifests in the order of the steps. */
  readonly sources: readonly StagedManifest[];
  /** Records of the new versions. */
  readonly records: ReadonlyMap<VersionPart, TableVersion>;
}

export const NO_VERSIONS: PlannedVersions = { steps: [], sources: [], records: new Map() };

/**
 * Plans the steps.
 * @throws ConcurrentModificationError or InvalidInputError if a part can't be published
 */
export async function planVersions(parts: readonly VersionPart[]): Promise<PlannedVersions> {
  const steps: CreateVersionStep[] = [];
  const sources: StagedManifest[] = [];
  const records = new Map<VersionPart, TableVersion>();
  // Versions of one table must be published in ascending order.
  const ascending = [...parts].sort((a, b) => a.staged.version - b.staged.version);
  const claimed = new Set<string>();
  /** Latest manifests of the tables after the steps that are planned so far. */
  const planned = new Map<string, ManifestFile>();
  for (const part of ascending) {
    const { location, table, staged } = part;
    const { root, branch } = table;
    const { version, eTag, metadata, allow } = staged;
    const claim = `${root}\0${version}`;
    if (claimed.has(claim)) throw new InvalidInputError(`version ${version} of one table is named twice`);
    claimed.add(claim);
    const source = await readStagedVersion(table, staged);
    const { latest: entry, scheme } = await planPublication(table, staged);
    const latest = planned.get(root) ?? (entry && (await readManifestAt(table.environment, entry)));
    await checkStagedContent(table, { latest, allow }, source.file);
    planned.set(root, source.file);
    const manifest = `${sources.length}.manifest`;
    steps.push({ kind: "createVersion", location, branch, version, scheme, manifest, eTag, metadata });
    sources.push(source);
    records.set(part, {
      version,
      manifestPath: manifestPath(root, version, scheme),
      manifestSize: source.bytes.length,
      timestampMillis: timestampMillis(source.file.manifest),
      eTag,
      metadata,
    });
  }
  return { steps, sources, records };
}

/** Returns the published versions and removes their staged files. Others may remove a version meanwhile. */
export async function publishedVersions(
  parts: readonly VersionPart[],
  { sources, records }: PlannedVersions,
): Promise<TableVersion[]> {
  // The sources have the order of the records.
  for (const [index, { table }] of Array.from(records.keys()).entries()) {
    await removeStaged(table, sources[index]);
  }
  return parts.map((part) => records.get(part) as TableVersion);
}
