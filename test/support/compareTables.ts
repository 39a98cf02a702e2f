/**
 * Deep equality of two Arrow tables: schema, row count and every value, bit for bit. Batches, slots of nulls
 * and the order of dictionaries do not count: columns are compared in a canonical form without them.
 */

import * as arrow from "apache-arrow";

export interface CompareOptions {
  /** Also compare metadata of fields and schema. Default true. */
  metadata?: boolean;
  /** Also compare nullability of fields. Default true. */
  nullability?: boolean;
}

/** One column in canonical form. `valid` is one byte per value, or null if all are valid. */
interface Canonical {
  readonly length: number;
  readonly valid: Uint8Array | null;
  /** Fixed-width values; the bytes of a variable-width column's valid values; empty for nested types. */
  readonly bytes: Uint8Array;
  /** Bytes (or items) of each value for variable-width and list types, 0 for nulls. */
  readonly lengths: Float64Array | null;
  readonly children: readonly Canonical[];
}

const NO_BYTES = new Uint8Array(0);

/** Throws an error that names the first difference. IPC bytes are read first. */
export function compareTables(
  expected: arrow.Table | Uint8Array,
  actual: arrow.Table | Uint8Array,
  options: CompareOptions = {},
): void {
  const left = expected instanceof Uint8Array ? arrow.tableFromIPC(expected) : expected;
  const right = actual instanceof Uint8Array ? arrow.tableFromIPC(actual) : actual;
  compareSchemas(left.schema, right.schema, options);
  if (left.numRows !== right.numRows) {
    throw new Error(`row count: expected ${left.numRows}, got ${right.numRows}`);
  }
  for (const [index, field] of left.schema.fields.entries()) {
    const leftVector = left.getChildAt(index) as arrow.Vector;
    const rightVector = right.getChildAt(index) as arrow.Vector;
    const row = firstDifference(
      canonicalize(field.type, leftVector.data, null),
      canonicalize(field.type, rightVector.data, null),
    );
    if (row !== null) {
      throw new Error(
        `column ${JSON.stringify(field.name)} (${field.type}) row ${row}: ` +
          `expected ${showValue(leftVector, row)}, got ${showValue(rightVector, row)}`,
      );
    }
  }
}

export function compareSchemas(
  expected: arrow.Schema,
  actual: arrow.Schema,
  options: CompareOptions = {},
): void {
  const left = describeSchema(expected, options);
  const right = describeSchema(actual, options);
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    if (left[i] !== right[i]) {
      throw new Error(`schema: expected ${left[i] ?? "no more fields"}, got ${right[i] ?? "no more fields"}`);
    }
  }
}

function describeSchema(schema: arrow.Schema, options: CompareOptions): string[] {
  const lines = schema.fields.map((field) => describeField(field, options));
  return options.metadata === false ? lines : [...lines, `metadata ${describeMetadata(schema.metadata)}`];
}

function describeField(field: arrow.Field, options: CompareOptions): string {
  const { type } = field;
  const name = JSON.stringify(field.name);
  const decimal = arrow.DataType.isDecimal(type) ? `:${type.bitWidth}` : "";
  const nullable = options.nullability !== false && field.nullable ? "?" : "";
  const metadata = options.metadata === false ? "" : describeMetadata(field.metadata);
  const children = ((type.children ?? []) as arrow.Field[]).map((child) => describeField(child, options));
  return `${name}: ${type}${decimal}${nullable}${metadata}${children.length === 0 ? "" : `<${children.join(", ")}>`}`;
}

function describeMetadata(metadata: ReadonlyMap<string, string>): string {
  return metadata.size === 0 ? "{}" : JSON.stringify([...metadata].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns a placeholder for values that apache-arrow cannot show, such as dates beyond JavaScript's. */
function showValue(vector: arrow.Vector, row: number): string {
  try {
    return show(vector.get(row));
  } catch (error) {
    return `a value that cannot be shown (${(error as Error).message})`;
  }
}

function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  if (Object.is(value, -0)) return "-0";
  const text = String(value);
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

/** Slots that are invalid in `outer` count as invalid here too. */
function canonicalize(
  type: arrow.DataType,
  chunks: readonly arrow.Data[],
  outer: Uint8Array | null,
): Canonical {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (arrow.DataType.isNull(type)) {
    return { length, valid: new Uint8Array(length), bytes: NO_BYTES, lengths: null, children: [] };
  }
  const valid = validBytes(chunks, length, outer);
  if (arrow.DataType.isDictionary(type)) return canonicalizeDictionary(type, chunks, length, valid);
  if (arrow.DataType.isBool(type)) {
    return { length, valid, bytes: boolBytes(chunks, length, valid), lengths: null, children: [] };
  }
  if (
    arrow.DataType.isUtf8(type) ||
    arrow.DataType.isBinary(type) ||
    arrow.DataType.isLargeUtf8(type) ||
    arrow.DataType.isLargeBinary(type)
  ) {
    return canonicalizeVariable(chunks, length, valid);
  }
  if (arrow.DataType.isFixedSizeList(type)) {
    const items = chunks.map((chunk) => exactly(chunk.children[0], chunk.length * type.listSize));
    const itemOuter = valid === null ? null : repeatEach(valid, type.listSize);
    return {
      length,
      valid,
      bytes: NO_BYTES,
      lengths: null,
      children: [canonicalize(type.children[0].type, items, itemOuter)],
    };
  }
  if (arrow.DataType.isStruct(type)) {
    // A struct without values may lack its children.
    const filled = chunks.filter((chunk) => chunk.length > 0);
    const children = type.children.map((field, i) =>
      canonicalize(
        field.type,
        filled.map((chunk) => exactly(chunk.children[i], chunk.length)),
        valid,
      ),
    );
    return { length, valid, bytes: NO_BYTES, lengths: null, children };
  }
  if (arrow.DataType.isList(type) || arrow.DataType.isMap(type) || type.typeId === arrow.Type.LargeList) {
    return canonicalizeList(type.children[0].type, chunks, length, valid);
  }
  return { length, valid, bytes: fixedBytes(type, chunks, length, valid), lengths: null, children: [] };
}

function exactly(data: arrow.Data, length: number): arrow.Data {
  return data.length === length ? data : data.slice(0, length);
}

function validBytes(
  chunks: readonly arrow.Data[],
  length: number,
  outer: Uint8Array | null,
): Uint8Array | null {
  if (outer === null && chunks.every((chunk) => chunk.nullCount === 0)) return null;
  const valid = outer === null ? new Uint8Array(length).fill(1) : outer.slice();
  let start = 0;
  for (const chunk of chunks) {
    if (chunk.nullCount > 0) {
      const bitmap = chunk.nullBitmap;
      for (let i = 0, bit = chunk.offset; i < chunk.length; i++, bit++) {
        valid[start + i] &= (bitmap[bit >> 3] >> (bit & 7)) & 1;
      }
    }
    start += chunk.length;
  }
  return valid.includes(0) ? valid : null;
}

function boolBytes(chunks: readonly arrow.Data[], length: number, valid: Uint8Array | null): Uint8Array {
  const bytes = new Uint8Array(length);
  let start = 0;
  for (const chunk of chunks) {
    const bits = chunk.values as Uint8Array;
    for (let i = 0, bit = chunk.offset; i < chunk.length; i++, bit++) {
      bytes[start + i] = (bits[bit >> 3] >> (bit & 7)) & 1;
    }
    start += chunk.length;
  }
  if (valid !== null) for (let i = 0; i < length; i++) bytes[i] &= valid[i];
  return bytes;
}

function fixedBytes(
  type: arrow.DataType,
  chunks: readonly arrow.Data[],
  length: number,
  valid: Uint8Array | null,
): Uint8Array {
  const width = byteWidth(type, chunks);
  const views = chunks
    .filter((chunk) => chunk.length > 0)
    .map((chunk) => {
      const values = chunk.values as Uint8Array;
      return new Uint8Array(values.buffer, values.byteOffset, chunk.length * width);
    });
  if (views.length === 1 && valid === null) return views[0];
  const bytes = concatenate(views, length * width);
  if (valid !== null) {
    for (let i = 0; i < length; i++) if (valid[i] === 0) bytes.fill(0, i * width, (i + 1) * width);
  }
  return bytes;
}

function byteWidth(type: arrow.DataType, chunks: readonly arrow.Data[]): number {
  if (type.typeId === arrow.Type.FixedSizeBinary) return (type as arrow.FixedSizeBinary).byteWidth;
  const data = chunks.find((chunk) => chunk.length > 0);
  return data === undefined ? 0 : data.stride * (data.values as Uint8Array).BYTES_PER_ELEMENT;
}

function concatenate(views: readonly Uint8Array[], byteLength: number): Uint8Array {
  const bytes = new Uint8Array(byteLength);
  let position = 0;
  for (const view of views) {
    bytes.set(view, position);
    position += view.length;
  }
  return bytes;
}

function repeatEach(bytes: Uint8Array, times: number): Uint8Array {
  const result = new Uint8Array(bytes.length * times);
  for (let i = 0; i < bytes.length; i++) result.fill(bytes[i], i * times, (i + 1) * times);
  return result;
}

function numericOffsets(chunk: arrow.Data): Float64Array {
  const offsets = chunk.valueOffsets as Int32Array | BigInt64Array;
  const result = new Float64Array(chunk.length + 1);
  if (chunk.length === 0) return result;
  if (offsets instanceof BigInt64Array)
    for (let i = 0; i <= chunk.length; i++) result[i] = Number(offsets[i]);
  else result.set(offsets.subarray(0, chunk.length + 1));
  return result;
}

/** Ranges of valid values; adjacent ones are joined. */
function validRanges(
  offsets: Float64Array,
  valid: Uint8Array | null,
  start: number,
  lengths: Float64Array,
): [number, number][] {
  const count = offsets.length - 1;
  const ranges: [number, number][] = [];
  for (let i = 0; i < count; i++) {
    if (valid !== null && valid[start + i] === 0) continue;
    lengths[start + i] = offsets[i + 1] - offsets[i];
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === offsets[i]) last[1] = offsets[i + 1];
    else ranges.push([offsets[i], offsets[i + 1]]);
  }
  return ranges;
}

function canonicalizeVariable(
  chunks: readonly arrow.Data[],
  length: number,
  valid: Uint8Array | null,
): Canonical {
  const lengths = new Float64Array(length);
  const pieces: Uint8Array[] = [];
  let start = 0;
  let byteLength = 0;
  for (const chunk of chunks) {
    const values = chunk.values as Uint8Array;
    for (const [from, to] of validRanges(numericOffsets(chunk), valid, start, lengths)) {
      pieces.push(values.subarray(from, to));
      byteLength += to - from;
    }
    start += chunk.length;
  }
  const bytes = pieces.length === 1 ? pieces[0] : concatenate(pieces, byteLength);
  return { length, valid, bytes, lengths, children: [] };
}

function canonicalizeList(
  itemType: arrow.DataType,
  chunks: readonly arrow.Data[],
  length: number,
  valid: Uint8Array | null,
): Canonical {
  const lengths = new Float64Array(length);
  const items: arrow.Data[] = [];
  let start = 0;
  for (const chunk of chunks) {
    for (const [from, to] of validRanges(numericOffsets(chunk), valid, start, lengths)) {
      if (to > from) items.push(chunk.children[0].slice(from, to - from));
    }
    start += chunk.length;
  }
  return { length, valid, bytes: NO_BYTES, lengths, children: [canonicalize(itemType, items, null)] };
}

/** Resolves the indices to a variable-width column of values as bytes. */
function canonicalizeDictionary(
  type: arrow.Dictionary,
  chunks: readonly arrow.Data[],
  length: number,
  outerValid: Uint8Array | null,
): Canonical {
  const lengths = new Float64Array(length);
  const pieces: Uint8Array[] = [];
  let valid = outerValid;
  let byteLength = 0;
  let start = 0;
  for (const chunk of chunks) {
    const dictionary = canonicalize(type.dictionary, (chunk.dictionary as arrow.Vector).data, null);
    const ends = valueEnds(dictionary);
    const indices = chunk.values as Int32Array | BigInt64Array;
    for (let i = 0; i < chunk.length; i++) {
      if (valid !== null && valid[start + i] === 0) continue;
      const index = Number(indices[i]);
      if (dictionary.valid !== null && dictionary.valid[index] === 0) {
        valid ??= new Uint8Array(length).fill(1);
        valid[start + i] = 0;
        continue;
      }
      const from = index === 0 ? 0 : ends[index - 1];
      lengths[start + i] = ends[index] - from;
      byteLength += ends[index] - from;
      pieces.push(dictionary.bytes.subarray(from, ends[index]));
    }
    start += chunk.length;
  }
  return { length, valid, bytes: concatenate(pieces, byteLength), lengths, children: [] };
}

function valueEnds(column: Canonical): Float64Array {
  const ends = new Float64Array(column.length);
  const width = column.lengths === null && column.length > 0 ? column.bytes.length / column.length : 0;
  let end = 0;
  for (let i = 0; i < column.length; i++) {
    end += column.lengths === null ? width : column.lengths[i];
    ends[i] = end;
  }
  return ends;
}

/** Index of the first different value, or null. */
function firstDifference(left: Canonical, right: Canonical): number | null {
  const { length } = left;
  const differing: (number | null)[] = [];
  if (!sameBytes(left.valid ?? NO_BYTES, right.valid ?? NO_BYTES)) {
    differing.push(firstWhere(length, (i) => (left.valid?.[i] ?? 1) !== (right.valid?.[i] ?? 1)));
  }
  if (left.lengths !== null && right.lengths !== null) {
    const [leftLengths, rightLengths] = [left.lengths, right.lengths];
    differing.push(firstWhere(length, (i) => leftLengths[i] !== rightLengths[i]));
  }
  if (!sameBytes(left.bytes, right.bytes)) differing.push(firstDifferingValue(left, right));
  for (const [index, child] of left.children.entries()) {
    const item = firstDifference(child, right.children[index]);
    if (item !== null) differing.push(owner(left, child, item));
  }
  const rows = differing.filter((row) => row !== null);
  return rows.length === 0 ? null : Math.min(...rows);
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.from(left.buffer, left.byteOffset, left.length).equals(right);
}

function firstWhere(length: number, differs: (index: number) => boolean): number | null {
  for (let i = 0; i < length; i++) if (differs(i)) return i;
  return null;
}

function firstDifferingValue(left: Canonical, right: Canonical): number | null {
  const leftEnds = valueEnds(left);
  const rightEnds = valueEnds(right);
  return firstWhere(left.length, (i) => {
    const leftValue = left.bytes.subarray(i === 0 ? 0 : leftEnds[i - 1], leftEnds[i]);
    const rightValue = right.bytes.subarray(i === 0 ? 0 : rightEnds[i - 1], rightEnds[i]);
    return !sameBytes(leftValue, rightValue);
  });
}

/** Index of the value of `parent` that contains item `index` of its child. */
function owner(parent: Canonical, child: Canonical, index: number): number {
  if (parent.lengths === null) return Math.floor((index * parent.length) / child.length);
  return valueEnds({ ...parent, bytes: NO_BYTES }).findIndex((end) => index < end);
}
