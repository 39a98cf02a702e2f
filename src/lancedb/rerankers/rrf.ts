/** Reciprocal rank fusion. */

import { Field, Float32, type RecordBatch, Schema } from "apache-arrow";
import type { FixedColumn } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { makeBatch } from "../../arrow/exchange/batch.js";
import { alignedBytes } from "../../bytes/aligned.js";
import { failure } from "../failures.js";
import { type ColumnRows, columnRows } from "../rowBatches.js";

/** Added to each rank, so that the first few ranks do not outweigh all later ones. */
const DEFAULT_K = 60;
const ROW_ID = "_rowid";
/** Column by which rerankers order the rows. */
export const RELEVANCE = "_relevance_score";

/**
 * Orders rows by reciprocal rank fusion: each search that found a row adds 1 / (k + rank), with ranks from 0.
 * A row that both searches found keeps the columns of the vector search; its distance has the name of the
 * score, as in LanceDB.
 */
export class RRFReranker {
  readonly #k: number;

  /** @ignore */
  constructor(k: number = DEFAULT_K) {
    this.#k = Math.fround(k);
  }

  /**
   * Makes a reranker.
   * @param k number that is added to each rank; 60 by default
   */
  static async create(k: number = DEFAULT_K): Promise<RRFReranker> {
    return new RRFReranker(Number(k));
  }

  /**
   * Returns the rows of both searches in one order, with the column `_relevance_score`.
   * @param _query words that were searched; they make no difference
   * @param vecResults rows of the vector search, the nearest first
   * @param ftsResults rows of the text search, the best first
   */
  async rerankHybrid(_query: string, vecResults: RecordBatch, ftsResults: RecordBatch): Promise<RecordBatch> {
    const near = columnRows(vecResults, "vector_results");
    const matching = columnRows(ftsResults, "fts_results");
    const order = this.#order(rowIds(near, "vector_results"), rowIds(matching, "fts_results"));
    const { fields, metadata } = matching.schema;
    const columns = joinedColumns(near, matching).map((column) => takeColumn(column, order.rows));
    const relevance = new Field(RELEVANCE, new Float32(), false);
    const schema = new Schema([...fields, relevance], metadata);
    return makeBatch(schema, [...columns, numbersColumn(order.relevance)], order.rows.length);
  }

  /** Returns the rows of both lists, the most relevant first. A row's index counts through both lists. */
  #order(
    near: BigUint64Array,
    matching: BigUint64Array,
  ): { readonly rows: Uint32Array; readonly relevance: Float32Array } {
    const ranked = new Map<bigint, { row: number; relevance: number }>();
    for (const [start, ids] of [[0, near] as const, [near.length, matching] as const]) {
      for (const [rank, id] of ids.entries()) {
        const gain = Math.fround(1 / Math.fround(rank + this.#k));
        const entry = ranked.get(id);
        if (entry === undefined) ranked.set(id, { row: start + rank, relevance: gain });
        else entry.relevance = Math.fround(entry.relevance + gain);
      }
    }
    const order = [...ranked.values()].sort((first, second) => compared(second.relevance, first.relevance));
    return {
      rows: Uint32Array.from(order, ({ row }) => row),
      relevance: Float32Array.from(order, ({ relevance }) => relevance),
    };
  }
}

/** Compares numbers; NaN is the greatest. */
function compared(first: number, second: number): number {
  if (Number.isNaN(first) || Number.isNaN(second))
    return Number(Number.isNaN(first)) - Number(Number.isNaN(second));
  return first === second ? 0 : first < second ? -1 : 1;
}

function rowIds({ schema, columns, rowCount }: ColumnRows, name: string): BigUint64Array {
  const names = schema.fields.map((field) => field.name);
  const column = columns[names.indexOf(ROW_ID)] as FixedColumn | undefined;
  if (column?.kind !== "fixed" || column.byteWidth !== 8) {
    throw failure(`expected column ${ROW_ID} not found in ${name}. found columns ${JSON.stringify(names)}`);
  }
  const bytes = alignedBytes(column.values, 8);
  return new BigUint64Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, rowCount);
}

/** Joins the columns of both results by their positions. @throws Error if these are of different types */
function joinedColumns(near: ColumnRows, matching: ColumnRows): ReturnType<typeof concatColumns>[] {
  if (near.columns.length !== matching.columns.length) {
    throw failure(
      `vector_results has ${near.columns.length} columns, and fts_results ${matching.columns.length}`,
    );
  }
  return near.columns.map((column, index) => {
    const [first, second] = [near, matching].map(({ schema }) => String(schema.fields[index].type));
    if (first === second) return concatColumns([column, matching.columns[index]]);
    throw failure(`It is not possible to concatenate arrays of different data types (${first}, ${second})`);
  });
}
