/**
 * A file with one row set per value, of BITMAP and LABEL_LIST indexes. NGRAM uses other names (ngram.ts).
 *
 *     bitmap_page_lookup.lance  keys     the value type, nullable: distinct values, null for null rows
 *                               bitmaps  binary: row set of the value (rowIds.ts)
 *                               metadata: lance:index_stats, {"num_bitmaps": number of rows}
 *
 * This writer orders keys, null first; other writers may not. Keys are held in memory, row sets are read on
 * demand.
 */

import type { Column } from "../../arrow/columns/column.js";
import { columnBytes } from "../../arrow/columns/columnBytes.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { isValid } from "../../arrow/columns/validity.js";
import type { InputBatch } from "../../arrow/exchange/input.js";
import type { LogicalType } from "../../arrow/types/type.js";
import { runAsync, yieldToEventLoop } from "../../async/eventLoop.js";
import { concatWords } from "../../bytes/concatWords.js";
import type { BitmapOrigin } from "../../bytes/roaring.js";
import type { DataFileWriter } from "../../file/writing/writer.js";
import { BINARY_TYPE, binaryColumn, byteValues, type FileColumnType } from "../indexColumns.js";
import { OpenIndexFile, writeIndexFile } from "../indexFile.js";
import type { IndexFiles, IndexTarget, WrittenIndexFile } from "../kind.js";
import type { RowMoves } from "../moves.js";
import { type QueryValues, rangeWithin } from "../queryValues.js";
import { RowIds } from "../rowIds.js";
import { firstAfter, firstFrom, type OrderedValues, orderedValues, sortedOrder } from "../valueOrder.js";
import { mergeGroups, type ValueGroups } from "./valueGroups.js";

/** Layout of the file of a kind. */
export interface SetFileForm {
  readonly fileName: string;
  /** Name of the key column. */
  readonly keys: string;
  readonly sets: FileColumnType;
  encode(rows: RowIds): Uint8Array;
  /** @throws CorruptFileError */
  decode(bytes: Uint8Array, origin: BitmapOrigin): RowIds;
  /** Adds metadata and buffers after the last set. */
  finish?(file: DataFileWriter, setCount: number): Promise<void> | void;
}

export const BITMAP_FORM: SetFileForm = {
  fileName: "bitmap_page_lookup.lance",
  keys: "keys",
  sets: { name: "bitmaps", type: BINARY_TYPE, nullable: true },
  encode: (rows) => rows.encode(),
  decode: (bytes, origin) => RowIds.decode(bytes, origin),
  finish: (file, setCount) =>
    file.addMetadata("lance:index_stats", JSON.stringify({ num_bitmaps: setCount })),
};

/** Maximum number of keys, which are held in memory. */
const MAX_KEYS = 2 ** 26;
/** Approximate bytes of sets per read. */
const ROUND_BYTES = 4 * 1024 * 1024;
/** Encoded bytes between yields. */
const STEP_BYTES = 64 * 1024;
/** Maximum number of sets per read. */
const ROUND_SETS = 4096;

const columnsOf = ({ keys, sets }: SetFileForm, type: LogicalType): FileColumnType[] => [
  { name: keys, type, nullable: true },
  sets,
];

/** Unites groups of values, and writes the row sets. @param type of the values */
export async function writeSets(
  target: IndexTarget,
  form: SetFileForm,
  type: LogicalType,
  groups: readonly AsyncIterable<ValueGroups>[],
): Promise<WrittenIndexFile> {
  let count = 0;
  const batches = async function* (): AsyncGenerator<InputBatch> {
    for await (const { keys, rows } of mergeGroups(groups, type)) {
      const sets: Uint8Array[] = [];
      let bytes = 0;
      for (const set of rows) {
        const encoded = form.encode(set);
        sets.push(encoded);
        bytes += encoded.length;
        if (bytes < STEP_BYTES) continue;
        await yieldToEventLoop();
        bytes = 0;
      }
      count += rows.length;
      yield { columns: [keys, binaryColumn(sets)], rowCount: rows.length };
    }
  };
  const columns = columnsOf(form, type);
  return writeIndexFile(target, form.fileName, columns, batches(), (file) => form.finish?.(file, count));
}

/** Keys of a file without null, in order. */
interface Keys {
  readonly column: Column;
  readonly ordered: OrderedValues;
  /** File row of each key. */
  readonly rows: Uint32Array;
}

export class BitmapFile {
  private constructor(
    private readonly files: IndexFiles,
    private readonly form: SetFileForm,
    readonly file: OpenIndexFile,
    private readonly keys: Keys,
    /** File rows with a null key. */
    readonly nullRows: Uint32Array,
  ) {}

  get memoryWeight(): number {
    const { column, rows } = this.keys;
    return 1024 + columnBytes(column) + rows.byteLength + this.file.metadata.memoryWeight;
  }

  /** @param type of the values @throws CorruptFileError */
  static async open(files: IndexFiles, form: SetFileForm, type: LogicalType): Promise<BitmapFile> {
    const file: OpenIndexFile = await OpenIndexFile.open(files, form.fileName, columnsOf(form, type));
    if (file.rowCount > MAX_KEYS) file.fail(`the file has ${file.rowCount} values, more than ${MAX_KEYS}`);
    const column = await file.column(form.keys);
    const validRows: number[] = [];
    const nullRows: number[] = [];
    for (let row = 0; row < column.length; row++) {
      if (row % ROUND_SETS === 0) await yieldToEventLoop();
      (isValid(column.validity, row) ? validRows : nullRows).push(row);
    }
    const presentRows = Uint32Array.from(validRows);
    const present = nullRows.length === 0 ? column : takeColumn(column, presentRows);
    const order = await runAsync(sortedOrder(orderedValues(type, present)));
    const values = order === null ? present : takeColumn(present, order);
    const rows = order === null ? presentRows : order.map((index) => presentRows[index]);
    const keys = { column: values, ordered: orderedValues(type, values), rows };
    return new BitmapFile(files, form, file, keys, Uint32Array.from(nullRows));
  }

  /** Average bytes of a set in the file. */
  get setBytes(): number {
    return this.file.rowCount === 0 ? 0 : this.file.byteLength([this.form.sets.name]) / this.file.rowCount;
  }

  /** Returns the file rows with the keys of a query. */
  rowsOf(wanted: QueryValues): Uint32Array {
    if (wanted.kind === "points") return concatWords(this.rowsOfEach(wanted));
    const { ordered, rows } = this.keys;
    const { first, last } = rangeWithin(ordered, 0, ordered.length, wanted);
    return rows.slice(first, last);
  }

  /** Returns the file rows of each value of a query. */
  rowsOfEach({ values }: Extract<QueryValues, { kind: "points" }>): Uint32Array[] {
    const { ordered, rows } = this.keys;
    let end = 0;
    return Array.from({ length: values.length }, (_, point) => {
      const start = firstFrom(ordered, end, ordered.length, values, point);
      end = firstAfter(ordered, start, ordered.length, values, point);
      return rows.subarray(start, end);
    });
  }

  /** Returns the union of the sets in these file rows. */
  async union(rows: Uint32Array, signal?: AbortSignal): Promise<RowIds> {
    let united = RowIds.none;
    for await (const sets of this.#rounds(rows, signal)) united = united.union(RowIds.unionOf(sets));
    return united;
  }

  /** Reads all groups, for a merge. */
  async *groups(moves: RowMoves | null, signal?: AbortSignal): AsyncGenerator<ValueGroups> {
    const moved = (sets: readonly RowIds[]) => (moves === null ? sets : sets.map((set) => set.moved(moves)));
    const [nulls] = moved([await this.union(this.nullRows, signal)]);
    if (nulls.size > 0) {
      const keys = await this.file.take(this.form.keys, this.nullRows.subarray(0, 1));
      yield { keys, rows: [nulls] };
    }
    let slot = 0;
    for await (const sets of this.#rounds(this.keys.rows, signal)) {
      const rows = moved(sets);
      const left = Uint32Array.from([...rows.keys()].filter((index) => rows[index].size > 0));
      const keyRows = left.map((index) => slot + index);
      const keys = takeColumn(this.keys.column, keyRows);
      slot += sets.length;
      if (left.length > 0) yield { keys, rows: Array.from(left, (index) => rows[index]) };
      await yieldToEventLoop();
    }
  }

  async *#rounds(rows: Uint32Array, signal?: AbortSignal): AsyncGenerator<RowIds[]> {
    const fitting = Math.floor(ROUND_BYTES / Math.max(this.setBytes, 1));
    const step = Math.max(1, Math.min(ROUND_SETS, fitting));
    for (let start = 0; start < rows.length; start += step) {
      signal?.throwIfAborted();
      yield await this.#sets(rows.subarray(start, start + step), signal);
      await yieldToEventLoop();
    }
  }

  /** Reads the sets in these file rows through the cache. */
  async #sets(rows: Uint32Array, signal?: AbortSignal): Promise<RowIds[]> {
    const { parts } = this.files;
    const prefix = `${this.file.cacheKey}set|`;
    const sets = Array.from(rows, (row) => parts.peek(prefix + row) as RowIds | undefined);
    const missing = [...sets.keys()].filter((index) => sets[index] === undefined);
    if (missing.length === 0) return sets as RowIds[];
    const order = missing.sort((a, b) => rows[a] - rows[b]);
    const wanted = Uint32Array.from(order, (index) => rows[index]);
    const column = await this.file.take(this.form.sets.name, wanted, signal);
    if (column.kind !== "variable" || column.validity !== null) this.file.fail("a value has no set of rows");
    for (const [position, encoded] of byteValues(column).entries()) {
      const set = this.form.decode(encoded, { path: this.file.path, byteOffset: 0 });
      sets[order[position]] = set;
      parts.set(prefix + wanted[position], set, set.memoryWeight);
    }
    return sets as RowIds[];
  }
}
