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
const STEP_ENTRIES = 262_144;
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

  /** A token of the document under way. */
  add(token: string, position: number): void {
    let id = this.#tokens.get(token);
    if (id === undefined) {
      id = this.#tokens.size;
      this.#tokens.set(token, id);
      this.#tokenBytes += 2 * token.length + TOKEN_OVERHEAD;
    }
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
    const { order, starts } = await this.#sorted(tokens.length);
    const files = await writePartition(this.#target, id, this.#form, {
      ids: this.#ids.slice(0, 2 * this.#documents),
      lengths: this.#lengths.slice(0, this.#documents),
      tokens,
      postings: () => this.#postings(order, starts),
    });
    this.files.push(...files);
    this.partitionIds.push(id);
    this.#entries = 0;
    this.#documents = 0;
  }

  /** The entries by token, those of a token as they came. */
  async #sorted(tokenCount: number): Promise<{ order: Uint32Array; starts: Uint32Array }> {
    const starts = new Uint32Array(tokenCount + 1);
    const count = this.#entries;
    for (let entry = 0; entry < count; entry++) {
      starts[this.#entryTokens[entry] + 1]++;
      if (entry % STEP_ENTRIES === 0) await breathe();
    }
    for (let token = 0; token < tokenCount; token++) starts[token + 1] += starts[token];
    const next = starts.slice();
    const order = new Uint32Array(count);
    for (let entry = 0; entry < count; entry++) {
      order[next[this.#entryTokens[entry]]++] = entry;
      if (entry % STEP_ENTRIES === 0) await breathe();
    }
    return { order, starts };
  }

  async *#postings(order: Uint32Array, starts: Uint32Array): AsyncGenerator<TokenPostings> {
    const { withPosition } = this.#form;
    for (let token = 0; token + 1 < starts.length; token++) {
      const entries = order.subarray(starts[token], starts[token + 1]);
      const documents = new Uint32Array(entries.length);
      const frequencies = new Uint32Array(entries.length);
      const positions = withPosition ? new Uint32Array(entries.length) : null;
      let count = 0;
      for (let index = 0; index < entries.length; index++) {
        const document = this.#entryDocuments[entries[index]];
        if (count === 0 || documents[count - 1] !== document) documents[count++] = document;
        frequencies[count - 1]++;
        if (positions !== null) positions[index] = this.#entryPositions[entries[index]];
      }
      yield {
        documents: documents.subarray(0, count),
        frequencies: frequencies.subarray(0, count),
        positions,
      };
    }
  }
}
