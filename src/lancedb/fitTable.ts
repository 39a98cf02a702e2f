/** Casts the columns of Arrow tables that programs add to the types of the table that they go to. */

import { type Data, DataType, type Field, Schema, Table, Vector } from "apache-arrow";
import type { Steps } from "../async/eventLoop.js";
import * as like from "./like.js";
import { batchOf, dataOf } from "./records.js";

/** Rows that a step casts. */
const STEP_ROWS = 2048;

/** True if a column of a table must be cast for a schema, and can be. */
export const needsCast = ({ schema }: like.TableLike, target: Schema): boolean =>
  castsOf(schema.fields as readonly Field[], target).some((field) => field !== null);

/** Returns, for each column, the field that it is cast to; null if it stays. */
function castsOf(fields: readonly Field[], target: Schema): (Field | null)[] {
  const wanted = new Map(target.fields.map((field) => [field.name, field]));
  return fields.map(({ name, type }) => {
    const field = wanted.get(name);
    if (field === undefined || `${field.type}` === `${type}`) return null;
    return isCastable(type, field.type) ? field : null;
  });
}

/**
 * Returns the table with its columns cast: numbers, texts and bytes to those of other widths, integers and
 * texts to each other, and lists and structs of these. Other columns stay, and the engine refuses them.
 * @throws TableSchemaValidationError for a value that the type does not hold
 */
export function* castTable(table: Table, target: Schema): Steps<Table> {
  const casts = castsOf(table.schema.fields, target);
  const fields = table.schema.fields.map((field, index) => casts[index] ?? field);
  const schema = new Schema(fields, table.schema.metadata);
  const batches = [];
  let row = 0;
  for (const batch of table.batches) {
    for (let start = 0; start < batch.numRows; start += STEP_ROWS) {
      const { data, numRows } = batch.slice(start, Math.min(start + STEP_ROWS, batch.numRows));
      const first = row;
      row += numRows;
      const children: Data[] = data.children.map((child, index) => {
        const field = casts[index];
        if (field === null) return child;
        return dataOf([...new Vector([child])], field, { path: field.name, rowOf: (each) => first + each });
      });
      batches.push(batchOf(schema, children, numRows));
      yield;
    }
  }
  return new Table(schema, batches);
}

/** True if the values of a type are those of another in another width or form. */
function isCastable(from: DataType, to: DataType): boolean {
  if (DataType.isDictionary(from)) return isCastable(from.dictionary, to);
  if (DataType.isDictionary(to)) return isCastable(from, to.dictionary);
  const kind = kindOf(from);
  if (like.isInt(from) && kindOf(to) === "text") return true;
  if (kind === "text" && kindOf(to) === "number") return true;
  if (kind === null || kind !== kindOf(to)) return false;
  if (kind === "list") return isCastable(from.children[0].type, to.children[0].type);
  if (kind !== "struct") return true;
  return (from.children as Field[]).every(({ name, type }) => {
    const wanted = (to.children as Field[]).find((field) => field.name === name);
    return wanted !== undefined && (`${type}` === `${wanted.type}` || isCastable(type, wanted.type));
  });
}

function kindOf(type: DataType): "number" | "text" | "bytes" | "list" | "struct" | null {
  if (like.isInt(type) || like.isFloat(type)) return "number";
  if (like.isUtf8(type) || like.isLargeUtf8(type)) return "text";
  if (like.isBinary(type) || like.isLargeBinary(type) || like.isFixedSizeBinary(type)) return "bytes";
  if (like.isList(type) || like.isFixedSizeList(type)) return "list";
  return like.isStruct(type) ? "struct" : null;
}
