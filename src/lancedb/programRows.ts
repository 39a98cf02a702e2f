/**
 * Rows of the engine in the program's copy of apache-arrow. The package `tiltyard-lancedb` includes an engine
 * with a copy of its own; this module imports the program's. In the package `tiltyard` both are one, and
 * nothing is converted.
 */

import { type RecordBatch, Schema } from "apache-arrow";
import { makeBatch, toTable } from "../arrow/exchange/batch.js";
import type { DictionaryCache } from "../arrow/exchange/data.js";
import { columnFromData } from "../arrow/exchange/wholeData.js";
import { adoptSchema } from "../arrow/types/foreignTypes.js";
import { layoutOf } from "../arrow/types/layouts.js";
import type { QueryResult } from "../namespace/queries.js";
import { isOfThisCopy } from "./like.js";

/** Rows of a query. Each read runs the query again. */
export type Rows = Pick<QueryResult, "schema" | "toArrow"> & AsyncIterable<RecordBatch>;

/** Returns the rows with schema and batches of the program's copy. The memory is shared. */
export function programRows(rows: Rows): Rows {
  if (isOfThisCopy(rows.schema, Schema)) return rows;
  const schema = adoptSchema(rows.schema);
  const dictionaries: DictionaryCache = new WeakMap();
  const converted = (batch: RecordBatch) => programBatch(schema, batch, dictionaries);
  return {
    schema,
    async toArrow() {
      const { batches } = await rows.toArrow();
      return toTable(schema, batches.map(converted));
    },
    [Symbol.asyncIterator]: () => mapped(rows, converted),
  };
}

async function* mapped(
  batches: AsyncIterable<RecordBatch>,
  convert: (batch: RecordBatch) => RecordBatch,
): AsyncGenerator<RecordBatch, void, undefined> {
  for await (const batch of batches) yield convert(batch);
}

function programBatch(schema: Schema, { data, numRows }: RecordBatch, dictionaries: DictionaryCache) {
  const columns = schema.fields.map(({ name, type }, index) =>
    columnFromData(data.children[index], layoutOf(type, name), dictionaries),
  );
  return makeBatch(schema, columns, numRows);
}
