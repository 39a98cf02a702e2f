/** Computes how much memory rows take, of existing columns and of columns still to be made. */

import type { Column, Layout } from "../arrow/columns/column.js";

/** Minimum bytes per column of a batch: with fewer, its objects would take longer than its rows. */
const MIN_COLUMN_BYTES = 4096;

/** Minimum bytes that a row takes in memory. */
export function leastRowBytes(layout: Layout): number {
  switch (layout.kind) {
    case "null":
      return 0;
    case "fixed":
      return layout.byteWidth;
    case "bits":
      return 1 / 8;
    case "variable":
    case "list":
      return layout.offsetBits / 8;
    case "fixedSizeList":
    case "sizedList":
      return layout.dimension * leastRowBytes(layout.item);
    case "dictionary":
      return layout.index.byteWidth;
    case "struct":
    case "packedStruct":
      return layout.children.reduce((sum, child) => sum + leastRowBytes(child.layout), 0);
  }
}

/** Number of rows in a batch of about `batchBytes`, at least one. */
export function rowsOfBatch(batchBytes: number, columnCount: number, rowBytes: number): number {
  if (rowBytes === 0) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor(Math.max(batchBytes, columnCount * MIN_COLUMN_BYTES) / rowBytes));
}

/** Adds the blocks of memory that a column keeps alive. */
function addBlocks(column: Column, blocks: Set<ArrayBufferLike>): void {
  if (column.validity !== null) blocks.add(column.validity.bytes.buffer);
  switch (column.kind) {
    case "null":
      return;
    case "fixed":
      blocks.add(column.values.buffer);
      return;
    case "bits":
      blocks.add(column.bits.buffer);
      return;
    case "variable":
      blocks.add(column.offsets.buffer).add(column.bytes.buffer);
      return;
    case "dictionary":
      addBlocks(column.indices, blocks);
      addBlocks(column.dictionary, blocks);
      return;
    case "list":
      blocks.add(column.offsets.buffer);
      addBlocks(column.items, blocks);
      return;
    case "fixedSizeList":
    case "sizedList":
      addBlocks(column.items, blocks);
      return;
    case "struct":
    case "packedStruct":
      for (const child of column.children) addBlocks(child, blocks);
  }
}

/** Total bytes of the memory blocks that columns lie in. A block that several columns share counts once. */
export class HeldBlocks {
  readonly #blocks = new Set<ArrayBufferLike>();
  bytes = 0;

  constructor(columns: Iterable<Column | null> = []) {
    for (const column of columns) if (column !== null) this.add(column);
  }

  add(column: Column): void {
    const blocks = new Set<ArrayBufferLike>();
    addBlocks(column, blocks);
    for (const block of blocks) {
      if (this.#blocks.has(block)) continue;
      this.#blocks.add(block);
      this.bytes += block.byteLength;
    }
  }
}
