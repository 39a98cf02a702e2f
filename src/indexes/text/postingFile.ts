/**
 * The postings file of a partition. LanceDB has used three layouts:
 *
 *     since 0.31   _posting list<large_binary>, _max_score f32, _length u32     row: a token, by id
 *                  _compressed_position large_binary, _position_block_offset list<u32>, with positions
 *     0.21 - 0.30  _position list<list<large_binary>> in place of the last two: a list per document
 *     before 0.21  legacyPostings.ts
 */

import type { Column } from "../../arrow/columns/column.js";
import { areNarrow } from "../../arrow/columns/offsets.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { Pace, yieldToEventLoop } from "../../async/eventLoop.js";
import { InternalError } from "../../errors.js";
import { integerWords, LARGE_BINARY_TYPE, LIST_TYPE, OpenIndexFile, UINT32 } from "../indexFile.js";
import type { IndexFiles } from "../kind.js";
import { type BlockedPositions, ListedPositions, PackedPositions } from "./positions.js";
import type { PostingForm } from "./postingBlocks.js";
import { PostingList } from "./postingList.js";

/** Layout of positions; null without positions. */
export type PositionLayout = "packed" | "listed" | null;

export interface PostingFile {
  readonly path: string;
  /** Prefix of the file's cache keys. */
  readonly cacheKey: string;
  /** Number of tokens; ids count from 0. */
  readonly tokenCount: number;
  /** Reads the packed lists of tokens. @param ids ascending and distinct @throws CorruptFileError */
  lists(ids: Uint32Array, withPositions: boolean, signal?: AbortSignal): Promise<PostingList[]>;
}

const LIST_COLUMNS = ["_length", "_posting"];
const POSITION_COLUMNS = {
  packed: ["_compressed_position", "_position_block_offset"],
  listed: ["_position"],
} as const;
/** Lists between yields. */
const STEP_LISTS = 128;

export class StoredPostings implements PostingFile {
  private constructor(
    private readonly file: OpenIndexFile,
    private readonly form: PostingForm,
    private readonly layout: PositionLayout,
    private readonly documentCount: number,
  ) {}

  /** @throws UnsupportedError for another layout; CorruptFileError */
  static async open(
    files: IndexFiles,
    name: string,
    form: PostingForm,
    layout: PositionLayout,
    documentCount: number,
  ): Promise<StoredPostings> {
    const file = await OpenIndexFile.open(files, name, [
      { name: "_posting", type: LIST_TYPE },
      { name: "_length", type: UINT32 },
      ...(layout === "packed"
        ? [
            { name: "_compressed_position", type: LARGE_BINARY_TYPE },
            { name: "_position_block_offset", type: LIST_TYPE },
          ]
        : layout === "listed"
          ? [{ name: "_position", type: LIST_TYPE }]
          : []),
    ]);
    return new StoredPostings(file, form, layout, documentCount);
  }

  get path(): string {
    return this.file.path;
  }

  get cacheKey(): string {
    return this.file.cacheKey;
  }

  get tokenCount(): number {
    return this.file.rowCount;
  }

  async lists(ids: Uint32Array, withPositions: boolean, signal?: AbortSignal): Promise<PostingList[]> {
    const layout = withPositions ? this.layout : null;
    const names = layout === null ? LIST_COLUMNS : [...LIST_COLUMNS, ...POSITION_COLUMNS[layout]];
    const columns: Column[] = [];
    for (const name of names) columns.push(await this.file.take(name, ids, signal));
    const pace = new Pace(STEP_LISTS);
    const lists: PostingList[] = [];
    for (let row = 0; row < ids.length; row++) {
      // Copies each row, since a cached view would keep all rows of the read.
      const children = columns.map((column) => takeColumn(column, Uint32Array.of(row)));
      lists.push(this.#listOf(children, layout));
      if (pace.isStep()) await yieldToEventLoop();
    }
    return lists;
  }

  #listOf([count, posting, ...positions]: readonly Column[], layout: PositionLayout): PostingList {
    const { path } = this.file;
    const [{ items, start, end }] = listsOf(posting, path);
    return new PostingList({
      blocks: byteValues(items, start, end),
      count: integerWords(count, path)[0],
      documentCount: this.documentCount,
      form: this.form,
      positions: layout === null ? null : positionsOf(positions, layout, path),
      path,
    });
  }
}

function positionsOf(
  columns: readonly Column[],
  layout: NonNullable<PositionLayout>,
  path: string,
): BlockedPositions {
  if (layout === "packed") {
    const [bytes, offsets] = columns;
    const [{ items, start, end }] = listsOf(offsets, path);
    return new PackedPositions(byteValues(bytes)[0], integerWords(items, path).subarray(start, end), path);
  }
  const [{ items, start, end }] = listsOf(columns[0], path);
  const documents = start === end ? [] : listsOf(items, path).slice(start, end);
  const pieces = documents.map((document) => byteValues(document.items, document.start, document.end));
  return new ListedPositions(pieces, path);
}

const offsetAt = (offsets: Int32Array | BigInt64Array, index: number): number =>
  areNarrow(offsets) ? offsets[index] : Number(offsets[index]);

/** Returns the values of a binary column. */
export function byteValues(column: Column, start = 0, end = column.length): Uint8Array[] {
  if (column.kind === "null" && column.length === 0) return [];
  if (column.kind !== "variable") throw new InternalError(`bytes in a column of kind ${column.kind}`);
  const { offsets, bytes } = column;
  return Array.from({ length: end - start }, (_, index) =>
    bytes.subarray(offsetAt(offsets, start + index), offsetAt(offsets, start + index + 1)),
  );
}

function listsOf(column: Column, path: string): { items: Column; start: number; end: number }[] {
  if (column.kind !== "list") throw new InternalError(`${path}: lists in a column of kind ${column.kind}`);
  const { offsets, items, length } = column;
  return Array.from({ length }, (_, row) => ({
    items,
    start: offsetAt(offsets, row),
    end: offsetAt(offsets, row + 1),
  }));
}
