/**
 * Tells what the commit of a version changed: its operation, message, and numbers of rows. The numbers come
 * from the transaction and from the manifests of the version and its predecessor. No data is read. A number
 * that these do not tell is absent.
 */

import { CorruptFileError } from "../../errors.js";
import type { DataFragment, Transaction } from "../../format/table.js";
import type { VersionChanges } from "../../namespace/versions.js";
import {
  COMMIT_MESSAGE_PROPERTY,
  type Operation,
  operationName,
  operationOf,
  ROWS_CHANGED_PROPERTY,
  readTransaction,
} from "../../table/commit/transaction.js";
import { decodeLeadingRowIds, rowsOfRuns } from "../../table/fragments/rowSequences.js";
import { liveRowCount, physicalRowCount } from "../../table/fragments/tableStatistics.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import type { VersionsAt } from "../../table/versions/versions.js";

/** Maximum bytes of a transaction file that a listing reads. Most versions carry their transaction inline. */
const MAX_LISTED_BYTES = 2 ** 24;

/** Numbers of rows that a change added, removed and changed. */
type RowCounts = Pick<VersionChanges, "rowsAdded" | "rowsRemoved" | "rowsChanged">;

/** Operations whose numbers of rows follow from the difference to the version before. */
const COMPARED: ReadonlySet<Operation["kind"]> = new Set(["overwrite", "delete", "update", "merge"]);

const UNKNOWN: RowCounts = {};
const NONE: RowCounts = { rowsAdded: 0, rowsRemoved: 0, rowsChanged: 0 };
/** Changes of columns keep all rows. How many values differ is unknown. */
const SAME_ROWS: RowCounts = { rowsAdded: 0, rowsRemoved: 0 };

/** Reads the manifest of the version before; null if that version is gone, or if there was none. */
export type ReadBefore = () => Promise<ManifestFile | null> | ManifestFile | null;

/**
 * Returns what the commit of a version changed.
 * @param before called if the change needs a comparison
 */
export async function changesOf(
  table: VersionsAt,
  file: ManifestFile,
  before: ReadBefore,
): Promise<VersionChanges> {
  const transaction = await unlessDamaged(() => readTransaction(table, file, MAX_LISTED_BYTES));
  if (transaction === null) return { operation: "Unknown" };
  const operation = operationOf(transaction);
  const message = transaction.transactionProperties.get(COMMIT_MESSAGE_PROPERTY);
  const counts = await unlessDamaged(async () =>
    rowCounts(operation, transaction, file, COMPARED.has(operation.kind) ? await before() : null),
  );
  return {
    operation: operationName(operation),
    ...(message !== undefined && { message }),
    ...(counts ?? UNKNOWN),
  };
}

/**
 * Returns what a function reads; null if a file is damaged. A damaged transaction, or a damaged manifest of
 * the version before, must not hide a version that can be read.
 */
async function unlessDamaged<Value>(read: () => Promise<Value>): Promise<Value | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CorruptFileError) return null;
    throw error;
  }
}

function rowCounts(
  operation: Operation,
  transaction: Transaction,
  file: ManifestFile,
  before: ManifestFile | null,
): RowCounts {
  switch (operation.kind) {
    case "append":
      return { ...NONE, rowsAdded: physicalRowCount(operation.value.fragments) };
    case "overwrite":
      return overwritten(file, before);
    case "delete": {
      const growth = growthOf(file, before);
      return growth === null || growth > 0 ? UNKNOWN : { ...NONE, rowsRemoved: 0 - growth };
    }
    case "update":
      return updated(operation.value, transaction, growthOf(file, before), file.path);
    case "rewrite":
    case "reserveFragments":
    case "createIndex":
    case "project":
    case "updateConfig":
    case "clone":
    case "updateBases":
      return NONE;
    case "dataReplacement":
      return SAME_ROWS;
    case "merge":
      return growthOf(file, before) === 0 ? SAME_ROWS : UNKNOWN;
    default:
      return UNKNOWN;
  }
}

/** A table's first version is an overwrite too. */
function overwritten(file: ManifestFile, before: ManifestFile | null): RowCounts {
  const rowsAdded = liveRows(file);
  if (before !== null) return { rowsAdded, rowsRemoved: liveRows(before), rowsChanged: 0 };
  return file.head.version === 1 ? { ...NONE, rowsAdded } : { rowsAdded, rowsChanged: 0 };
}

/** Updates and merges remove the old rows, and add those with new values. */
function updated(
  update: NonNullable<Transaction["update"]>,
  { transactionProperties }: Transaction,
  growth: number | null,
  path: string,
): RowCounts {
  if (growth === null) return UNKNOWN;
  const written = physicalRowCount(update.newFragments);
  const removed = written - growth;
  // Values that were written beside others are not counted by anybody.
  if (written === 0 && removed === 0) return update.updatedFragments.length === 0 ? NONE : SAME_ROWS;
  const changed =
    removed === 0 || written === 0
      ? 0
      : (recordedCount(transactionProperties) ?? movedRows(update.newFragments, path));
  if (changed === null || removed < changed || written < changed) return UNKNOWN;
  return { rowsAdded: written - changed, rowsRemoved: removed - changed, rowsChanged: changed };
}

function recordedCount(properties: ReadonlyMap<string, string>): number | null {
  const text = properties.get(ROWS_CHANGED_PROPERTY);
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** Rows with stable ids bring them when they move. Null if no fragment has ids. */
function movedRows(fragments: readonly DataFragment[], path: string): number | null {
  let count: number | null = null;
  for (const { inlineRowIds, physicalRows } of fragments) {
    if (inlineRowIds === undefined) continue;
    count = (count ?? 0) + rowsOfRuns(decodeLeadingRowIds(inlineRowIds, physicalRows, path));
  }
  return count;
}

/** Returns the difference of the numbers of rows; null if the version before is unknown. */
const growthOf = (file: ManifestFile, before: ManifestFile | null): number | null =>
  before && liveRows(file) - liveRows(before);

const liveRows = ({ manifest }: ManifestFile): number =>
  manifest.fragments.reduce((sum, fragment) => sum + liveRowCount(fragment), 0);
