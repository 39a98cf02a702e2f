/** From requests for parts of a batch to its steps: what both batch operations share. */

import type { CreateVersionStep } from "../../catalog/batchJournal.js";
import { InternalError, InvalidInputError } from "../../errors.js";
import type { CreateTableVersionRequest, TableVersion } from "../../namespace.js";
import { isMainBranch } from "../../table/refs.js";
import {
  planPublication,
  readStagedVersion,
  type StagedManifest,
  type StagedVersion,
} from "../../table/stagedVersion.js";
import { findVersion } from "../../table/versions.js";
import type { OperationContext } from "../context.js";
import { openTable } from "../snapshot.js";
import { stagedOf } from "./stagedOf.js";
import { versionOf } from "./versionOf.js";

/** A version to create, and the table or branch it is for. */
export interface VersionPart {
  readonly location: string;
  readonly branch: string | null;
  readonly tableRoot: string;
  readonly staged: StagedVersion;
}

/** @throws what `createTableVersion` throws before it looks at the staged file; messages name the member */
export async function openVersionPart(
  context: OperationContext,
  request: CreateTableVersionRequest,
): Promise<VersionPart> {
  const staged = stagedOf(request);
  const { table, tableRoot } = await openTable(context, request);
  const branch = isMainBranch(request.branch) ? null : request.branch;
  const location = table.location;
  return { location, branch, tableRoot, staged };
}

/** The steps of version parts; the caller holds the locks of their tables. */
export interface PlannedVersions {
  readonly steps: readonly CreateVersionStep[];
  readonly sources: readonly StagedManifest[];
}

/**
 * @throws ConcurrentModificationError, InvalidInputError where any of them can't be published
 */
export async function planVersions(
  context: OperationContext,
  parts: readonly VersionPart[],
): Promise<PlannedVersions> {
  const steps: CreateVersionStep[] = [];
  const sources: StagedManifest[] = [];
  // Numbers of one table have to be published in their order.
  const ascending = [...parts].sort((a, b) => a.staged.version - b.staged.version);
  const claimed = new Set<string>();
  for (const { location, branch, tableRoot, staged } of ascending) {
    const { version, eTag, metadata } = staged;
    const claim = `${tableRoot}\0${version}`;
    if (claimed.has(claim)) throw new InvalidInputError(`version ${version} of one table is named twice`);
    claimed.add(claim);
    const source = await readStagedVersion(context.disk, tableRoot, staged);
    const { scheme } = await planPublication(context.disk, tableRoot, staged);
    steps.push({
      kind: "createVersion",
      location,
      branch,
      version,
      scheme,
      manifest: `${sources.length}.manifest`,
      eTag,
      metadata,
    });
    sources.push(source);
  }
  return { steps, sources };
}

/** The versions as they were asked for; staged files, which nobody needs any more, are removed. */
export async function publishedVersions(
  context: OperationContext,
  parts: readonly VersionPart[],
  { sources }: PlannedVersions,
): Promise<TableVersion[]> {
  for (const source of sources) await context.disk.remove(source.path).catch(() => undefined);
  return Promise.all(
    parts.map(async ({ tableRoot, staged }) => {
      const entry = await findVersion(context.disk, tableRoot, staged.version);
      const record = entry && (await versionOf(context, tableRoot, entry));
      if (!record)
        throw new InternalError(`version ${staged.version} was removed right after it was created`);
      return record;
    }),
  );
}
