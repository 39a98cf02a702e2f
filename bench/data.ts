/**
 * Seeded benchmark data, as plain typed arrays that either side wraps into tables of its own apache-arrow
 * release without copying.
 */

import type * as Arrow from "apache-arrow";

/** The apache-arrow release a side uses. */
export type ArrowModule = typeof Arrow;

export type BenchColumn =
  | { readonly kind: "int32"; readonly name: string; readonly values: Int32Array }
  | { readonly kind: "int64"; readonly name: string; readonly values: BigInt64Array }
  | { readonly kind: "float64"; readonly name: string; readonly values: Float64Array }
  | {
      readonly kind: "utf8";
      readonly name: string;
      readonly offsets: Int32Array;
      readonly bytes: Uint8Array;
    }
  | {
      readonly kind: "vector";
      readonly name: string;
      readonly dimension: number;
      readonly values: Float32Array;
    }
  | {
      readonly kind: "list";
      readonly name: string;
      readonly offsets: Int32Array;
      readonly items: BenchColumn;
    };

export interface BenchRows {
  readonly rowCount: number;
  readonly columns: readonly BenchColumn[];
}

export const COLUMN_NAMES = ["id", "score", "label", "embedding"] as const;
/** Columns that are not in the tables of four. */
const FURTHER_NAMES = ["category", "tags", "grid", "count", "document"] as const;
export type ColumnName = (typeof COLUMN_NAMES)[number] | (typeof FURTHER_NAMES)[number];

export const DIMENSION = 128;

const SYLLABLES = [
  "ka",
  "lo",
  "mir",
  "ten",
  "sha",
  "vel",
  "or",
  "qui",
  "dan",
  "pe",
  "stra",
  "um",
  "in",
  "gol",
];

/** Deterministic 32-bit numbers (xorshift32). */
function randomNumbers(seed: number): () => number {
  let state = seed * 2_654_435_761 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/**
 * Makes rows with these columns:
 *
 * - `id`: 40-bit integers in no order
 * - `score`: floats of [0, 1)
 * - `label`: some 30 bytes of text
 * - `embedding`: vectors of 128 floats
 * - `category`: one of 40 words
 * - `tags`: lists of up to seven such words, some of them empty
 * - `grid`: lists of up to three lists of up to seven small integers
 * - `count`: integers below 1,000
 * - `document`: texts of some 48 KiB, too long for FSST
 */
export function makeRows(
  rowCount: number,
  seed: number,
  names: readonly ColumnName[] = COLUMN_NAMES,
): BenchRows {
  return { rowCount, columns: names.map((name) => makeColumn(name, rowCount, randomNumbers(seed + 1))) };
}

function makeColumn(name: ColumnName, rowCount: number, next: () => number): BenchColumn {
  switch (name) {
    case "id": {
      const values = new BigInt64Array(rowCount);
      const words = new Uint32Array(values.buffer);
      for (let row = 0; row < rowCount; row++) {
        words[row * 2] = next();
        words[row * 2 + 1] = next() & 0xff;
      }
      return { kind: "int64", name, values };
    }
    case "score": {
      const values = new Float64Array(rowCount);
      for (let row = 0; row < rowCount; row++) values[row] = (next() >>> 5) / 2 ** 27 + next() / 2 ** 59;
      return { kind: "float64", name, values };
    }
    case "label": {
      const encoder = new TextEncoder();
      const offsets = new Int32Array(rowCount + 1);
      const bytes = new Uint8Array(rowCount * 64);
      let end = 0;
      for (let row = 0; row < rowCount; row++) {
        const length = 22 + (next() & 15);
        let text = "";
        while (text.length < length) {
          text += SYLLABLES[next() % SYLLABLES.length];
          if ((next() & 3) === 0) text += " ";
        }
        end += encoder.encodeInto(text, bytes.subarray(end)).written;
        offsets[row + 1] = end;
      }
      return { kind: "utf8", name, offsets, bytes: bytes.slice(0, end) };
    }
    case "tags": {
      const offsets = randomOffsets(rowCount, 8, next);
      return { kind: "list", name, offsets, items: makeColumn("category", offsets[rowCount], next) };
    }
    case "grid": {
      const offsets = randomOffsets(rowCount, 4, next);
      const innerOffsets = randomOffsets(offsets[rowCount], 8, next);
      const values = new Int32Array(innerOffsets[innerOffsets.length - 1]);
      for (let i = 0; i < values.length; i++) values[i] = next() & 0xffff;
      const inner: BenchColumn = {
        kind: "list",
        name,
        offsets: innerOffsets,
        items: { kind: "int32", name, values },
      };
      return { kind: "list", name, offsets, items: inner };
    }
    case "count":
      return { kind: "int32", name, values: Int32Array.from({ length: rowCount }, () => next() % 1000) };
    case "document": {
      const length = 48 * 1024;
      const text = makeColumn("label", Math.ceil((rowCount * length) / 20), next);
      if (text.kind !== "utf8") throw new Error("labels are texts");
      const offsets = Int32Array.from({ length: rowCount + 1 }, (_, row) => row * length);
      return { kind: "utf8", name, offsets, bytes: text.bytes.subarray(0, rowCount * length) };
    }
    case "category": {
      const encoder = new TextEncoder();
      const words = Array.from({ length: 40 }, (_, word) =>
        encoder.encode(SYLLABLES[word % 14] + SYLLABLES[(word * 5) % 13] + SYLLABLES[(word * 3) % 11]),
      );
      const offsets = new Int32Array(rowCount + 1);
      const bytes = new Uint8Array(rowCount * 12);
      let end = 0;
      for (let row = 0; row < rowCount; row++) {
        const word = words[next() % words.length];
        bytes.set(word, end);
        end += word.length;
        offsets[row + 1] = end;
      }
      return { kind: "utf8", name, offsets, bytes: bytes.slice(0, end) };
    }
    case "embedding": {
      const values = new Float32Array(rowCount * DIMENSION);
      for (let i = 0; i < values.length; i++) values[i] = next() / 2 ** 31 - 1;
      return { kind: "vector", name, dimension: DIMENSION, values };
    }
  }
}

/** Offsets of lists of fewer than `limit` items, a power of two. */
function randomOffsets(listCount: number, limit: number, next: () => number): Int32Array {
  const offsets = new Int32Array(listCount + 1);
  for (let list = 0; list < listCount; list++) offsets[list + 1] = offsets[list] + (next() & (limit - 1));
  return offsets;
}

/** Bytes of values and offsets. */
export function byteLength(rows: BenchRows): number {
  return rows.columns.reduce((sum, column) => sum + columnBytes(column), 0);
}

function columnBytes(column: BenchColumn): number {
  if (column.kind === "list") return column.offsets.byteLength + columnBytes(column.items);
  if (column.kind === "utf8") return column.offsets.byteLength + column.bytes.byteLength;
  return column.values.byteLength;
}

/** The rows as a table of one batch of the given apache-arrow release; the arrays are shared, not copied. */
export function toTable(arrow: ArrowModule, rows: BenchRows): Arrow.Table {
  const children = rows.columns.map((column) => toData(arrow, column, rows.rowCount));
  const fields = rows.columns.map(
    (column, i) => new arrow.Field(column.name, children[i].type as Arrow.DataType, false),
  );
  const schema = new arrow.Schema(fields);
  const struct = arrow.makeData({
    type: new arrow.Struct(fields),
    length: rows.rowCount,
    nullCount: 0,
    children,
  });
  return new arrow.Table([new arrow.RecordBatch(schema, struct)]);
}

function toData(arrow: ArrowModule, column: BenchColumn, length: number): Arrow.Data {
  const base = { length, nullCount: 0 };
  switch (column.kind) {
    case "int32":
      return arrow.makeData({ ...base, type: new arrow.Int32(), data: column.values });
    case "int64":
      return arrow.makeData({ ...base, type: new arrow.Int64(), data: column.values });
    case "float64":
      return arrow.makeData({ ...base, type: new arrow.Float64(), data: column.values });
    case "utf8":
      return arrow.makeData({
        ...base,
        type: new arrow.Utf8(),
        valueOffsets: column.offsets,
        data: column.bytes,
      });
    case "vector": {
      const item = new arrow.Float32();
      const child = arrow.makeData({
        type: item,
        length: column.values.length,
        nullCount: 0,
        data: column.values,
      });
      const type = new arrow.FixedSizeList(column.dimension, new arrow.Field("item", item, true));
      return arrow.makeData({ ...base, type, child });
    }
    case "list": {
      const child = toData(arrow, column.items, column.offsets[length]);
      const type = new arrow.List(new arrow.Field("item", child.type, true));
      return arrow.makeData({ ...base, type, valueOffsets: column.offsets, child });
    }
  }
}
