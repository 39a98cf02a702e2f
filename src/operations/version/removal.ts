/** Turns requests to delete versions into steps of a batch. All operations that delete versions use it. */

import type { DeleteVersionsStep } from "../../catalog/batches/journalFormat.js";
import { InvalidInputError } from "../../errors.js";
import type { BatchDeleteTableVersionsRequest } from "../../namespace/versions.js";
import { clearRetired } from "../../table/cleanup/cleanup.js";
import { planVersionRemoval, type VersionInterval } from "../../table/cleanup/versionRemoval.js";
import { requireAnchor, type TableAnchor } from "../../table/versions/identity.js";
import type { TableAt } from "../../table/versions/tableAt.js";
import type { OperationContext } from "../context.js";
import { requireVersion } from "../request.js";
import { boundedParts, requireObjects } from "../requestValues.js";
import { anchorOfOpen, openTable } from "../snapshot.js";

/** Milliseconds to wait for a lock after the versions are deleted; removing their files can wait. */
const LOCK_WAIT_MS = 1000;

/** Versions to delete, with their table or branch. */
export interface RemovalPart {
  readonly location: string;
  readonly table: TableAt;
  readonly ranges: readonly VersionInterval[];
  /** Anchor of the opened table or branch. */
  readonly anchor: TableAnchor;
}

/**
 * Opens the table of a part.
 * @throws InvalidInputError; TableNotFoundError; TableBranchNotFoundError
 */
export async function openRemovalPart(
  context: OperationContext,
  request: BatchDeleteTableVersionsRequest,
): Promise<RemovalPart> {
  const ranges = boundedParts(requireObjects(request.ranges, "ranges"), "ranges").map(checkedRange);
  const open = await openTable(context, request);
  const anchor = await anchorOfOpen(open);
  return { location: open.entry.location, table: open.table, ranges, anchor };
}

function checkedRange(range: Readonly<Record<string, unknown>>, index: number): VersionInterval {
  const start = requireVersion(range.startVersion, `ranges[${index}].startVersion`);
  if (range.endVersion === -1) return { start, end: null };
  const end = requireVersion(range.endVersion, `ranges[${index}].endVersion`);
  if (end >= start) return { start, end };
  throw new InvalidInputError(`ranges[${index}]: ends at ${end}, before it begins at ${start}`);
}

/**
 * Plans the step of each part; null if there is nothing to delete. The caller holds the locks of the tables.
 * @throws InvalidInputError if a version is needed; TableReplacedError
 */
export async function planRemovals(parts: readonly RemovalPart[]): Promise<(DeleteVersionsStep | null)[]> {
  const planned = new Set<string>();
  const steps: (DeleteVersionsStep | null)[] = [];
  for (const { location, table, ranges, anchor } of parts) {
    const { root, branch } = table;
    const plannedVersions = await planVersionRemoval(table, ranges);
    // Versions may be missing because another table replaced this one.
    await requireAnchor(table, anchor);
    // The first of two parts that name a version deletes it.
    const versions = plannedVersions.filter((version) => !planned.has(`${root}\0${version}`));
    for (const version of versions) planned.add(`${root}\0${version}`);
    steps.push(versions.length === 0 ? null : { kind: "deleteVersions", location, branch, versions });
  }
  return steps;
}

/** Returns the directories to lock for a part: that of its branch, and that of the table for its refs. */
export const removalRoots = ({ table }: RemovalPart): string[] => [table.mainRoot, table.root];

/** Removes the files that only the deleted versions referred to. */
export async function finishRemovals(
  parts: readonly RemovalPart[],
  steps: readonly (DeleteVersionsStep | null)[],
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const [index, { table }] of parts.entries()) {
    if (steps[index] === null) continue;
    const options = { waitMs: LOCK_WAIT_MS, signal };
    // The versions are deleted. The next cleanup removes remaining files.
    await clearRetired(table, options).catch(() => undefined);
  }
}
