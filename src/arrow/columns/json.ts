/** Converts columns of JSON: text in Arrow, JSONB in a file. Nulls stay nulls; their slots become empty. */

import { concatBytes } from "../../bytes/concat.js";
import { decodeJsonb, encodeJsonb } from "../../bytes/jsonb.js";
import { CorruptFileError, InternalError, InvalidInputError } from "../../errors.js";
import type { Column, LeafColumn, VariableColumn } from "./column.js";
import { isValid } from "./validity.js";

/**
 * Converts JSONB of a file to text.
 * @param path of the file, for errors
 * @throws CorruptFileError for invalid JSONB
 */
export function jsonTextColumn(leaf: LeafColumn, path: string): Column {
  const column = requireVariable(leaf);
  const encoder = new TextEncoder();
  const fail = (reason: string) => new CorruptFileError(path, 0, `JSON column: ${reason}`);
  const { offsets, bytes } = mapValues(column, (value) => encoder.encode(decodeJsonb(value, fail)));
  if (bytes.length > 0x7fff_ffff) throw fail("more than 2 GiB of text in one batch");
  return { ...column, offsets: Int32Array.from(offsets, Number), bytes };
}

/**
 * Converts text to JSONB.
 * @param path of the column, for errors
 * @throws InvalidInputError for invalid JSON; it names column and row
 */
export function jsonbColumn(leaf: LeafColumn, path: string): Column {
  const column = requireVariable(leaf);
  return { ...column, ...mapValues(column, (text, row) => encodeJsonb(text, notJson(path, row))) };
}

/**
 * Checks JSONB that comes from outside.
 * @throws InvalidInputError for invalid JSONB; it names column and row
 */
export function checkedJsonbColumn(leaf: LeafColumn, path: string): Column {
  const column = requireVariable(leaf);
  mapValues(column, (bytes, row) => {
    decodeJsonb(bytes, notJson(path, row));
    return NOTHING;
  });
  return column;
}

const NOTHING = new Uint8Array(0);

const notJson = (path: string, row: number) => (reason: string) =>
  new InvalidInputError(`column ${path}: value ${row} of a batch is not valid JSON: ${reason}`);

function requireVariable(leaf: LeafColumn): VariableColumn {
  if (leaf.kind !== "variable") throw new InternalError(`a column of kind ${leaf.kind} cannot hold JSON`);
  return leaf;
}

function mapValues(
  { offsets, bytes, length, validity }: VariableColumn,
  map: (value: Uint8Array, index: number) => Uint8Array,
): { offsets: BigInt64Array; bytes: Uint8Array } {
  const mapped: Uint8Array[] = [];
  const ends = new BigInt64Array(length + 1);
  let byteLength = 0;
  for (let index = 0; index < length; index++) {
    if (isValid(validity, index)) {
      const value = map(bytes.subarray(Number(offsets[index]), Number(offsets[index + 1])), index);
      mapped.push(value);
      byteLength += value.length;
    }
    ends[index + 1] = BigInt(byteLength);
  }
  return { offsets: ends, bytes: concatBytes(mapped, byteLength) };
}
