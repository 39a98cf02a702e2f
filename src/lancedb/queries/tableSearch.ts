/** Searches of a table, told apart by what is searched. */

import { failure } from "../failures.js";
import { AutoQuery, Query, type VectorQuery } from "../query.js";
import type { TableReader } from "../tableReader.js";
import type { IntoVector, MultiVector } from "../vectors.js";
import { embeddedText } from "./embeddedText.js";
import type { VectorNumbers } from "./numbers.js";
import { type FullTextQuery, instanceOfFullTextQuery } from "./textQueries.js";

/** Returns the search of `Table.search`. */
export function searchTable(
  reader: TableReader,
  query: string | IntoVector | MultiVector | FullTextQuery,
  queryType = "auto",
  ftsColumns?: string | string[],
): VectorQuery | Query | AutoQuery {
  const columns = ftsColumns ?? [];
  if (instanceOfFullTextQuery(query)) return new Query(reader).fullTextSearch(query, { columns });
  if (typeof query !== "string") return searchVectors(reader, query);
  if (queryType === "fts") return new Query(reader).fullTextSearch(query, { columns });
  if (queryType === "auto") {
    return new AutoQuery(reader, { query, columns: Array.isArray(columns) ? columns : [columns] });
  }
  return new Query(reader).nearestTo(embeddedNumbers(reader, query));
}

/** Returns the search of `Table.vectorSearch`. */
export function searchVectors(reader: TableReader, vector: IntoVector | MultiVector): VectorQuery {
  if (!areSeveral(vector)) return new Query(reader).nearestTo(vector);
  const [first, ...others] = vector;
  const query = new Query(reader).nearestTo(first);
  for (const each of others) query.addQueryVector(each);
  return query;
}

/** True for a list of vectors, which may be pending. */
const areSeveral = (vector: IntoVector | MultiVector): vector is MultiVector =>
  Array.isArray(vector) && typeof vector[0] === "object" && vector[0] !== null;

async function embeddedNumbers(reader: TableReader, text: string): Promise<VectorNumbers> {
  const embedded = await embeddedText(await reader.schema(), text);
  if (embedded !== null) return embedded.numbers;
  throw failure("No embedding functions are defined in the table");
}
