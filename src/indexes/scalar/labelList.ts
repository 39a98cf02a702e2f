/**
 * LABEL_LIST: one set of lists per item, in a file like that of BITMAP (bitmapFile.ts) with the item type. A
 * null item is an item. The metadata `lance:label_list_nulls` is the number of a global buffer: the set of
 * null lists, which occur in no other set. Indexes of version 0 lack it.
 */

import type { Column, ListColumn } from "../../arrow/columns/column.js";
import { areNarrow, wordsOf } from "../../arrow/columns/offsets.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { isValid } from "../../arrow/columns/validity.js";
import type { LogicalType } from "../../arrow/types/type.js";
import { InternalError } from "../../errors.js";
import type { TableField } from "../../schema/schema.js";
import { integerWords, uint64Column } from "../indexColumns.js";
import type {
  IndexAnswer,
  IndexFiles,
  IndexQuery,
  IndexRows,
  IndexSearchOptions,
  IndexTarget,
  KindFiles,
  OldSegment,
  OpenIndex,
  RowStream,
  SearchEstimate,
  WrittenFiles,
} from "../kind.js";
import { queryValues } from "../queryValues.js";
import { RowIds, RowIdsBuilder } from "../rowIds.js";
import { counted } from "../sortedRows.js";
import { BITMAP_FORM, BitmapFile, type SetFileForm, writeSets } from "./bitmapFile.js";
import { groupByValue } from "./groupByValue.js";

const NULLS_KEY = "lance:label_list_nulls";

const build = (rows: RowStream, target: IndexTarget): Promise<WrittenFiles> => merge([], rows, target);

async function merge(
  old: readonly OldSegment[],
  rows: RowStream,
  target: IndexTarget,
): Promise<WrittenFiles> {
  const type = itemType(target.field);
  const before = old as readonly OldSegment<LabelListSearch>[];
  const nulls = new RowIdsBuilder();
  const form: SetFileForm = {
    ...BITMAP_FORM,
    async finish(file, setCount) {
      await BITMAP_FORM.finish?.(file, setCount);
      const oldNulls = before.map(({ index: { nullLists: lists }, moves }) =>
        moves === null ? lists : lists?.moved(moves),
      );
      const allNulls = RowIds.unionOf([nulls.finish(), ...oldNulls.map((lists) => lists ?? RowIds.none)]);
      file.addMetadata(NULLS_KEY, String(await file.addGlobalBuffer(allNulls.encode())));
    },
  };
  const groups = before.map(({ index, moves }) => index.file.groups(moves, target.signal));
  const added = groupByValue(itemRows(counted(rows, target), nulls), type, target.sort);
  return [await writeSets(target, form, type, [...groups, added])];
}

async function open(files: IndexFiles, field: TableField): Promise<OpenIndex> {
  const type = itemType(field);
  const file = await BitmapFile.open(files, BITMAP_FORM, type);
  const number = file.file.text(NULLS_KEY);
  if (number === null) return new LabelListSearch(type, file, null);
  if (!/^\d{1,9}$/.test(number) || number === "0") file.file.fail(`${NULLS_KEY} is ${number}`);
  const { bytes, byteOffset } = await file.file.globalBuffer(Number(number));
  return new LabelListSearch(type, file, RowIds.decode(bytes, { path: file.file.path, byteOffset }));
}

const itemType = ({ children }: TableField): LogicalType => children[0].type;

/** Yields a row per item, and adds the ids of null lists to `nulls`. */
async function* itemRows(rows: RowStream, nulls: RowIdsBuilder): RowStream {
  for await (const { values, ids, rowCount } of rows) {
    const words = integerWords(ids, "rows of an index");
    if (values.kind === "null") {
      nulls.add(words, 0, rowCount);
      continue;
    }
    if (values.kind !== "list") throw new InternalError(`a column of kind ${values.kind} cannot hold lists`);
    for (let row = 0; values.validity !== null && row < rowCount; row++) {
      if (!isValid(values.validity, row)) nulls.add(words, row, row + 1);
    }
    const exploded = explode(values, words);
    if (exploded.rowCount > 0) yield exploded;
  }
}

function explode({ offsets, items, validity, length }: ListColumn, words: Uint32Array): IndexRows {
  // A column has fewer than 2³² items, so the low words of wide offsets suffice.
  const isWide = !areNarrow(offsets);
  const starts = isWide ? wordsOf(offsets) : offsets;
  const step = isWide ? 2 : 1;
  let count = 0;
  for (let row = 0; row < length; row++) {
    if (isValid(validity, row)) count += starts[(row + 1) * step] - starts[row * step];
  }
  const itemIds = new Uint32Array(2 * count);
  // Without null lists, the items of the batch are contiguous.
  const positions = validity === null ? null : new Uint32Array(count);
  for (let row = 0, index = 0; row < length; row++) {
    if (!isValid(validity, row)) continue;
    for (let item = starts[row * step]; item < starts[(row + 1) * step]; item++, index++) {
      if (positions !== null) positions[index] = item;
      itemIds[2 * index] = words[2 * row];
      itemIds[2 * index + 1] = words[2 * row + 1];
    }
  }
  const values =
    positions === null ? sliceColumn<Column>(items, starts[0], count) : takeColumn<Column>(items, positions);
  return { values, ids: uint64Column(itemIds), rowCount: count };
}

class LabelListSearch implements OpenIndex {
  readonly kind = "LABEL_LIST";

  constructor(
    private readonly type: LogicalType,
    readonly file: BitmapFile,
    /** Null if unknown. */
    readonly nullLists: RowIds | null,
  ) {}

  get memoryWeight(): number {
    return this.file.memoryWeight + (this.nullLists?.memoryWeight ?? 0);
  }

  answers(query: IndexQuery): boolean {
    switch (query.kind) {
      case "hasAny":
      case "hasAll":
        return true;
      case "isNull":
        return this.nullLists !== null;
      default:
        return false;
    }
  }

  estimate(query: IndexQuery): SearchEstimate {
    if (query.kind === "isNull") return { rows: this.nullLists?.size ?? 0, bytes: 0 };
    const bytes = this.file.rowsOf(queryValues(this.type, query)).length * this.file.setBytes;
    return { rows: Math.ceil(bytes / 2), bytes: Math.ceil(bytes) };
  }

  async search(query: IndexQuery, { signal }: IndexSearchOptions = {}): Promise<IndexAnswer> {
    if (query.kind === "isNull") {
      return { rows: this.nullLists ?? RowIds.none, nulls: RowIds.none, isExact: true };
    }
    const wanted = queryValues(this.type, query);
    if (query.kind === "hasAny" || wanted.kind !== "points") {
      return {
        rows: await this.file.union(this.file.rowsOf(wanted), signal),
        nulls: this.nullLists,
        isExact: true,
      };
    }
    let rows: RowIds | null = null;
    for (const ofItem of this.file.rowsOfEach(wanted)) {
      const holding = await this.file.union(ofItem, signal);
      rows = rows === null ? holding : rows.intersect(holding);
      if (rows.size === 0) break;
    }
    return { rows: rows ?? RowIds.none, nulls: this.nullLists, isExact: true };
  }
}

export const LABEL_LIST_FILES: KindFiles = { build, merge, open };
