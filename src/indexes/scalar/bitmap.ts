/** BITMAP: one row set per value, in one file (bitmapFile.ts). */

import type { LogicalType } from "../../arrow/types/type.js";
import type { TableField } from "../../schema/schema.js";
import type {
  IndexAnswer,
  IndexFiles,
  IndexQuery,
  IndexSearchOptions,
  IndexTarget,
  KindFiles,
  OldSegment,
  OpenIndex,
  RowStream,
  SearchEstimate,
  WrittenFiles,
} from "../kind.js";
import { isOrderQuery, queryValues } from "../queryValues.js";
import { RowIds } from "../rowIds.js";
import { counted } from "../sortedRows.js";
import { BITMAP_FORM, BitmapFile, writeSets } from "./bitmapFile.js";
import { groupByValue } from "./groupByValue.js";

const build = (rows: RowStream, target: IndexTarget): Promise<WrittenFiles> => merge([], rows, target);

async function merge(
  old: readonly OldSegment[],
  rows: RowStream,
  target: IndexTarget,
): Promise<WrittenFiles> {
  const { type } = target.field;
  const before = old.map(({ index, moves }) => (index as BitmapSearch).file.groups(moves, target.signal));
  const added = groupByValue(counted(rows, target), type, target.sort);
  return [await writeSets(target, BITMAP_FORM, type, [...before, added])];
}

const open = async (files: IndexFiles, { type }: TableField): Promise<OpenIndex> =>
  new BitmapSearch(type, await BitmapFile.open(files, BITMAP_FORM, type));

class BitmapSearch implements OpenIndex {
  readonly kind = "BITMAP";

  constructor(
    private readonly type: LogicalType,
    readonly file: BitmapFile,
  ) {}

  get memoryWeight(): number {
    return this.file.memoryWeight;
  }

  answers(query: IndexQuery): boolean {
    return isOrderQuery(this.type, query);
  }

  estimate(query: IndexQuery): SearchEstimate {
    const bytes = this.#rowsOf(query).length * this.file.setBytes;
    // A set of few rows takes two bytes a row; larger sets take less.
    return { rows: Math.ceil(bytes / 2), bytes: Math.ceil(bytes) };
  }

  async search(query: IndexQuery, { withNulls, signal }: IndexSearchOptions = {}): Promise<IndexAnswer> {
    const rows = await this.file.union(this.#rowsOf(query), signal);
    if (query.kind === "isNull") return { rows, nulls: RowIds.none, isExact: true };
    const nulls = withNulls ? await this.file.union(this.file.nullRows, signal) : null;
    return { rows, nulls, isExact: true };
  }

  #rowsOf(query: IndexQuery): Uint32Array {
    return query.kind === "isNull" ? this.file.nullRows : this.file.rowsOf(queryValues(this.type, query));
  }
}

export const BITMAP_FILES: KindFiles = { build, merge, open };
