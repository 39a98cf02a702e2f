/**
 * Best documents of a partition, found before their row ids are known. A first search then reads the ids of
 * a few documents instead of all.
 */

import type { DocumentSink } from "../../indexes/text/scoreDocuments.js";

/** Maximum number of wanted rows. */
const MAX_WANTED = 1024;
/** Maximum number of documents that tie with the last wanted one. */
const MAX_KEPT = 8192;
/** Documents with nearly the score of the last wanted one are kept: sinks round scores. */
const SLACK = 1 - 2 ** -18;

/** Rows that a search wants. */
interface WantedRows {
  readonly wanted: number;
  readonly threshold: number;
}

export class TopDocuments implements DocumentSink {
  readonly #sink: WantedRows;
  readonly #floor: number;
  #documents: { readonly document: number; readonly score: number }[] = [];
  #lowest = Number.NEGATIVE_INFINITY;
  /** True if too many documents tie; some are then missing. */
  isIncomplete = false;

  /** @param floor score that at least the wanted number of documents reach */
  constructor(sink: WantedRows, floor: number) {
    this.#sink = sink;
    this.#floor = floor;
  }

  /** True if so few rows are wanted that they can be kept. */
  static suits({ wanted }: WantedRows): boolean {
    return wanted <= MAX_WANTED;
  }

  get threshold(): number {
    return Math.max(this.#floor, this.#sink.threshold, this.#lowest);
  }

  add(document: number, score: number): void {
    this.#documents.push({ document, score });
    if (this.#documents.length < 2 * this.#sink.wanted + 64) return;
    if (this.#documents.length % 64 === 0) this.#prune();
  }

  /** Returns the documents in ascending order. */
  finish(): readonly { readonly document: number; readonly score: number }[] {
    this.#prune();
    return this.#documents.sort((a, b) => a.document - b.document);
  }

  #prune(): void {
    const { wanted } = this.#sink;
    if (wanted === 0 || this.#documents.length <= wanted) return;
    const scores = Float64Array.from(this.#documents, ({ score }) => score).sort();
    this.#lowest = scores[scores.length - wanted] * SLACK;
    this.#documents = this.#documents.filter(({ score }) => score >= this.#lowest);
    if (this.#documents.length <= MAX_KEPT) return;
    this.isIncomplete = true;
    this.#lowest = Number.POSITIVE_INFINITY;
    this.#documents = [];
  }
}
