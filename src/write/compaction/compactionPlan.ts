/**
 * Plans which fragments a compaction merges, before it reads any row. Pure.
 *
 * Small fragments are merged with their neighbours. Fragments with many deleted rows are rewritten without
 * these rows, alone or with their neighbours. All other fragments separate groups, because rows keep their
 * order within a group.
 *
 * Indexes separate groups too: all fragments of a group have the same indexes. So do columns that only some
 * fragments have and whose nulls can't be written.
 */

import { MAX_FILE_ROWS } from "../../file/writing/writer.js";
import type { DataFragment } from "../../format/table.js";

export interface CompactionSettings {
  /** Number of rows that makes a fragment large enough; at most {@link MAX_FILE_ROWS}. */
  readonly targetRows: number;
  /** Share of deleted rows, 0 to 1, above which a fragment of any size is rewritten. */
  readonly maxDeletedShare: number;
}

/** Facts about a fragment that a plan needs. */
export interface FragmentFacts {
  readonly fragment: DataFragment;
  readonly liveRows: number;
  /** Indexes that cover the fragment; equal texts mean equal indexes. */
  readonly coverage: string;
  /** Columns that the fragment lacks and whose nulls can't be written; equal texts mean equal columns. */
  readonly absent: string;
}

/** Neighbours to merge, in table order. */
export interface CompactionGroup {
  readonly fragments: readonly DataFragment[];
  readonly coverage: string;
  /** Row counts of the new fragments; empty if all rows are deleted. */
  readonly rowCounts: readonly number[];
}

/** A run of neighbours that may be merged. */
interface Candidates {
  readonly facts: FragmentFacts[];
  /** True if at least one fragment has too many deleted rows. */
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
    // Old writers omitted row counts; such a fragment may hold any number of rows.
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

/** Splits fragments into parts that each make a large fragment. A smaller rest joins the last part. */
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

/** Spreads rows evenly, or cuts large enough pieces if even ones exceed a file. */
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
