/** Errors that name a wrong value, its row and its column. */

import type { DataType } from "apache-arrow";
import { TableSchemaValidationError } from "../../errors.js";

/** Origin of some values, for errors. */
export interface ValuePlace {
  /** Description of the function that made the values; absent for a column of the caller's rows. */
  readonly maker?: string | undefined;
  /** Path of the column or of the function's result, with the names of members. */
  readonly path: string;
  /** End of a message, after a semicolon: names the wanted types. */
  readonly hint?: string | undefined;
  /** True for values that JSON.parse made: an infinite number among them was beyond float64 in the text. */
  readonly isFromJson?: boolean | undefined;
  /** Returns the row, counted from 0, of the value at an index; null for a value of no row, as in updates. */
  rowOf(index: number): number | null;
  /** Returns the line of a text file that a row begins in; absent for other rows. */
  readonly lineOf?: ((row: number) => number) | undefined;
}

/** Values that become a column of one type. */
export interface TypedValues {
  readonly values: readonly unknown[];
  readonly type: DataType;
  readonly origin: ValuePlace;
}

/** @throws TableSchemaValidationError for a value that the type does not accept */
export function refuseValue({ values, type, origin }: TypedValues, index: number): never {
  refuse(origin, index, values[index], `a value of type ${type}`);
}

/** @throws TableSchemaValidationError */
export function refuse(origin: ValuePlace, index: number, value: unknown, wanted: string): never {
  refuseRow(origin, index, `${describeValue(value)} where ${wanted} is wanted`);
}

/** @throws TableSchemaValidationError */
export function refuseRow(origin: ValuePlace, index: number, reason: string): never {
  const { maker, path, hint, lineOf } = origin;
  const row = origin.rowOf(index);
  const lineText = row === null || lineOf === undefined ? "" : ` (line ${lineOf(row)})`;
  const rowText = row === null ? "" : `row ${row}${lineText}, `;
  const where = maker === undefined ? `${rowText}column ${path}` : `${maker}, ${rowText}${path}`;
  throw new TableSchemaValidationError(`${where}: ${reason}${hint === undefined ? "" : `; ${hint}`}`);
}

/** Maximum characters of a text that an error shows. */
const SHOWN = 40;

/** Describes a value in a few words. */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case "string":
      return `the text ${JSON.stringify(value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value)}`;
    case "number":
    case "boolean":
      return `${value}`;
    case "bigint":
      return `${value}n`;
    case "undefined":
      return "nothing";
    case "object":
      break;
    default:
      return `a ${typeof value}`;
  }
  if (value === null) return "null";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  const name = value.constructor?.name ?? "Object";
  if (ArrayBuffer.isView(value)) return `${/^[AEIOU]/.test(name) ? "an" : "a"} ${name}`;
  return name === "Object" ? "an object" : `an object of class ${name}`;
}
