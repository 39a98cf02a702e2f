/**
 * A file on a web host or in a bucket, read by ranges. Pieces that callers ask for at the same time become
 * few requests: near pieces are read together, in blocks that a cache keeps. Large pieces are read as they
 * are.
 */

import { onNextTurn } from "../../async/timers.js";
import { CorruptFileError } from "../../errors.js";
import type { ReadHandle, ReadPieces } from "../../io/disk/disk.js";
import type { LruCache } from "../../io/memory/cache.js";
import { type BlockCache, CACHED_BLOCK_BYTES } from "./blockCache.js";
import { changedFile, type FetchedBytes, type HttpRequests } from "./httpRequests.js";
import type { FilePiece } from "./publishedHeads.js";

/** Pieces shorter than this mostly tell where the next read begins, so more is read with them. */
const SHORT_BYTES = 1024;
/** Minimum bytes of a request that begins with a short piece. */
const AHEAD_BYTES = 64 * 1024;
/** Maximum gap between pieces that one request reads. */
const GAP_BYTES = 128 * 1024;
/** Maximum bytes of a request that joins pieces. */
const MAX_JOINED_BYTES = 8 * 1024 * 1024;
/** Bytes from which a request is not cached: pages that are read whole are cached when they are decoded. */
const UNCACHED_BYTES = 1024 * 1024;
/** A file whose size is known. */
export interface KnownFile {
  /** Path on the disk, for messages and the handle. */
  readonly path: string;
  /** Names of the way to the file on the host. */
  readonly hostPath: string;
  readonly size: number;
  /** Null if the host sends none. */
  readonly validator: string | null;
  readonly identity: string;
}

/** Bytes that a caller waits for. */
interface WantedPiece {
  readonly start: number;
  readonly end: number;
  readonly target: Uint8Array;
}

/** Pieces that are read together. */
interface PendingRead {
  readonly pieces: WantedPiece[];
  readonly done: Promise<void>;
}

/** Bytes in memory, or on their way. */
interface Span {
  readonly start: number;
  readonly end: number;
}

export class HttpFile implements ReadHandle {
  readonly path: string;
  readonly size: number;
  readonly identity: string;
  readonly #file: KnownFile;
  readonly #requests: RangeRequests;
  readonly #blocks: BlockCache;
  readonly #validators: LruCache<string> | undefined;
  readonly #onChange: (file: KnownFile) => void;
  /** Parts that came with the opening, ascending; they stay as long as the handle. */
  readonly #pieces: readonly FilePiece[];
  #isTailTaken = false;
  #pending: PendingRead | null = null;

  /**
   * @param pieces parts of the file that are known, ascending
   * @param onChange receives the file if the host has another one meanwhile
   */
  constructor(
    file: KnownFile,
    pieces: readonly FilePiece[],
    { requests, blocks, onChange, validators }: HttpFileSource,
  ) {
    this.#file = file;
    ({ path: this.path, size: this.size, identity: this.identity } = file);
    this.#pieces = pieces;
    this.#requests = requests;
    this.#blocks = blocks;
    this.#validators = validators;
    this.#onChange = onChange;
  }

  takeTail(): Uint8Array | null {
    const last = this.#pieces[this.#pieces.length - 1];
    if (this.#isTailTaken || last === undefined || last.start + last.bytes.length < this.size) return null;
    this.#isTailTaken = true;
    // A copy: callers may keep and change what they are given.
    return last.bytes.slice();
  }

  async read(byteOffset: number, length: number, memory?: Uint8Array): Promise<Uint8Array> {
    const target = memory?.subarray(0, length) ?? new Uint8Array(length);
    await this.#fill([{ start: byteOffset, end: byteOffset + length, target }]);
    return target;
  }

  readInto(target: Uint8Array, { byteOffsets, lengths, positions }: ReadPieces): Promise<void> | undefined {
    const pieces: WantedPiece[] = [];
    for (let index = 0; index < lengths.length; index++) {
      const start = byteOffsets[index];
      const position = positions[index];
      const part = target.subarray(position, position + lengths[index]);
      pieces.push({ start, end: start + lengths[index], target: part });
    }
    return this.#fill(pieces);
  }

  async close(): Promise<void> {}

  /** Fills the pieces; undefined if all of it was in memory. */
  #fill(pieces: readonly WantedPiece[]): Promise<void> | undefined {
    for (const { start, end } of pieces) {
      if (end <= this.size) continue;
      const reason = `the read needs ${end - start} bytes from here, but the file ends at ${this.size}`;
      throw new CorruptFileError(this.path, start, reason);
    }
    const missing = pieces.filter((piece) => !this.#fillFromMemory(piece));
    if (missing.length === 0) return undefined;
    this.#pending ??= this.#nextRead();
    this.#pending.pieces.push(...missing);
    return this.#pending.done;
  }

  /** Starts a read at the next turn of the event loop, so that others can join it. */
  #nextRead(): PendingRead {
    const pieces: WantedPiece[] = [];
    const done = new Promise<void>(onNextTurn).then(() => {
      this.#pending = null;
      return this.#readPieces(pieces);
    });
    return { pieces, done };
  }

  async #readPieces(pieces: readonly WantedPiece[]): Promise<void> {
    const spans = joinedSpans(pieces, this.size);
    await Promise.all(
      spans.map(async (span) => {
        const { start, bytes } = await this.#readSpan(span);
        for (const piece of pieces) copyPart(piece, start, bytes);
      }),
    );
  }

  async #readSpan({ start, end }: Span): Promise<{ start: number; bytes: Uint8Array }> {
    const fetched = await this.#requests.range(this.#file.hostPath, { start, end }, this.size);
    if (fetched === null || !isOf(this.#file, fetched) || !this.#isSeen(fetched)) {
      this.#onChange(this.#file);
      throw changedFile(this.path);
    }
    const { bytes } = fetched;
    if (bytes.length < UNCACHED_BYTES || bytes.length === this.size)
      this.#blocks.keep(keyOf(this.#file), fetched.start, bytes, this.size);
    return { start: fetched.start, bytes };
  }

  /** True unless an earlier read of the file came with another validator; an index tells none. */
  #isSeen({ validator }: FetchedBytes): boolean {
    if (validator === null || this.#validators === undefined) return true;
    const key = keyOf(this.#file);
    const seen = this.#validators.peek(key);
    if (seen === undefined) this.#validators.set(key, validator, 1);
    return seen === undefined || seen === validator;
  }

  /** Copies a piece from known parts and cached blocks. Returns false if bytes are missing. */
  #fillFromMemory(piece: WantedPiece): boolean {
    const parts: FilePiece[] = [];
    for (let start = piece.start; start < piece.end; ) {
      const part = this.#partAt(start);
      if (part === null) return false;
      parts.push(part);
      start = part.start + part.bytes.length;
    }
    for (const { start, bytes } of parts) copyPart(piece, start, bytes);
    return true;
  }

  /** Returns bytes in memory that hold an offset. */
  #partAt(offset: number): FilePiece | null {
    for (const piece of this.#pieces) {
      if (piece.start <= offset && offset < piece.start + piece.bytes.length) return piece;
    }
    const block = Math.floor(offset / CACHED_BLOCK_BYTES);
    const bytes = this.#blocks.peek(keyOf(this.#file), block);
    return bytes === undefined ? null : { start: block * CACHED_BLOCK_BYTES, bytes };
  }
}

/** Reads ranges of files. */
export type RangeRequests = Pick<HttpRequests, "range">;

/** Parts that the files of one disk share. */
export interface HttpFileSource {
  readonly requests: RangeRequests;
  readonly blocks: BlockCache;
  readonly onChange: (file: KnownFile) => void;
  /** Validators of files that were read, by {@link keyOf}. Default: those of the files tell all. */
  readonly validators?: LruCache<string>;
}

/** Key of a file's blocks. */
export const keyOf = ({ hostPath, identity }: KnownFile): string => `${hostPath}|${identity}`;

/** True if bytes belong to a file, as far as the host tells. */
const isOf = (file: KnownFile, { size, validator }: FetchedBytes): boolean =>
  (size === null || size === file.size) &&
  (validator === null || file.validator === null || validator === file.validator);

/** Copies the part of a piece that lies in the bytes. */
function copyPart({ start, end, target }: WantedPiece, bytesStart: number, bytes: Uint8Array): void {
  const from = Math.max(start, bytesStart);
  const to = Math.min(end, bytesStart + bytes.length);
  if (from < to) target.set(bytes.subarray(from - bytesStart, to - bytesStart), from - start);
}

/** Returns the spans to read for pieces: of whole blocks, near ones joined. */
function joinedSpans(pieces: readonly Span[], size: number): Span[] {
  const ascending = [...pieces].sort((a, b) => a.start - b.start);
  const spans: { start: number; end: number }[] = [];
  for (const piece of ascending) {
    const isLarge = piece.end - piece.start >= UNCACHED_BYTES;
    const start = isLarge ? piece.start : piece.start - (piece.start % CACHED_BLOCK_BYTES);
    const isShort = piece.end - piece.start < SHORT_BYTES;
    const wantedEnd = isShort
      ? start + AHEAD_BYTES
      : Math.ceil(piece.end / CACHED_BLOCK_BYTES) * CACHED_BLOCK_BYTES;
    const end = isLarge ? piece.end : Math.min(size, Math.max(piece.end, wantedEnd));
    const last = spans[spans.length - 1];
    const joins =
      last !== undefined &&
      start <= last.end + GAP_BYTES &&
      (end <= last.end || end - last.start <= MAX_JOINED_BYTES);
    if (joins) last.end = Math.max(last.end, end);
    else spans.push({ start, end });
  }
  return spans;
}
