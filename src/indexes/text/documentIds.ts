/**
 * Row ids of a partition's documents. Consecutive documents mostly have consecutive ids. The few runs fit the
 * CPU cache, unlike the ids of scattered results.
 */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { lowerBound } from "../../bytes/search.js";

/** Minimum average length of a run; shorter runs are not used. */
const LEAST_LENGTH = 64;
/** Documents between yields. */
const STEP_DOCUMENTS = 65_536;

/** Documents of a partition. */
export interface DocumentTable {
  /** Row ids, as pairs of words: low, high. */
  readonly ids: Uint32Array;
  /** Number of tokens of each document. */
  readonly lengths: Uint32Array;
  readonly count: number;
}

/** Runs of documents with consecutive ids. */
export interface IdRuns {
  /** First document of each run, then the number of documents. */
  readonly starts: Uint32Array;
  /** Id of each run's first document, as pairs of words: low, high. */
  readonly firsts: Uint32Array;
}

/** Finds the runs; null if there are too many. @param ids pairs of words: low, high */
export function* findIdRuns(ids: Uint32Array): Steps<IdRuns | null> {
  const count = ids.length / 2;
  const most = Math.floor(count / LEAST_LENGTH) + 1;
  const starts: number[] = [];
  const pace = new Pace(STEP_DOCUMENTS);
  for (let document = 0; document < count; document++) {
    if (pace.isStep()) yield;
    const index = 2 * document;
    if (document > 0 && ids[index] === ids[index - 2] + 1 && ids[index + 1] === ids[index - 1]) continue;
    if (starts.length === most) return null;
    starts.push(document);
  }
  starts.push(count);
  const firsts = new Uint32Array(2 * (starts.length - 1));
  for (let slot = 0; slot < firsts.length; slot++) firsts[slot] = ids[2 * starts[slot >>> 1] + (slot & 1)];
  return { starts: Uint32Array.from(starts), firsts };
}

/** Maximum number of runs that a file states. */
const MAX_STATED_RUNS = 256;

/** Formats runs for the metadata of a file: `first document:id`, with commas. Null if there are too many. */
export function formatIdRuns({ starts, firsts }: IdRuns): string | null {
  const count = starts.length - 1;
  if (count > MAX_STATED_RUNS) return null;
  const idOf = (run: number): bigint => (BigInt(firsts[2 * run + 1]) << 32n) | BigInt(firsts[2 * run]);
  return Array.from({ length: count }, (_, run) => `${starts[run]}:${idOf(run)}`).join(",");
}

/** Parses runs that a file states; null if they are not runs of that many documents. */
export function parseIdRuns(text: string, documentCount: number): IdRuns | null {
  const runs = text === "" ? [] : text.split(",");
  if (runs.length > MAX_STATED_RUNS || (runs.length === 0) !== (documentCount === 0)) return null;
  const starts = new Uint32Array(runs.length + 1);
  const firsts = new Uint32Array(2 * runs.length);
  starts[runs.length] = documentCount;
  for (const [run, stated] of runs.entries()) {
    const [, start, id] = /^(\d{1,10}):(\d{1,20})$/.exec(stated) ?? [];
    if (start === undefined) return null;
    const first = BigInt(id);
    const isNext = run === 0 ? Number(start) === 0 : Number(start) > starts[run - 1];
    if (!isNext || Number(start) >= documentCount || first >= 2n ** 64n) return null;
    starts[run] = Number(start);
    firsts[2 * run] = Number(first & 0xffff_ffffn);
    firsts[2 * run + 1] = Number(first >> 32n);
  }
  // The upper half of an id is the same in all of a run.
  for (let run = 0; run < runs.length; run++) {
    if (firsts[2 * run] + starts[run + 1] - starts[run] > 2 ** 32) return null;
  }
  return { starts, firsts };
}

/** Looks up row ids, fastest near the previous document. */
export class DocumentIds {
  #run = 0;
  /** Words of the last id. */
  low = 0;
  high = 0;

  constructor(
    private readonly ids: Uint32Array,
    private readonly runs: IdRuns | null,
  ) {}

  find(document: number): void {
    if (this.runs === null) {
      this.low = this.ids[2 * document];
      this.high = this.ids[2 * document + 1];
      return;
    }
    const { starts, firsts } = this.runs;
    let run = this.#run;
    if (document < starts[run] || document >= starts[run + 1]) {
      const isInNext = run + 2 < starts.length && document >= starts[run + 1] && document < starts[run + 2];
      run = isInNext ? run + 1 : lowerBound(starts, document + 1) - 1;
      this.#run = run;
    }
    this.low = firsts[2 * run] + document - starts[run];
    this.high = firsts[2 * run + 1];
  }
}
