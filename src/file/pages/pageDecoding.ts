/** Large pages of texts decoded by threads: pure, as their encoding is (../writing/pageEncoding). */

import type { Column, Layout } from "../../arrow/columns/column.js";
import { leafOf } from "../../arrow/columns/spine.js";
import type { Task, WorkerPool } from "../../async/workerPool.js";
import { isSharedMemory, sharedCopy } from "../../bytes/sharedCopy.js";
import type { PageEncoding } from "../container/page.js";
import { decodePage } from "./decodePage.js";
import type { EncodedRows } from "./pageRows.js";

type DecodeInput = Pick<EncodedRows, "rowCount" | "layout" | "buffers" | "origin"> & {
  readonly column: Layout;
  /** Whether texts are put into shared memory. */
  readonly isShared: boolean;
};

/** What a thread does. */
export const DECODE_PAGE: Task<DecodeInput, Column> = {
  name: "decodePage",
  run: ({ column, layout, rowCount, buffers, origin, isShared }, spare) => {
    let memory = spare;
    const allocateTexts = (byteLength: number): Uint8Array => {
      const isEnough = memory !== undefined && memory.byteLength >= byteLength;
      const own = isEnough && memory !== undefined ? memory : new SharedArrayBuffer(wholeGrains(byteLength));
      if (isEnough) memory = undefined;
      return new Uint8Array(own, 0, byteLength);
    };
    return decodePage(column, layout, rowCount, buffers, origin, isShared ? { allocateTexts } : {});
  },
  memoryOf: (column) => [...memoryIn(column)].filter((memory) => !isSharedMemory(memory)),
  shared: {
    isFor: ({ isShared }) => isShared,
    memoryOf: (column) => [...memoryIn(column)].filter(isSharedMemory),
  },
};

function memoryIn(column: Column): Set<ArrayBuffer | SharedArrayBuffer> {
  const memory = new Set<ArrayBuffer | SharedArrayBuffer>();
  const visit = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    if (ArrayBuffer.isView(part)) memory.add(part.buffer);
    else for (const member of Object.values(part)) visit(member);
  };
  visit(column);
  return memory;
}

/** Texts get whole ones of so many bytes, so that those of one page have room where those of another were. */
const GRAIN_BYTES = 256 * 1024;
const wholeGrains = (byteLength: number): number => Math.ceil(byteLength / GRAIN_BYTES) * GRAIN_BYTES;

/** Pages of fewer bytes are decoded before a thread would have them. */
const MIN_THREAD_BYTES = 256 * 1024;
/** Bytes of text that a byte of a page stands for, about. */
const EXPANSION = 2;

/**
 * Whether a page may be one that a thread decodes: of coded texts.
 * @param column layout of what is decoded
 * @param byteCount of the page's buffers
 */
export function isForThread(column: Layout, layout: PageEncoding, byteCount: number): boolean {
  const { valueCompression } = layout.miniBlock ?? layout.fullZip ?? {};
  if (valueCompression?.fsst === undefined || leafOf(column).kind !== "variable") return false;
  return byteCount >= MIN_THREAD_BYTES;
}

/** Bytes of all buffers. */
export const byteCountOf = (buffers: readonly Uint8Array[]): number =>
  buffers.reduce((sum, { byteLength }) => sum + byteLength, 0);

/**
 * Has a thread decode a page.
 * @param column layout of what is decoded
 * @param isShared whether texts are put into shared memory, which is to be given back to the pool
 * @returns null where that does not pay, and it is to be decoded in line
 */
export function decodeInThread(
  pool: WorkerPool,
  column: Layout,
  { layout, rowCount, buffers, origin }: EncodedRows,
  isShared: boolean,
): Promise<Column> | null {
  if (!pool.isWorth(byteCountOf(buffers) * EXPANSION)) return null;
  const input = { column, layout, rowCount, buffers, origin, isShared };
  const decoded = pool.run(DECODE_PAGE, sharedCopy(input));
  // A failure is thrown where the page has its turn.
  decoded.catch(() => undefined);
  return decoded;
}
