/**
 * The columns that a search adds to the rows that it finds:
 *
 *     query_index    which of several vectors the row is near to, from 0 on; int32
 *     _distance      how far the row is from it; float32
 */

import { Field, Float32, Int32 } from "apache-arrow";
import { FLOAT32, INT32, type TypedField } from "../../expression/values/types.js";

export interface FoundColumn extends TypedField {
  readonly name: "_distance" | "query_index";
}

export const DISTANCE: FoundColumn = { name: "_distance", type: FLOAT32, children: [] };
export const QUERY_INDEX: FoundColumn = { name: "query_index", type: INT32, children: [] };

/** The column in results. @param name that it has there */
export const foundField = (column: FoundColumn, name: string): Field =>
  column === DISTANCE ? new Field(name, new Float32(), true) : new Field(name, new Int32(), false);
