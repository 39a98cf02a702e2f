/**
 * The postings file of a partition. LanceDB has used three layouts:
 *
 *     since 0.31   _posting list<large_binary>, _max_score f32, _length u32     row: a token, by id
 *                  _compressed_position large_binary, _position_block_offset list<u32>, with positions
 *     0.21 - 0.30  _position list<list<large_binary>> in place of the last two: a list per document
 *     before 0.21  legacyPostings.ts
 */

import type { Column } from "../../arrow/columns/column.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { Pace, yieldToEventLoop } from "../../async/eventLoop.js";
import { InternalError } from "../../errors.js";
import {
  byteValues,
  type FileColumnType,
  integerWords,
  LARGE_BINARY_TYPE,
  LIST_TYPE,
  UINT32,
} from "../indexColumns.js";
import { OpenIndexFile } from "../indexFile.js";
import type { IndexFiles } from "../kind.js";
import { type BlockedPositions, listedPositions, packedPositions } from "./positions.js";
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
  /**
   * Reads the packed lists of tokens.
   * @param ids ascending and distinct
   * @throws CorruptFileError
   */
  lists(ids: Uint32Array, withPositions: boolean, signal?: AbortSignal): Promise<PostingList[]>;
}

const LIST_COLUMNS: readonly FileColumnType[] = [
  { name: "_length", type: UINT32 },
  { name: "_posting", type: LIST_TYPE },
];
const POSITION_COLUMNS: Readonly<Record<NonNullable<PositionLayout>, readonly FileColumnType[]>> = {
  packed: [
    { name: "_compressed_position", type: LARGE_BINARY_TYPE },
    { name: "_position_block_offset", type: LIST_TYPE },
  ],
  listed: [{ name: "_position", type: LIST_TYPE }],
};
/** Lists between yields. */
const STEP_LISTS = 128;

/**
 * Opens a file of LanceDB 0.21 and later. Returns a function that makes the postings of as many documents as
 * the partition has.
 * @throws UnsupportedError for another layout; CorruptFileError
 */
export async function openPostings(
  files: IndexFiles,
  name: string,
  form: PostingForm,
  layout: PositionLayout,
): Promise<(documentCount: number) => PostingFile> {
  const columnsFor = (positions: PositionLayout): readonly FileColumnType[] =>
    positions === null ? LIST_COLUMNS : [...LIST_COLUMNS, ...POSITION_COLUMNS[positions]];
  const file: OpenIndexFile = await OpenIndexFile.open(files, name, columnsFor(layout));
  return (documentCount) => postingsOf(file, columnsFor, form, layout, documentCount);
}

function postingsOf(
  file: OpenIndexFile,
  columnsFor: (positions: PositionLayout) => readonly FileColumnType[],
  form: PostingForm,
  layout: PositionLayout,
  documentCount: number,
): PostingFile {
  const { path } = file;
  const listOf = ([count, posting, ...positions]: readonly Column[], read: PositionLayout): PostingList => {
    const [{ items, start, end }] = listsOf(posting, path);
    return new PostingList({
      blocks: byteValues(items, start, end),
      count: integerWords(count, path)[0],
      documentCount,
      form,
      positions: read === null ? null : positionsOf(positions, read, path),
      path,
    });
  };
  return {
    path: file.path,
    cacheKey: file.cacheKey,
    tokenCount: file.rowCount,
    async lists(ids, withPositions, signal) {
      const read = withPositions ? layout : null;
      const columns = await Promise.all(columnsFor(read).map(({ name }) => file.take(name, ids, signal)));
      const pace = new Pace(STEP_LISTS);
      const lists: PostingList[] = [];
      for (let row = 0; row < ids.length; row++) {
        // Copies each row, since a cached view would keep all rows of the read.
        const children = columns.map((column) => takeColumn(column, Uint32Array.of(row)));
        lists.push(listOf(children, read));
        if (pace.isStep()) await yieldToEventLoop();
      }
      return lists;
    },
  };
}

function positionsOf(
  columns: readonly Column[],
  layout: NonNullable<PositionLayout>,
  path: string,
): BlockedPositions {
  if (layout === "packed") {
    const [bytes, offsets] = columns;
    const [{ items, start, end }] = listsOf(offsets, path);
    return packedPositions(byteValues(bytes)[0], integerWords(items, path).subarray(start, end), path);
  }
  const [{ items, start, end }] = listsOf(columns[0], path);
  const documents = start === end ? [] : listsOf(items, path).slice(start, end);
  const pieces = documents.map((document) => byteValues(document.items, document.start, document.end));
  return listedPositions(pieces, path);
}

function listsOf(column: Column, path: string): { items: Column; start: number; end: number }[] {
  if (column.kind !== "list")
    throw new InternalError(`${path}: a column of kind ${column.kind} cannot hold lists`);
  const { offsets, items, length } = column;
  return Array.from({ length }, (_, row) => ({
    items,
    start: Number(offsets[row]),
    end: Number(offsets[row + 1]),
  }));
}
