/** Encodes rows of a column to pages with their checksums. Pure, so that a thread can do it. */

import type { Column } from "../../arrow/columns/column.js";
import { valueBytes } from "../../arrow/columns/columnBytes.js";
import { runSync, type Steps } from "../../async/eventLoop.js";
import type { Task, WorkerPool } from "../../async/workerPool.js";
import { alignTo8, phaseOf } from "../../bytes/aligned.js";
import {
  hasMemory,
  hasSharedMemory,
  isSharedMemory,
  ownMemoryOf,
  sharedCopy,
} from "../../bytes/sharedCopy.js";
import { Arena } from "../../io/memory/arena.js";
import type { EncodedPage, FileColumn, FileVersion } from "../container/page.js";
import { type BufferChecksum, checksumsOfPage } from "../container/pageChecksums.js";
import { encodePages } from "../pages/encodePage.js";
import { arrayEncoder, blobEncoder } from "../pages/encoders.js";
import { trimmedColumn } from "./heldColumns.js";

export interface PageInput {
  readonly column: FileColumn;
  readonly parts: readonly Column[];
  readonly rowCount: number;
  readonly version: FileVersion;
}

export interface PageOutput {
  readonly pages: readonly EncodedPage[];
  /** Checksums of each page's buffers. */
  readonly checksums: readonly (readonly BufferChecksum[])[];
}

/** Minimum bytes of values for a thread: fewer are encoded before a thread has them. */
const MIN_THREAD_BYTES = 64 * 1024;
/** Memory for pages, as a fraction of the bytes of their values. The thread moves larger pages. */
export const ROOM_SHARE = 0.75;
const NO_METADATA: ReadonlyMap<string, string> = new Map();

/** Encodes rows. The encoders of the column must be loaded (encoders.ts). */
export function* encodePageInput(input: PageInput): Steps<PageOutput> {
  const pages = yield* encode(input);
  const checksums: BufferChecksum[][] = [];
  for (const { buffers } of pages) {
    yield;
    checksums.push(checksumsOfPage(buffers));
  }
  return { pages, checksums };
}

function* encode({ column, parts, rowCount, version }: PageInput): Steps<EncodedPage[]> {
  const { layout, nullable, path, blobs } = column;
  if (blobs?.kind === "inFile") return [blobEncoder.made.encodeBlobs(column, parts, rowCount, version)];
  // The metadata of a blob field is for the values; descriptors are never compressed.
  const metadata = blobs === undefined ? column.metadata : NO_METADATA;
  if (version === "2.0") return [arrayEncoder.made.encodeNestedPage(column, parts, rowCount)];
  return yield* encodePages(layout, parts, rowCount, { version, nullable, path, metadata });
}

// ------------------------------------------------------------------------------------------------ threads

interface ThreadInput extends PageInput {
  /**
   * Memory for the pages; null if they are mostly the values themselves. Never the memory of the values: if
   * the pool closes while a thread encodes them, they are encoded again.
   */
  readonly room: Uint8Array<SharedArrayBuffer> | null;
}

/** Task of a thread. */
export const ENCODE_PAGES: Task<ThreadInput, PageOutput> = {
  name: "encodePages",
  run: ({ room, ...input }) => {
    const output = runSync(encodePageInput(input));
    return (room && putInto(room, output)) ?? withOwnMemory(output);
  },
  memoryOf: ({ pages }) => ownMemoryOf(pages.map(({ buffers }) => buffers)),
};

/**
 * True if it pays to have a thread encode rows. Vectors are mostly stored as they are, so only their
 * checksums take time. That is less time than a copy for a thread takes, but more than a message about shared
 * memory takes.
 */
export const isForThreads = ({ column, parts }: PageInput, byteCount: number): boolean =>
  column.blobs === undefined &&
  byteCount >= MIN_THREAD_BYTES &&
  (!isVectors(column) || !hasMemory(parts, (memory) => !isSharedMemory(memory)));

const isVectors = ({ layout }: FileColumn): boolean => layout.kind === "fixedSizeList";

/** Pages in lent memory. */
export interface LentOutput extends PageOutput {
  /** Holds the memory of the pages, and of the values that they were made from. */
  readonly arena: Arena;
}

/**
 * Encodes rows in a thread.
 * @param input of memory that stays as it is until the page is written
 */
export async function encodeInThread(pool: WorkerPool, input: PageInput): Promise<LentOutput> {
  const arena = new Arena(pool.memory);
  const parts = input.parts.map((part) => trimmedColumn(part));
  const copy = sharedCopy({ ...input, parts }, (byteLength) => arena.lend(byteLength));
  const room = isVectors(input.column) ? null : arena.lend(Math.ceil(valueBytes(input.parts) * ROOM_SHARE));
  const output = await pool.run(ENCODE_PAGES, { ...copy, room });
  return { ...output, arena };
}

/** Returns the pages without pieces that are small parts of larger memory. */
function withOwnMemory({ pages, checksums }: PageOutput): PageOutput {
  const withoutRest = (piece: Uint8Array): Uint8Array =>
    isSharedMemory(piece.buffer) || piece.length >= piece.buffer.byteLength / 2 ? piece : piece.slice();
  return { pages: withPieces(pages, withoutRest), checksums };
}

const withPieces = (
  pages: readonly EncodedPage[],
  change: (piece: Uint8Array) => Uint8Array,
): EncodedPage[] =>
  pages.map((page) => ({ ...page, buffers: page.buffers.map((pieces) => pieces.map(change)) }));

/**
 * Copies pages into shared memory. This thread then reuses its own memory for its next pages, and the main
 * thread gets no memory that it would have to collect. Returns null if there is no room, or if a piece lies
 * in shared memory already.
 */
function putInto(room: Uint8Array<SharedArrayBuffer>, { pages, checksums }: PageOutput): PageOutput | null {
  if (hasSharedMemory(pages)) return null;
  const byteLength = pages.flatMap(({ buffers }) => buffers.flat()).reduce(endAfter, 0);
  if (byteLength > room.length) return null;
  let end = 0;
  const put = (piece: Uint8Array): Uint8Array => {
    end = endAfter(end, piece);
    const copy = room.subarray(end - piece.length, end);
    copy.set(piece);
    return copy;
  };
  return { pages: withPieces(pages, put), checksums };
}

/** Returns the end of a piece that follows `end` and keeps its offset from a multiple of 8. */
const endAfter = (end: number, piece: Uint8Array): number => alignTo8(end) + phaseOf(piece) + piece.length;
