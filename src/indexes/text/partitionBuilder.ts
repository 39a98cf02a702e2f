/** Collects tokens of documents in memory, and writes a partition when memory is full. */

import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import type { WorkerPool } from "../../async/workerPool.js";
import { enlarged } from "../../bytes/growing.js";
import type { IndexTarget, WrittenIndexFile } from "../kind.js";
import { writePartition } from "./partitionWriter.js";
import {
  ENCODE_POSTINGS,
  type EncodedLists,
  type EntryPiece,
  encodeEntries,
  type SortedEntries,
  type WrittenForm,
} from "./postingEncoder.js";

/** Maximum entries of a partition, of 16 bytes each, or 8 without positions. */
const MAX_ENTRIES = 14 * 2 ** 20;
/** Maximum bytes of distinct tokens, which are then forgotten. */
const MAX_TOKEN_BYTES = 64 * 1024 * 1024;
/** Approximate overhead of a token in bytes. */
const TOKEN_OVERHEAD = 100;
/** Entries per chunk of memory. */
const CHUNK_ENTRIES = 2 ** 18;
/** Entries between yields: scattering one may fault a memory page. */
const STEP_ENTRIES = 8192;
/** Tokens between yields. */
const STEP_TOKENS = 4096;
/** Limits on entries and tokens encoded at once; a longer list is encoded alone. */
const PIECE_ENTRIES = 2 ** 18;
const PIECE_TOKENS = 8192;

export class PartitionBuilder {
  readonly files: WrittenIndexFile[] = [];
  readonly partitionIds: string[] = [];
  readonly #tokens = new Map<string, number>();
  #tokenBytes = 0;
  readonly #entryTokens: Uint32Array[] = [];
  readonly #entryPositions: Uint32Array[] = [];
  #entries = 0;
  #ids = new Uint32Array(2 * 1024);
  #lengths = new Uint32Array(1024);
  #documents = 0;
  #writtenDocuments = 0;
  /** First entry of the current document. */
  #documentStart = 0;

  constructor(
    private readonly target: IndexTarget,
    private readonly form: WrittenForm,
    private nextId: number,
    private readonly maxEntries = MAX_ENTRIES,
  ) {}

  /** Returns the number of a token, valid until {@link flush} returns true. */
  numberOf(token: string): number {
    let number = this.#tokens.get(token);
    if (number === undefined) {
      number = this.#tokens.size;
      this.#tokens.set(token, number);
      this.#tokenBytes += 2 * token.length + TOKEN_OVERHEAD;
    }
    return number;
  }

  /** Adds a token to the current document, by its number. */
  addNumber(number: number, position: number): void {
    const index = this.#entries % CHUNK_ENTRIES;
    const chunk = (this.#entries - index) / CHUNK_ENTRIES;
    // Chunks of the last partition are reused.
    if (chunk === this.#entryTokens.length) {
      this.#entryTokens.push(new Uint32Array(CHUNK_ENTRIES));
      if (this.form.withPosition) this.#entryPositions.push(new Uint32Array(CHUNK_ENTRIES));
    }
    this.#entryTokens[chunk][index] = number;
    if (this.form.withPosition) this.#entryPositions[chunk][index] = position;
    this.#entries++;
  }

  /** Ends the current document; documents without tokens are dropped. */
  endDocument(low: number, high: number): void {
    const length = this.#entries - this.#documentStart;
    if (length === 0) return;
    this.#documentStart = this.#entries;
    if (this.#documents === this.#lengths.length) {
      this.#lengths = enlarged(this.#lengths);
      this.#ids = enlarged(this.#ids);
    }
    this.#ids[2 * this.#documents] = low;
    this.#ids[2 * this.#documents + 1] = high;
    this.#lengths[this.#documents++] = length;
  }

  get isFull(): boolean {
    return this.#entries >= this.maxEntries || this.#tokenBytes >= MAX_TOKEN_BYTES;
  }

  /** Writes the documents collected, if any. @returns true if token numbers restart */
  async flush(): Promise<boolean> {
    if (this.#documents === 0) return false;
    const id = String(this.nextId++);
    const { workers } = this.target;
    const lengths = new Uint32Array(memoryFor(workers, 4 * this.#documents));
    lengths.set(this.#lengths.subarray(0, this.#documents));
    const counts = await this.#counts();
    const { tokens, starts } = await this.#firstEntries(counts);
    const entries = await this.#sorted(lengths, counts, starts);
    const written = (fraction: number): void =>
      this.target.progress?.(this.#writtenDocuments + fraction * this.#documents);
    const files = await writePartition(this.target, id, this.form, {
      ids: this.#ids.slice(0, 2 * this.#documents),
      lengths,
      tokens,
      lists: (corpus) => encodedLists(entries, { form: this.form, corpus, lengths }, workers, written),
    });
    this.#writtenDocuments += this.#documents;
    this.files.push(...files);
    this.partitionIds.push(id);
    this.#entries = this.#documentStart = this.#documents = 0;
    if (this.#tokenBytes < MAX_TOKEN_BYTES) return false;
    this.#tokens.clear();
    this.#tokenBytes = 0;
    return true;
  }

  /** Counts the entries of each token. */
  async #counts(): Promise<Uint32Array> {
    const counts = new Uint32Array(this.#tokens.size);
    for (const { tokens, count } of this.#chunks()) {
      for (let entry = 0; entry < count; entry++) counts[tokens[entry]]++;
      await yieldToEventLoop();
    }
    return counts;
  }

  /**
   * Returns the tokens with entries, and the first entry of each.
   * @param counts entries by token number; on return, the first entry by token number
   */
  async #firstEntries(counts: Uint32Array): Promise<{ tokens: Uint8Array[]; starts: Uint32Array }> {
    const encoder = new TextEncoder();
    const tokens: Uint8Array[] = [];
    const starts = new Uint32Array(this.#tokens.size + 1);
    let number = 0;
    let start = 0;
    for (const token of this.#tokens.keys()) {
      const count = counts[number];
      counts[number++] = start;
      start += count;
      if (number % STEP_TOKENS === 0) await yieldToEventLoop();
      if (count === 0) continue;
      tokens.push(encoder.encode(token));
      starts[tokens.length] = start;
    }
    return { tokens, starts: starts.slice(0, tokens.length + 1) };
  }

  /** Sorts the entries by token, stable. @param next next entry by token number */
  async #sorted(lengths: Uint32Array, next: Uint32Array, starts: Uint32Array): Promise<SortedEntries> {
    const { workers } = this.target;
    const memory = () => new Uint32Array(memoryFor(workers, 4 * this.#entries));
    const documents = memory();
    const positions = this.form.withPosition ? memory() : null;
    let document = 0;
    let left = lengths[0];
    for (const { tokens, positions: entryPositions, count } of this.#chunks()) {
      for (let entry = 0; entry < count; entry++) {
        if (left === 0) left = lengths[++document];
        left--;
        const position = next[tokens[entry]]++;
        documents[position] = document;
        if (positions !== null) positions[position] = entryPositions[entry];
      }
      await yieldToEventLoop();
    }
    return { documents, positions, starts };
  }

  /** Yields the entries in pieces. */
  *#chunks(): Generator<{ tokens: Uint32Array; positions: Uint32Array; count: number }> {
    for (let start = 0; start < this.#entries; start += STEP_ENTRIES) {
      const index = start % CHUNK_ENTRIES;
      const chunk = (start - index) / CHUNK_ENTRIES;
      const end = index + STEP_ENTRIES;
      yield {
        tokens: this.#entryTokens[chunk].subarray(index, end),
        positions: this.#entryPositions[chunk]?.subarray(index, end) ?? NO_POSITIONS,
        count: Math.min(STEP_ENTRIES, this.#entries - start),
      };
    }
  }
}

const NO_POSITIONS = new Uint32Array(0);

/** Allocates memory, shared if there are threads. */
const memoryFor = (workers: WorkerPool | undefined, byteLength: number): ArrayBuffer | SharedArrayBuffer =>
  (workers?.size ?? 0) > 0 ? new SharedArrayBuffer(byteLength) : new ArrayBuffer(byteLength);

/** Yields the lists of all tokens in pieces. Threads encode ahead. */
async function* encodedLists(
  { documents, positions, starts }: SortedEntries,
  common: Omit<EntryPiece, keyof SortedEntries>,
  workers: WorkerPool | undefined,
  progress: (fraction: number) => void,
): AsyncGenerator<EncodedLists> {
  const pieces = [...piecesOf(starts)];
  const inputOf = (piece: number): EntryPiece => {
    const { from, to } = pieces[piece];
    return { documents, positions, starts: starts.slice(from, to + 1), ...common };
  };
  const threads = pieces.length > 1 ? (workers?.size ?? 0) : 0;
  const underWay: Promise<EncodedLists>[] = [];
  let started = 0;
  for (let piece = 0; piece < pieces.length; piece++) {
    while (threads > 0 && started < Math.min(pieces.length, piece + 2 * threads)) {
      const encoding = (workers as WorkerPool).run(ENCODE_POSTINGS, inputOf(started++));
      // The await of the piece reports a failure.
      encoding.catch(() => undefined);
      underWay.push(encoding);
    }
    yield await (underWay.shift() ?? runAsync(encodeEntries(inputOf(piece))));
    progress((piece + 1) / pieces.length);
    await yieldToEventLoop();
  }
}

/** Yields ranges of tokens. */
function* piecesOf(starts: Uint32Array): Generator<{ readonly from: number; readonly to: number }> {
  const count = starts.length - 1;
  for (let from = 0, to = 0; from < count; from = to) {
    to = from + 1;
    while (to < count && to - from < PIECE_TOKENS && starts[to + 1] - starts[from] <= PIECE_ENTRIES) to++;
    yield { from, to };
  }
}
