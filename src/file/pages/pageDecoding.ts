/** Decodes large pages of texts in threads. Pure, like the encoding of pages (../writing/pageEncoding). */

import type { Column, Layout } from "../../arrow/columns/column.js";
import { leafOf } from "../../arrow/columns/spine.js";
import type { Task, WorkerPool } from "../../async/workerPool.js";
import { ownMemoryOf, sharedCopy } from "../../bytes/sharedCopy.js";
import type { PageEncoding } from "../container/page.js";
import { decodePage } from "./decodePage.js";
import type { EncodedRows } from "./pageRows.js";

type DecodeInput = Pick<EncodedRows, "rowCount" | "layout" | "buffers" | "origin"> & {
  readonly column: Layout;
};

/** Task of a thread. */
export const DECODE_PAGE: Task<DecodeInput, Column> = {
  name: "decodePage",
  run: ({ column, layout, rowCount, buffers, origin }) =>
    decodePage(column, layout, rowCount, buffers, origin),
  memoryOf: ownMemoryOf,
};

/** Minimum bytes of a page for a thread: smaller pages are decoded before a thread has them. */
const MIN_THREAD_BYTES = 256 * 1024;
/** Approximate bytes of text per byte of a page. */
const EXPANSION = 2;

/**
 * True for a page of coded texts that is large enough for a thread.
 * @param column layout of the decoded values
 * @param byteCount bytes of the page's buffers
 */
export function isForThread(column: Layout, layout: PageEncoding, byteCount: number): boolean {
  const { valueCompression } = layout.miniBlock ?? layout.fullZip ?? {};
  if (valueCompression?.fsst === undefined || leafOf(column).kind !== "variable") return false;
  return byteCount >= MIN_THREAD_BYTES;
}

/** Returns the bytes of all buffers. */
export const byteCountOf = (buffers: readonly Uint8Array[]): number =>
  buffers.reduce((sum, { byteLength }) => sum + byteLength, 0);

/**
 * Decodes a page in a thread.
 * @param column layout of the decoded values
 * @returns null if a thread would not be faster; the caller then decodes the page
 */
export function decodeInThread(
  pool: WorkerPool,
  column: Layout,
  { layout, rowCount, buffers, origin }: EncodedRows,
): Promise<Column> | null {
  if (!pool.isWorth(byteCountOf(buffers) * EXPANSION)) return null;
  const input = { column, layout, rowCount, buffers, origin };
  const decoded = pool.run(DECODE_PAGE, sharedCopy(input));
  // The assembler throws the failure when the page has its turn.
  decoded.catch(() => undefined);
  return decoded;
}
