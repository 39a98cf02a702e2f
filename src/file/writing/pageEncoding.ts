/** Rows of a column to pages with their checksums: pure, so that a thread can do it. */

import type { Column } from "../../arrow/columns/column.js";
import { valueBytes } from "../../arrow/columns/columnBytes.js";
import { runSync, type Steps } from "../../async/eventLoop.js";
import type { Task, WorkerPool } from "../../async/workerPool.js";
import { alignTo8, phaseOf } from "../../bytes/aligned.js";
import { hasMemory, hasSharedMemory, isSharedMemory, sharedCopy } from "../../bytes/sharedCopy.js";
import { Arena } from "../../io/memory/arena.js";
import { type BufferChecksum, checksumsOfPage } from "../container/blockChecksums.js";
import type { EncodedPage, FileColumn, FileVersion } from "../container/page.js";
import { encodeBlobs } from "../pages/blobPages.js";
import { encodePages } from "../pages/encodePage.js";
import { encodeNestedPage } from "../v20/nestedArrays.js";
import { trimmedColumn } from "./heldColumns.js";

export interface PageInput {
  readonly column: FileColumn;
  readonly parts: readonly Column[];
  readonly rowCount: number;
  readonly version: FileVersion;
}

export interface PageOutput {
  readonly pages: readonly EncodedPage[];
  /** Of each page's buffers. */
  readonly checksums: readonly (readonly BufferChecksum[])[];
}

/** Values of fewer bytes are encoded before a thread would have them. */
const MIN_THREAD_BYTES = 64 * 1024;
/** Memory lent for pages, as a share of their values' bytes; larger pages are moved from the thread. */
export const ROOM_SHARE = 0.75;
const NO_METADATA: ReadonlyMap<string, string> = new Map();

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
  if (blobs?.kind === "inFile") return [encodeBlobs(column, parts, rowCount, version)];
  // The metadata of a blob field is meant for the values; descriptors are never compressed.
  const metadata = blobs === undefined ? column.metadata : NO_METADATA;
  if (version === "2.0") return [encodeNestedPage(column, parts, rowCount)];
  return yield* encodePages(layout, parts, rowCount, { version, nullable, path, metadata });
}

// ------------------------------------------------------------------------------------------------ threads

interface ThreadInput extends PageInput {
  /**
   * Memory for the pages; null where they are mostly the values themselves. Never that of the values: where a
   * pool is closed, what a thread had begun with is encoded once more.
   */
  readonly room: Uint8Array<SharedArrayBuffer> | null;
}

/** What a thread does. */
export const ENCODE_PAGES: Task<ThreadInput, PageOutput> = {
  name: "encodePages",
  run: ({ room, ...input }) => {
    const output = runSync(encodePageInput(input));
    return (room && putInto(room, output)) ?? withOwnMemory(output);
  },
  memoryOf: ({ pages }) => {
    const memory = new Set<ArrayBuffer>();
    for (const { buffers } of pages) {
      for (const pieces of buffers) {
        for (const { buffer } of pieces) if (!isSharedMemory(buffer)) memory.add(buffer);
      }
    }
    return [...memory];
  },
};

/**
 * Whether it pays to have a thread encode rows. Vectors are mostly stored as they are: what there is to do is
 * their checksums, which take less time than a copy for a thread, and more than a message about memory that
 * it sees already.
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
 * Has a thread encode rows.
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

/** Pages none of whose pieces is a small part of memory that holds something else, too. */
function withOwnMemory({ pages, checksums }: PageOutput): PageOutput {
  const own = (piece: Uint8Array): Uint8Array =>
    isSharedMemory(piece.buffer) || piece.length >= piece.buffer.byteLength / 2 ? piece : piece.slice();
  return { pages: withPieces(pages, own), checksums };
}

const withPieces = (
  pages: readonly EncodedPage[],
  change: (piece: Uint8Array) => Uint8Array,
): EncodedPage[] =>
  pages.map((page) => ({ ...page, buffers: page.buffers.map((pieces) => pieces.map(change)) }));

/**
 * Pages copied into shared memory: this thread's own is then used for its next pages, and the other thread
 * gets none that it would have to collect. Null where there is no room, or something in them lies in shared
 * memory already.
 */
function putInto(room: Uint8Array<SharedArrayBuffer>, { pages, checksums }: PageOutput): PageOutput | null {
  if (hasSharedMemory(pages)) return null;
  let byteLength = 0;
  for (const { buffers } of pages) {
    for (const pieces of buffers) for (const piece of pieces) byteLength = endBehind(byteLength, piece);
  }
  if (byteLength > room.length) return null;
  let end = 0;
  const put = (piece: Uint8Array): Uint8Array => {
    end = endBehind(end, piece);
    const copy = room.subarray(end - piece.length, end);
    copy.set(piece);
    return copy;
  };
  return { pages: withPieces(pages, put), checksums };
}

/** Where bytes end that are put behind others, as far behind a multiple of 8 as they are now. */
const endBehind = (end: number, piece: Uint8Array): number => alignTo8(end) + phaseOf(piece) + piece.length;
