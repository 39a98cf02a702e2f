/**
 * Runs a vector search and a full-text search, and merges their results into one order. The default is
 * reciprocal rank fusion: each search that returns a row adds 1 / (60 + rank) to its relevance. Ranks start
 * at 0.
 */

import type { Column, FixedColumn } from "../../arrow/columns/column.js";
import { numbersColumn } from "../../arrow/columns/numbersColumn.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { validityFrom } from "../../arrow/columns/validity.js";
import { Pace, runAsync, type Steps, yieldToEventLoop } from "../../async/eventLoop.js";
import { FLOAT32 } from "../../expression/values/types.js";
import type { Rerank } from "../../namespace/queries.js";
import { DISTANCE } from "../columns/foundColumns.js";
import type { FragmentSource } from "../columns/fragmentColumns.js";
import { resolveProjection } from "../columns/projection.js";
import { addressAt, addressColumn, addressWords } from "../columns/rowAddresses.js";
import { orderOfRows } from "../order/orderOfRows.js";
import { makeSortKeys } from "../order/sortKeys.js";
import { searchTexts, type TextSearchPlan } from "../text/textSearch.js";
import type { SearchRequest } from "../vector/nearestRows.js";
import { searchedRows } from "./searchedRows.js";

/** Added to each rank, so that the first few ranks do not outweigh all later ones. */
const FUSION_CONSTANT = 60;
/** Rows between two reads of the clock. */
const STEP_ROWS = 256;

export const byReciprocalRank: Rerank = ({ vectorRank, textRank }) =>
  (vectorRank === null ? 0 : 1 / (FUSION_CONSTANT + vectorRank)) +
  (textRank === null ? 0 : 1 / (FUSION_CONSTANT + textRank));

/** Rows ordered by relevance, the most relevant first. */
export interface HybridRows {
  readonly addresses: FixedColumn;
  /** Columns of distances, scores and relevance. */
  readonly searchColumns: readonly Column[];
  readonly rowCount: number;
}

/** @param request offset and limit count rows of the merged order; each search returns offset + limit rows */
export async function searchBoth(
  source: FragmentSource,
  request: SearchRequest,
  textSearch: TextSearchPlan,
  rerank: Rerank,
): Promise<HybridRows> {
  const { offset, limit, numbers, signal } = request;
  const rows = new JoinedRows();
  const noColumns = resolveProjection(textSearch.fields, new Map(), []);
  const search = { ...request.search, resultColumns: [DISTANCE] };
  const first = { search, projection: noColumns, offset: 0, limit: offset + limit };
  const nearest = searchedRows(source, { ...request, ...first });
  for await (const { columns } of nearest) {
    await runAsync(rows.addNear(columns[columns.length - 1] as FixedColumn, columns[0] as FixedColumn));
  }
  const { addresses, scores } = await searchTexts(textSearch, source, numbers, 0, offset + limit, signal);
  await runAsync(rows.addMatching(addresses, scores));
  return rows.ranked(rerank, offset, limit);
}

/** The rows of both searches, each once. */
class JoinedRows {
  /** Index of each row in the arrays below, by its address. */
  readonly #slots = new Map<number, number>();
  readonly #rows: Parameters<Rerank>[0][] = [];
  #nearCount = 0;

  /** @param addresses of rows, the nearest first */
  *addNear(addresses: FixedColumn, distances: FixedColumn): Steps<void> {
    const numbers = floatsOf(distances);
    const pace = new Pace(STEP_ROWS);
    for (const [row, address] of addressesIn(addresses).entries()) {
      const distance = numbers[row];
      this.#slots.set(address, this.#rows.length);
      this.#rows.push({ distance, score: null, vectorRank: this.#nearCount++, textRank: null });
      if (pace.isStep()) yield;
    }
  }

  /** @param addresses of rows, the best first */
  *addMatching(addresses: FixedColumn, scores: FixedColumn): Steps<void> {
    const numbers = floatsOf(scores);
    const pace = new Pace(STEP_ROWS);
    for (const [textRank, address] of addressesIn(addresses).entries()) {
      const score = numbers[textRank];
      const slot = this.#slots.get(address);
      if (slot === undefined) {
        this.#slots.set(address, this.#rows.length);
        this.#rows.push({ distance: null, score, vectorRank: null, textRank });
      } else Object.assign(this.#rows[slot], { score, textRank });
      if (pace.isStep()) yield;
    }
  }

  /** @param rerank returns the relevance of a row, never NaN */
  async ranked(rerank: Rerank, offset: number, limit: number): Promise<HybridRows> {
    const count = this.#rows.length;
    const relevance = new Float32Array(count);
    const pace = new Pace(STEP_ROWS);
    for (const [position, row] of this.#rows.entries()) {
      relevance[position] = rerank(row);
      if (pace.isStep()) await yieldToEventLoop();
    }
    const addressOfSlot = new Float64Array(count);
    for (const [address, slot] of this.#slots) {
      addressOfSlot[slot] = address;
      if (pace.isStep()) await yieldToEventLoop();
    }
    const addresses = addressColumn(addressOfSlot, count);
    const relevances = numbersColumn(relevance);
    const orders = [{ type: FLOAT32, ascending: false, nullsFirst: false }];
    const order = await runAsync(orderOfRows(await runAsync(makeSortKeys(orders, [relevances], count))));
    const start = Math.min(offset, count);
    const rowCount = Math.min(limit, count - start);
    const inOrder = <Kind extends Column>(column: Kind): Kind =>
      sliceColumn(takeColumn<Column>(column, order), start, rowCount) as Kind;
    const searchColumns = [
      nullableFloats(this.#rows.map(({ distance }) => distance)),
      nullableFloats(this.#rows.map(({ score }) => score)),
      relevances,
    ];
    const columns = searchColumns.map((column) => inOrder(column));
    return { addresses: inOrder(addresses), searchColumns: columns, rowCount };
  }
}

function addressesIn(column: FixedColumn): Float64Array {
  const words = addressWords(column);
  return Float64Array.from({ length: column.length }, (_, row) => addressAt(words, row));
}

const floatsOf = ({ values, length }: FixedColumn): Float32Array =>
  new Float32Array(values.slice().buffer, 0, length);

function nullableFloats(numbers: readonly (number | null)[]): FixedColumn {
  const bits = new Uint8Array((numbers.length + 7) >>> 3);
  for (const [row, number] of numbers.entries()) if (number !== null) bits[row >>> 3] |= 1 << (row & 7);
  const column = numbersColumn(Float32Array.from(numbers, (number) => number ?? 0));
  return { ...column, validity: validityFrom(bits, 0, numbers.length) };
}
