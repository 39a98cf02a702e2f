/**
 * Collects the tokens of documents in memory, as one entry for each, and writes a partition of them when there are
 * many. An index has as many partitions as its texts take.
 */

import { breathe } from "../../async/eventLoop.js";
import type { IndexTarget, WrittenIndexFile } from "../kind.js";
import { type WrittenForm, writePartition } from "./partitionWriter.js";
import type { TokenPostings } from "./textPartition.js";

/** Tokens of a partition, after which it is written. */
const MAX_ENTRIES = 8 * 1024 * 1024;
/** Bytes of different tokens, after which it is written. */
const MAX_TOKEN_BYTES = 64 * 1024 * 1024;
/** Bytes of memory of a token beside its text, about. */
const TOKEN_OVERHEAD = 100;
const FIRST_ENTRIES = 16_384;
/** Entries between two looks at the clock. */
const STEP_ENTRIES = 131_072;
/** Tokens between two such looks. */
const STEP_TOKENS = 4096;

export interface BuilderBounds {
  readonly maxEntries: number;
}

export class PartitionBuilder {
  readonly #target: IndexTarget;
  readonly #form: WrittenForm;
  readonly #maxEntries: number;
  #nextId: number;
  readonly files: WrittenIndexFile[] = [];
  readonly partitionIds: string[] = [];
  #tokens = new Map<string, number>();
  #tokenBytes = 0;
  #entryTokens = new Uint32Array(FIRST_ENTRIES);
  #entryDocuments = new Uint32Array(FIRST_ENTRIES);
  #entryPositions = new Uint32Array(FIRST_ENTRIES);
  #entries = 0;
  #ids = new Uint32Array(2 * 1024);
  #lengths = new Uint32Array(1024);
  #documents = 0;
  #length = 0;

  constructor(target: IndexTarget, form: WrittenForm, firstId: number, bounds?: BuilderBounds) {
    this.#target = target;
    this.#form = form;
    this.#nextId = firstId;
    this.#maxEntries = bounds?.maxEntries ?? MAX_ENTRIES;
  }

  /** The number of a token, until the next {@link flush}. */
  numberOf(token: string): number {
    let id = this.#tokens.get(token);
    if (id === undefined) {
      id = this.#tokens.size;
      this.#tokens.set(token, id);
      this.#tokenBytes += 2 * token.length + TOKEN_OVERHEAD;
    }
    return id;
  }

  /** A token of the document under way. */
  add(token: string, position: number): void {
    this.addNumber(this.numberOf(token), position);
  }

  /** The same, by the number of the token. */
  addNumber(id: number, position: number): void {
    const entry = this.#entries;
    if (entry === this.#entryTokens.length) this.#grow();
    this.#entryTokens[entry] = id;
    this.#entryDocuments[entry] = this.#documents;
    if (this.#form.withPosition) this.#entryPositions[entry] = position;
    this.#entries++;
    this.#length++;
  }

  #grow(): void {
    const grown = (old: Uint32Array) => {
      const next = new Uint32Array(2 * old.length);
      next.set(old);
      return next;
    };
    this.#entryTokens = grown(this.#entryTokens);
    this.#entryDocuments = grown(this.#entryDocuments);
    if (this.#form.withPosition) this.#entryPositions = grown(this.#entryPositions);
  }

  /** Ends the document; one without tokens is left out. */
  endDocument(low: number, high: number): void {
    if (this.#length === 0) return;
    if (this.#documents === this.#lengths.length) {
      const lengths = new Uint32Array(2 * this.#documents);
      lengths.set(this.#lengths);
      this.#lengths = lengths;
      const ids = new Uint32Array(4 * this.#documents);
      ids.set(this.#ids);
      this.#ids = ids;
    }
    this.#ids[2 * this.#documents] = low;
    this.#ids[2 * this.#documents + 1] = high;
    this.#lengths[this.#documents++] = this.#length;
    this.#length = 0;
  }

  get isFull(): boolean {
    return this.#entries >= this.#maxEntries || this.#tokenBytes >= MAX_TOKEN_BYTES;
  }

  /** Writes what was collected, if there is something. */
  async flush(): Promise<void> {
    if (this.#documents === 0) return;
    const id = String(this.#nextId++);
    const encoder = new TextEncoder();
    const tokens: Uint8Array[] = [];
    for (const token of this.#tokens.keys()) {
      tokens.push(encoder.encode(token));
      if (tokens.length % STEP_TOKENS === 0) await breathe();
    }
    this.#tokens = new Map();
    this.#tokenBytes = 0;
    const sorted = await this.#sorted(tokens.length);
    const files = await writePartition(this.#target, id, this.#form, {
      ids: this.#ids.slice(0, 2 * this.#documents),
      lengths: this.#lengths.slice(0, this.#documents),
      tokens,
      postings: () => postingsOf(sorted),
    });
    this.files.push(...files);
    this.partitionIds.push(id);
    this.#entries = 0;
    this.#documents = 0;
  }

  /** The entries by token, those of a token as they came. */
  async #sorted(tokenCount: number): Promise<SortedEntries> {
    const starts = new Uint32Array(tokenCount + 1);
    const count = this.#entries;
    const tokens = this.#entryTokens;
    for (let from = 0; from < count; from += STEP_ENTRIES) {
      const to = Math.min(count, from + STEP_ENTRIES);
      for (let entry = from; entry < to; entry++) starts[tokens[entry] + 1]++;
      await breathe();
    }
    for (let token = 0; token < tokenCount; token++) starts[token + 1] += starts[token];
    const next = starts.slice();
    const documents = new Uint32Array(count);
    const positions = this.#form.withPosition ? new Uint32Array(count) : null;
    for (let from = 0; from < count; from += STEP_ENTRIES) {
      const to = Math.min(count, from + STEP_ENTRIES);
      for (let entry = from; entry < to; entry++) {
        const place = next[tokens[entry]]++;
        documents[place] = this.#entryDocuments[entry];
        if (positions !== null) positions[place] = this.#entryPositions[entry];
      }
      await breathe();
    }
    return { documents, positions, starts };
  }
}

/** Entries by token: those of a token from its start to before the next one's. */
interface SortedEntries {
  readonly documents: Uint32Array;
  readonly positions: Uint32Array | null;
  readonly starts: Uint32Array;
}

async function* postingsOf({ documents, positions, starts }: SortedEntries): AsyncGenerator<TokenPostings> {
  for (let token = 0; token + 1 < starts.length; token++) {
    const start = starts[token];
    const end = starts[token + 1];
    // Documents that have the token several times are one: they move up.
    const frequencies = new Uint32Array(end - start);
    let count = 0;
    for (let index = start; index < end; index++) {
      const document = documents[index];
      if (count === 0 || documents[start + count - 1] !== document) documents[start + count++] = document;
      frequencies[count - 1]++;
    }
    yield {
      documents: documents.subarray(start, start + count),
      frequencies: frequencies.subarray(0, count),
      positions: positions?.subarray(start, end) ?? null,
    };
  }
}
