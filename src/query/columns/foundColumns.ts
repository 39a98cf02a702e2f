/**
 * The columns that a search adds to the rows of its result:
 *
 *     query_index        index of the query vector that the row is near to, if there are several; int32
 *     _distance          distance of the row from the vector; float32, null if only the text matched
 *     _score             score of the row's text; float32, null if only the vector matched
 *     _relevance_score   combined relevance of a row in a hybrid search; float32
 *     _highlights        positions of the searched terms in the row's texts: see textHighlights.ts
 *
 * Code compares them by identity: a table may have a column of the same name, which is a different column.
 */

import type { Field } from "apache-arrow";
import { arrowFieldFromLogical } from "../../arrow/types/logicalTypes.js";
import type { LogicalType } from "../../arrow/types/type.js";
import { FLOAT32, INT32, STRING } from "../../expression/values/types.js";
import type { NewField } from "../../schema/schema.js";

export type FoundColumn = NewField;

const column = (
  name: string,
  type: LogicalType,
  nullable: boolean,
  children: readonly NewField[] = [],
): FoundColumn => ({ name, type, nullable, metadata: new Map(), children });

export const QUERY_INDEX = column("query_index", INT32, false);
export const DISTANCE = column("_distance", FLOAT32, true);
export const SCORE = column("_score", FLOAT32, true);
export const RELEVANCE = column("_relevance_score", FLOAT32, false);
export const HIGHLIGHTS = column("_highlights", { kind: "list", large: false, ofStructs: true }, false, [
  column("item", { kind: "struct" }, false, [
    column("column", STRING, false),
    column("item", INT32, true),
    column("start", INT32, false),
    column("end", INT32, false),
  ]),
]);

/** The column in results. @param name of the column there */
export const foundField = (column: FoundColumn, name: string): Field =>
  arrowFieldFromLogical({ ...column, name }, name);
