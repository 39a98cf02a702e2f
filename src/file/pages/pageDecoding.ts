/** Decodes large pages of texts in threads. Pure, like the encoding of pages (../writing/pageEncoding). */

import type { Column, Layout } from "../../arrow/columns/column.js";
import { leafOf } from "../../arrow/columns/spine.js";
import type { Task, WorkerPool } from "../../async/workerPool.js";
import { ownMemoryOf, sharedCopy } from "../../bytes/sharedCopy.js";
import { CompressionScheme } from "../../format/encodings.js";
import type { Arena } from "../../io/memory/arena.js";
import { unfilledBytes } from "../../platform/native.js";
import type { PageEncoding } from "../container/page.js";
import { decodePage } from "./decodePage.js";
import type { EncodedRows } from "./pageRows.js";

type DecodeInput = Pick<EncodedRows, "rowCount" | "layout" | "buffers" | "origin"> & {
  readonly column: Layout;
  /** Memory for the texts if they need no more; null: fresh memory. */
  readonly memory: Uint8Array<SharedArrayBuffer> | null;
};

/** Task of a thread. */
export const DECODE_PAGE: Task<DecodeInput, Column> = {
  name: "decodePage",
  run: ({ column, layout, rowCount, buffers, origin, memory }) => {
    let spare = memory;
    const allocateTexts = (byteLength: number): Uint8Array => {
      if (spare === null || byteLength > spare.length) return unfilledBytes(byteLength);
      const texts = spare.subarray(0, byteLength);
      spare = null;
      return texts;
    };
    return decodePage(column, layout, rowCount, buffers, origin, { allocateTexts });
  },
  memoryOf: ownMemoryOf,
};

/** Minimum bytes of a page for a thread: smaller pages are decoded before a thread has them. */
const MIN_THREAD_BYTES = 256 * 1024;
/** Approximate bytes of text per byte of a page. */
const EXPANSION = 2;
/**
 * Bytes of text per byte of a page that few pages exceed. Texts that need more get memory of their own in the
 * thread, which only a full garbage collection of this thread frees.
 */
const MAX_EXPANSION = 4;

/**
 * True for a page of texts in FSST codes or Zstandard that is large enough for a thread.
 * @param column layout of the decoded values
 * @param byteCount bytes of the page's buffers
 */
export function isForThread(column: Layout, layout: PageEncoding, byteCount: number): boolean {
  const { valueCompression } = layout.miniBlock ?? layout.fullZip ?? {};
  const isPacked =
    valueCompression?.fsst !== undefined ||
    valueCompression?.general?.compression?.scheme === CompressionScheme.ZSTD;
  return isPacked && byteCount >= MIN_THREAD_BYTES && leafOf(column).kind === "variable";
}

/** Returns the bytes of all buffers. */
export const byteCountOf = (buffers: readonly Uint8Array[]): number =>
  buffers.reduce((sum, { byteLength }) => sum + byteLength, 0);

/**
 * Decodes a page in a thread.
 * @param column layout of the decoded values
 * @param arena lends memory for the texts; null: they get memory of their own
 * @returns null if a thread would not be faster; the caller then decodes the page
 */
export function decodeInThread(
  pool: WorkerPool,
  column: Layout,
  { layout, rowCount, buffers, origin }: EncodedRows,
  arena: Arena<SharedArrayBuffer> | null,
): Promise<Column> | null {
  const byteCount = byteCountOf(buffers);
  if (!pool.isWorth(byteCount * EXPANSION)) return null;
  const memory = arena === null ? null : arena.lend(byteCount * MAX_EXPANSION);
  const input = { column, layout, rowCount, buffers, origin, memory };
  const decoded = pool.run(DECODE_PAGE, sharedCopy(input));
  // The assembler throws the failure when the page has its turn.
  decoded.catch(() => undefined);
  return decoded;
}
