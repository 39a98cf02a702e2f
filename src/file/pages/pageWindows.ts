/**
 * A page of small values that is decoded window by window. Its values are never in memory all at once: a
 * window stays in the processor's caches, and may reuse the memory of the window before.
 */

import type { Column, Layout } from "../../arrow/columns/column.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { leafOf } from "../../arrow/columns/spine.js";
import { upperBound } from "../../bytes/search.js";
import type { MiniBlockLayout } from "../../format/encodings.js";
import type { Arena } from "../../io/memory/arena.js";
import type { DictionaryValues } from "../structural/dictionary.js";
import { type ChunkPlan, decodePageDictionary, planChunks } from "../structural/miniBlock.js";
import { decodePage } from "./decodePage.js";
import type { EncodedRows } from "./pageRows.js";

/** Rows of a window, unless more are asked for. */
const WINDOW_ROWS = 32_768;
/** Pages of fewer rows are decoded whole. */
const MIN_ROWS = 2 * WINDOW_ROWS;

export class PageWindows {
  readonly #chunks: ChunkPlan;
  /** First row of each chunk, and the number of rows as the last entry. */
  readonly #rowStarts: Float64Array;
  readonly #dictionary: DictionaryValues | undefined;
  #window: { readonly start: number; readonly end: number; readonly column: Column } | null = null;

  private constructor(
    private readonly layout: Layout,
    private readonly encoded: EncodedRows,
    private readonly page: MiniBlockLayout,
    private readonly arena: Arena,
  ) {
    this.#chunks = planChunks(page, encoded.buffers[0], encoded.buffers[1], encoded.origin);
    this.#dictionary =
      page.dictionary && decodePageDictionary(leafOf(layout), page, encoded.buffers, encoded.origin);
    const { counts } = this.#chunks;
    this.#rowStarts = new Float64Array(counts.length + 1);
    for (let chunk = 0; chunk < counts.length; chunk++) {
      this.#rowStarts[chunk + 1] = this.#rowStarts[chunk] + counts[chunk];
    }
  }

  /**
   * Returns null for a page that must be decoded whole.
   * @param arena of this column alone; holds the current window
   * @param keepsDictionary true if columns may be dictionaries although the layout has none
   * @throws CorruptFileError if the chunks do not lie in the page
   */
  static of(
    layout: Layout,
    encoded: EncodedRows,
    arena: Arena,
    keepsDictionary: boolean,
  ): PageWindows | null {
    const page = encoded.layout.miniBlock;
    if (page === undefined || !isFlat(layout) || encoded.rowCount < MIN_ROWS) return null;
    if (page.repCompression !== undefined) return null;
    const isDictionary = page.dictionary !== undefined;
    if (isDictionary && !keepsDictionary) return null;
    if (page.itemCount !== encoded.rowCount || encoded.buffers.length < (isDictionary ? 3 : 2)) return null;
    return new PageWindows(layout, encoded, page, arena);
  }

  /**
   * Returns rows, relative to the first one that was read of the page. The column is valid until the next
   * call.
   * @throws CorruptFileError
   */
  rows(start: number, end: number): Column {
    let window = this.#window;
    if (window === null || start < window.start || end > window.end) {
      window = this.#decode(start, Math.min(this.encoded.rowCount, Math.max(end, start + WINDOW_ROWS)));
      this.#window = window;
    }
    return sliceColumn(window.column, start - window.start, end - start);
  }

  #decode(start: number, end: number) {
    const starts = this.#rowStarts;
    const { offsets, counts } = this.#chunks;
    const first = chunkOf(starts, start);
    const last = end === start ? first : chunkOf(starts, end - 1);
    const rowCount = starts[last + 1] - starts[first];
    const chunks = {
      offsets: offsets.subarray(first, last + 2),
      counts: counts.subarray(first, last + 1),
      // Without lists, each value has one level at most.
      levelCount: rowCount,
    };
    this.arena.recycle();
    const column = decodePage(
      this.layout,
      { miniBlock: { ...this.page, itemCount: rowCount } },
      rowCount,
      this.encoded.buffers,
      this.encoded.origin,
      {
        allocate: (byteLength) => this.arena.lend(byteLength).fill(0),
        chunks,
        keepsDictionary: this.#dictionary !== undefined,
        dictionary: this.#dictionary,
      },
    );
    return { start: starts[first], end: starts[last + 1], column };
  }
}

/** True if each row has one value without parts, maybe in structs. */
function isFlat(layout: Layout): boolean {
  let node = layout;
  while (node.kind === "struct") node = node.children[0].layout;
  return node.kind === "fixed" || node.kind === "variable" || node.kind === "bits";
}

/** Index of the chunk that holds a row. */
const chunkOf = (rowStarts: Float64Array, row: number): number =>
  upperBound(rowStarts, row, 1, rowStarts.length - 1) - 1;
