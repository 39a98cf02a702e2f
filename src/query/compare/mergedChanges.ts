/**
 * Compares two lines of a table that began at a common version, and decides for each row that a branch
 * changed what happens to it on the current line:
 *
 *     changes of the branch         since the common version
 *     changes of the current line   since the common version
 *     rows of the current version   key and address only
 *     rows of the common version    key only, if an added row may have the key of another row of the branch
 *
 * All are sorted by the key and read side by side. A row that both lines changed in different ways is a
 * conflict.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { addressAt, addressWords } from "../columns/rowAddresses.js";
import { compareRows } from "../order/sortKeys.js";
import { type ComparedColumn, RowComparison } from "./comparedColumns.js";
import { CHANGE, type RowChanges } from "./rowChanges.js";
import { Cursor, type KeyedRows } from "./sortedRows.js";

/** Sources of a merge, each in the order of the key. */
export interface MergeSources {
  readonly ofBranch: AsyncGenerator<RowChanges>;
  readonly ofCurrent: AsyncGenerator<RowChanges>;
  readonly current: AsyncGenerator<KeyedRows>;
  /** Rows of the common version on the branch. */
  readonly common: AsyncGenerator<KeyedRows>;
  readonly columns: readonly ComparedColumn[];
  /** True if a row that the branch added can be a row of the current line: not by row ids. */
  readonly matchesAdded: boolean;
  /** Returns the error for a row that the branch added although it has another row of that key. */
  duplicateError(): Error;
  readonly signal?: AbortSignal | undefined;
}

/** Winner of a conflict. Null lists conflicts and changes nothing. */
export type Winner = "current" | "branch" | null;

/** Row that both lines changed in different ways. */
export interface RowConflict {
  readonly changes: RowChanges;
  readonly row: number;
  readonly branchKind: number;
  readonly currentKind: number;
}

/** Decisions about some rows that the branch changed. */
export interface MergeDecisions {
  readonly changes: RowChanges;
  /** Rows of `changes` that replace rows of the current version. */
  readonly replacing: number[];
  /** Rows of `changes` that are new in the current version. */
  readonly added: number[];
  /** Addresses of the replaced rows, in their order. */
  readonly replaced: number[];
  /** Row ids of the replaced rows. */
  readonly replacedIds: number[];
  /** Addresses of the removed rows. */
  readonly removed: number[];
  readonly conflicts: RowConflict[];
}

/** Batches of changes of both lines, and the comparison of their rows. */
interface ComparedPair {
  readonly changes: RowChanges;
  readonly others: RowChanges;
  readonly compared: RowComparison;
}

/** Number of rows after which other work on the thread has its turn. */
const STEP_ROWS = 4096;

/**
 * Yields the decisions about all rows that the branch changed.
 * @throws the error of {@link MergeSources.duplicateError}: taking that row would remove the other one
 */
export async function* mergedChanges(sources: MergeSources, winner: Winner): AsyncGenerator<MergeDecisions> {
  const theirs = new Cursor(sources.ofCurrent);
  const rows = new Cursor(sources.current);
  const common = new Cursor(sources.common);
  const seeker = new Seeker(sources.signal);
  let isCommonOpen = false;
  let pair = null as ComparedPair | null;
  try {
    await theirs.next();
    await rows.next();
    for await (const changes of sources.ofBranch) {
      const decisions = newDecisions(changes);
      for (let row = 0; row < changes.rowCount; row++) {
        const isAdded = changes.kinds[row] === CHANGE.added;
        if (isAdded && !sources.matchesAdded) {
          decisions.added.push(row);
          continue;
        }
        const hasOther = await seeker.seek(theirs, changes, row);
        const isPresent = await seeker.seek(rows, changes, row);
        if (isAdded && (hasOther || isPresent)) {
          // The comparison of the branch skips unchanged fragments, in which a row of that key may lie.
          if (!isCommonOpen) await common.next();
          isCommonOpen = true;
          if (await seeker.seek(common, changes, row)) throw sources.duplicateError();
        }
        const others = hasOther ? theirs.batch : null;
        if (others !== null) {
          if (pair?.changes !== changes || pair.others !== others) {
            const compared = new RowComparison(sources.columns, changes.rows, others.rows);
            pair = { changes, others, compared };
          }
          if (isSameOutcome(pair.compared, changes, row, others, theirs.row)) continue;
          const [branchKind, currentKind] = [changes.kinds[row], others.kinds[theirs.row]];
          if (winner === null) decisions.conflicts.push({ changes, row, branchKind, currentKind });
          if (winner !== "branch") continue;
        }
        decide(decisions, row, isPresent ? rows : null);
      }
      yield decisions;
    }
  } finally {
    await sources.ofBranch.return(undefined);
    await theirs.close();
    await rows.close();
    await common.close();
  }
}

const newDecisions = (changes: RowChanges): MergeDecisions => ({
  changes,
  ...{ replacing: [], added: [], replaced: [], replacedIds: [], removed: [], conflicts: [] },
});

/** Applies the branch's change of a row. @param rows at the row of the current version; null if it is gone */
function decide(decisions: MergeDecisions, row: number, rows: Cursor<KeyedRows> | null): void {
  const batch = rows?.batch ?? null;
  const address = batch === null || rows === null ? null : addressAt(addressWords(batch.addresses), rows.row);
  if (decisions.changes.kinds[row] === CHANGE.removed) {
    if (address !== null) decisions.removed.push(address);
  } else if (address === null || batch === null || rows === null) decisions.added.push(row);
  else {
    decisions.replacing.push(row);
    decisions.replaced.push(address);
    decisions.replacedIds.push(addressAt(addressWords(batch.rowIds), rows.row));
  }
}

/** True if both lines removed a row, or gave it the same values. */
function isSameOutcome(
  compared: RowComparison,
  changes: RowChanges,
  row: number,
  others: RowChanges,
  otherRow: number,
): boolean {
  const isRemoved = changes.kinds[row] === CHANGE.removed;
  if (isRemoved !== (others.kinds[otherRow] === CHANGE.removed)) return false;
  return isRemoved || compared.isEqual(row, otherRow);
}

/** Moves cursors forward to keys, and pauses now and then. */
class Seeker {
  readonly #signal: AbortSignal | undefined;
  #steps = 0;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** Moves a cursor to the key of a row. Returns false if there is no such key. */
  async seek(
    cursor: Cursor<RowChanges> | Cursor<KeyedRows>,
    changes: RowChanges,
    row: number,
  ): Promise<boolean> {
    while (cursor.batch !== null) {
      if (cursor.isOver) await cursor.next();
      if (cursor.batch === null) return false;
      const order = compareRows(cursor.batch.keys, cursor.row, changes.keys, row);
      if (order >= 0) return order === 0;
      cursor.row++;
      if (++this.#steps % STEP_ROWS !== 0) continue;
      this.#signal?.throwIfAborted();
      await yieldToEventLoop();
    }
    return false;
  }
}
