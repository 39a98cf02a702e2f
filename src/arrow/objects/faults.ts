/** Says what is wrong with a value of a row, and where it stands. */

import { TableSchemaValidationError } from "../../errors.js";

/** Where values come from. */
export interface ValuePlace {
  /** What made the values, in words. Absent: they are those of a column of rows. */
  readonly maker?: string | undefined;
  /** Path of the column, or of what was made, with the names of members. */
  readonly path: string;
  /** End of a message, after a semicolon: tells which types are wanted. */
  readonly hint?: string | undefined;
  /** Number of the row, from 0, that the value at an index belongs to. */
  rowOf(index: number): number;
}

/** @throws TableSchemaValidationError */
export function refuse(origin: ValuePlace, index: number, value: unknown, wanted: string): never {
  refuseRow(origin, index, `${describeValue(value)} where ${wanted} is wanted`);
}

/** @throws TableSchemaValidationError */
export function refuseRow(origin: ValuePlace, index: number, reason: string): never {
  const { maker, path, hint } = origin;
  const row = `row ${origin.rowOf(index)}`;
  const where = maker === undefined ? `${row}, column ${path}` : `${maker}, ${row}, ${path}`;
  throw new TableSchemaValidationError(`${where}: ${reason}${hint === undefined ? "" : `; ${hint}`}`);
}

/** Maximum characters of a text that are shown. */
const SHOWN = 40;

/** A value in a few words. */
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
