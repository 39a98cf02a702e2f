/**
 * Searches by vector and text at once, in LanceDB's way. Both searches run on their own. Their distances and
 * scores become numbers from 0 to 1, and a reranker makes one order of both.
 */

import { Field, Float32, type RecordBatch, Schema, type Table } from "apache-arrow";
import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { makeBatch, toTable } from "../../arrow/exchange/batch.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { failure } from "../failures.js";
import { programRows, type Rows } from "../programRows.js";
import type { Reranker } from "../rerankers/index.js";
import { RELEVANCE, RRFReranker } from "../rerankers/rrf.js";
import { columnRows, oneBatch, partsOf } from "../rowBatches.js";
import type { TableReader } from "../tableReader.js";
import { FOUND_ROWS, requestOf, type SearchParts, type TextParts, type VectorSearchParts } from "./parts.js";
import type { RunOptions } from "./running.js";

/** Scores that differ by less count as equal. */
const LEAST_RANGE = 10e-5;

/** Parts of a hybrid search. */
export interface HybridParts extends VectorSearchParts {
  readonly text: TextParts;
}

export const isHybrid = (parts: SearchParts): parts is HybridParts =>
  parts.text !== null && parts.vector !== null;

/** Runs both searches and the reranker when the rows are read. The schema is that without a reranker. */
export async function openHybrid(
  reader: TableReader,
  parts: HybridParts,
  options: RunOptions,
): Promise<Rows> {
  const snapshot = await reader.snapshot();
  const searches = await openBoth(snapshot, parts, options);
  const { fields, metadata } = searches.matching.schema;
  const relevance = new Field(RELEVANCE, new Float32(), false);
  const schema = withoutRowId(new Schema([...fields, relevance], metadata), parts);
  const batches = async () => [
    ...partsOf(await reranked(parts, searches), options.batchSize ?? Number.POSITIVE_INFINITY),
  ];
  return {
    schema,
    async toArrow() {
      const list = await batches();
      return toTable(list[0]?.schema ?? schema, list);
    },
    async *[Symbol.asyncIterator]() {
      yield* await batches();
    },
  };
}

interface Searches {
  readonly near: Rows;
  readonly matching: Rows;
}

async function openBoth(
  reader: TableReader,
  parts: HybridParts,
  { signal, batchSize: _ }: RunOptions,
): Promise<Searches> {
  const shared = { ...parts, limit: parts.limit ?? FOUND_ROWS, withRowId: true };
  const { prefilter } = parts.vector.options;
  const nearRequest = await requestOf({ ...shared, text: null });
  const textRequest = {
    ...(await requestOf({ ...shared, vector: null })),
    ...(prefilter === false && { prefilter }),
  };
  const [near, matching] = await Promise.all([
    reader.read((namespace, shown) => namespace.queryTable({ ...shown, ...nearRequest, signal })),
    reader.read((namespace, shown) => namespace.queryTable({ ...shown, ...textRequest, signal })),
  ]);
  return { near: programRows(near), matching: programRows(matching) };
}

async function reranked({ text, vector, ...parts }: HybridParts, searches: Searches): Promise<RecordBatch> {
  const [near, matching] = await Promise.all([searches.near.toArrow(), searches.matching.toArrow()]);
  const words = typeof text.query === "string" ? text.query : text.query.queryType();
  const reranker: Reranker = vector.reranker ?? new RRFReranker();
  const answer: unknown = await reranker.rerankHybrid(
    words,
    normalized(near, "_distance"),
    normalized(matching, "_score"),
  );
  const { schema, columns, rowCount } = columnRows(answer, "rerank_hybrid");
  if (!schema.fields.some(({ name }) => name === RELEVANCE)) {
    throw failure(`Schema Error: rerank_hybrid must return a RecordBatch with a column named ${RELEVANCE}`);
  }
  const count = Math.min(rowCount, parts.limit ?? FOUND_ROWS);
  const kept = withoutRowId(schema, parts);
  const rows = columns.filter((_, index) => kept.fields.includes(schema.fields[index]));
  const cut = rows.map((column) => sliceColumn<Column>(column, 0, count));
  return makeBatch(kept, cut, count);
}

/** Leaves out the row ids that the reranker needed, unless the query asked for them. */
function withoutRowId(schema: Schema, { withRowId }: Pick<SearchParts, "withRowId">): Schema {
  if (withRowId) return schema;
  return new Schema(
    schema.fields.filter(({ name }) => name !== "_rowid"),
    schema.metadata,
  );
}

/** Returns all rows as one batch, with the numbers of a column from 0 to 1. */
function normalized(table: Table, name: string): RecordBatch {
  // The search's column comes after those of the table.
  const index = table.schema.fields.map((field) => field.name).lastIndexOf(name);
  if (index === -1 || table.numRows === 0) return oneBatch(table);
  const { schema, columns, rowCount } = columnRows(table, name);
  const scores = floatsOf(columns[index] as FixedColumn);
  const all = [...columns];
  all[index] = numbersColumn(scores);
  return makeBatch(schema, all, rowCount);
}

/** Returns the numbers of a column from 0 to 1, computed with floats of 32 bits as in LanceDB. */
function floatsOf({ values, length }: FixedColumn): Float32Array {
  const bytes = alignedBytes(values, 4);
  const scores = new Float32Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, length);
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  for (const score of scores) {
    least = Math.min(least, score);
    greatest = Math.max(greatest, score);
  }
  const difference = Math.fround(greatest - least);
  const range = difference < LEAST_RANGE ? greatest : difference;
  return scores.map((score) => (range === 0 ? score : Math.fround(score - least) / range));
}
