/**
 * Which fragments a compaction merges. Decided before a row is read; pure.
 *
 * Small fragments are merged with their neighbours, and ones with many deleted rows are written without these, alone
 * or with their neighbours. Fragments in between that need neither part what can be merged, as rows keep their order
 * within a group. So do indexes, as all fragments of a group are covered by the same ones, and columns that only some
 * have and whose nulls cannot be written.
 */

import { MAX_FILE_ROWS } from "../../file/writing/writer.js";
import type { DataFragment } from "../../format/table.js";

export interface CompactionSettings {
  /** Rows that make a fragment large enough; at most {@link MAX_FILE_ROWS}. */
  readonly targetRows: number;
  /** Share of deleted rows, 0 to 1, beyond which a fragment is rewritten whatever its size. */
  readonly maxDeletedShare: number;
}

/** What a plan needs to know of a fragment. */
export interface FragmentFacts {
  readonly fragment: DataFragment;
  readonly liveRows: number;
  /** The indexes that cover it; the same text means the same indexes. */
  readonly coverage: string;
  /** The columns it has no values of and that cannot be written as nulls (absentColumns.ts), in the same way. */
  readonly absent: string;
}

/** Neighbours to merge, in their order in the table. */
export interface CompactionGroup {
  readonly fragments: readonly DataFragment[];
  readonly coverage: string;
  /** Of the fragments that come out; empty where all rows are deleted. */
  readonly rowCounts: readonly number[];
}

/** A run of neighbours that may be merged. */
interface Candidates {
  readonly facts: FragmentFacts[];
  /** One of them at least has too many deleted rows. */
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
    // Without a count of rows, which old writers left out, there is no telling what is in it.
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

/** Parts that each make a large enough fragment, as far as there are rows: what is smaller goes with the last. */
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
 * Rows spread evenly over as many fragments as they fill. Where files cannot be that long, all but the last are just
 * large enough: fragments that are all a little too small would be merged again by the next compaction.
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
