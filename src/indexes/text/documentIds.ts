/**
 * The ids of the documents of a partition. Documents that follow each other mostly have ids that do: these runs are few, and
 * lie close together in memory, where the ids of the documents that a search finds are far apart.
 */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { lowerBound } from "../../bytes/search.js";

/** Documents to a run, at least: where runs are shorter, the ids themselves are looked at. */
const LEAST_LENGTH = 64;
/** Documents between two looks at the clock. */
const STEP_DOCUMENTS = 65_536;

/** The documents of a partition. */
export interface DocumentTable {
  /** Row ids, as pairs of words: low, high. */
  readonly ids: Uint32Array;
  /** Tokens of each document. */
  readonly lengths: Uint32Array;
  readonly count: number;
}

/** Documents with consecutive ids. */
export interface IdRuns {
  /** The first document of each run, and behind those of the last run the number of all. */
  readonly starts: Uint32Array;
  /** The id of the first document of each run, as pairs of words: low, high. */
  readonly firsts: Uint32Array;
}

/**
 * The runs of a partition; null where they are too many.
 * @param ids of the documents, as pairs of words: low, high
 */
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

/** Finds the ids of documents, quickest of one that is near the one before. */
export class DocumentIds {
  readonly #ids: Uint32Array;
  readonly #runs: IdRuns | null;
  #run = 0;
  /** The words of the id that was found last. */
  low = 0;
  high = 0;

  constructor(ids: Uint32Array, runs: IdRuns | null) {
    this.#ids = ids;
    this.#runs = runs;
  }

  find(document: number): void {
    if (this.#runs === null) {
      this.low = this.#ids[2 * document];
      this.high = this.#ids[2 * document + 1];
      return;
    }
    const { starts, firsts } = this.#runs;
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
