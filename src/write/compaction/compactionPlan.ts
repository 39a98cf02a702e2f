/**
 * Plans which fragments a compaction merges, before a row is read. Pure.
 *
 * Small fragments are merged with their neighbours. Fragments with many deleted rows are rewritten without
 * these, alone or with their neighbours. Fragments that need neither separate groups, because rows keep their
 * order within a group. Indexes separate groups too, because the same indexes cover all fragments of a group;
 * so do columns that only some fragments have and whose nulls cannot be written.
 */

import { MAX_FILE_ROWS } from "../../file/writing/writer.js";
import type { DataFragment } from "../../format/table.js";

export interface CompactionSettings {
  /** Number of rows that make a fragment large enough; at most {@link MAX_FILE_ROWS}. */
  readonly targetRows: number;
  /** Share of deleted rows, 0 to 1, beyond which a fragment of any size is rewritten. */
  readonly maxDeletedShare: number;
}

/** The facts about a fragment that a plan needs. */
export interface FragmentFacts {
  readonly fragment: DataFragment;
  readonly liveRows: number;
  /** The indexes that cover the fragment; equal texts mean the same indexes. */
  readonly coverage: string;
  /**
   * The columns of which it has no values and whose nulls cannot be written (absentColumns.ts); equal texts
   * mean the same columns.
   */
  readonly absent: string;
}

/** Neighbours to merge, in their order in the table. */
export interface CompactionGroup {
  readonly fragments: readonly DataFragment[];
  readonly coverage: string;
  /** Row counts of the new fragments; empty if all rows are deleted. */
  readonly rowCounts: readonly number[];
}

/** A run of neighbours that may be merged. */
interface Candidates {
  readonly facts: FragmentFacts[];
  /** True if at least one of them has too many deleted rows. */
  hasDeletions: boolean;
}

export function planCompaction(
  fragments: readonly FragmentFacts[],
  settings: CompactionSettings,
): CompactionGroup[] {
  const runs: Candidates[] = [];
  let run: Candidates | null = null;
  for (const facts of fragments) {
    const { physicalRows } = facts.fragment;
    const hasDeletions = (physicalRows - facts.liveRows) / physicalRows > settings.maxDeletedShare;
    // A fragment without a row count, which old writers left out, may hold any number of rows.
    if (physicalRows < 1 || (!hasDeletions && physicalRows >= settings.targetRows)) {
      run = null;
      continue;
    }
    if (run === null || run.facts[0].coverage !== facts.coverage || run.facts[0].absent !== facts.absent) {
      run = { facts: [], hasDeletions: false };
      runs.push(run);
    }
    run.facts.push(facts);
    run.hasDeletions ||= hasDeletions;
  }
  return runs
    .filter((candidates) => candidates.facts.length > 1 || candidates.hasDeletions)
    .flatMap((candidates) => splitBySize(candidates.facts, settings.targetRows))
    .map((facts) => ({
      fragments: facts.map(({ fragment }) => fragment),
      coverage: facts[0].coverage,
      rowCounts: newRowCounts(sumOf(facts), settings.targetRows),
    }));
}

const sumOf = (facts: readonly FragmentFacts[]): number =>
  facts.reduce((sum, { liveRows }) => sum + liveRows, 0);

/**
 * Splits fragments into parts that each make a large enough fragment, if there are enough rows: a smaller
 * rest goes with the last part.
 */
function splitBySize(facts: readonly FragmentFacts[], targetRows: number): FragmentFacts[][] {
  const parts: FragmentFacts[][] = [];
  let part: FragmentFacts[] = [];
  let rows = 0;
  let left = sumOf(facts);
  for (const each of facts) {
    part.push(each);
    rows += each.liveRows;
    left -= each.liveRows;
    if (rows < targetRows || left < targetRows) continue;
    parts.push(part);
    part = [];
    rows = 0;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}

/**
 * Spreads rows evenly over as many fragments as they fill. Where files cannot be that long, all but the last
 * are just large enough: fragments that are all a little too small would be merged again by the next
 * compaction.
 */
function newRowCounts(rowCount: number, targetRows: number): number[] {
  if (rowCount === 0) return [];
  const count = Math.max(1, Math.floor(rowCount / targetRows));
  const isEven = Math.ceil(rowCount / count) <= MAX_FILE_ROWS;
  const counts: number[] = [];
  for (let left = rowCount; left > 0; left -= counts[counts.length - 1]) {
    counts.push(isEven ? Math.ceil(left / (count - counts.length)) : Math.min(targetRows, left));
  }
  return counts;
}
