/** Tables of vectors, and the distances that searches must find. */

import * as arrow from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { decodeHalfFloat, encodeHalfFloat } from "../../src/bytes/halfFloat.js";
import { columnsOf, fieldOf, int32s } from "./arrowColumns.js";

export type TestItem = "float16" | "float32" | "float64" | "uint8";
export type TestMetric = "l2" | "cosine" | "dot" | "hamming";

const ITEM_TYPES: Readonly<Record<TestItem, arrow.DataType>> = {
  float16: new arrow.Float16(),
  float32: new arrow.Float32(),
  float64: new arrow.Float64(),
  uint8: new arrow.Uint8(),
};

/** Returns numbers from 0 to 1, equal for equal seeds. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** A vector whose values the item type holds exactly. */
export function randomVector(item: TestItem, dimension: number, next: () => number): number[] {
  return Array.from({ length: dimension }, () => {
    if (item === "uint8") return Math.floor(next() * 256);
    const value = Math.fround(next() * 4 - 2);
    return item === "float16" ? decodeHalfFloat(encodeHalfFloat(value)) : value;
  });
}

export interface Found {
  readonly id: number;
  readonly _distance: number;
  readonly query_index?: number;
}

export async function searchRows(
  namespace: DirectoryNamespace,
  request: Parameters<DirectoryNamespace["queryTable"]>[0],
): Promise<Found[]> {
  return (await (await namespace.queryTable(request)).toArray()) as unknown as Found[];
}

export interface TestRow {
  readonly id: number;
  readonly group: number;
  readonly vector: readonly number[] | null;
}

export function testRows(
  item: TestItem,
  dimension: number,
  count: number,
  seed: number,
  firstId = 0,
): TestRow[] {
  const next = randomNumbers(seed);
  return Array.from({ length: count }, (_, row) => ({
    id: firstId + row,
    group: Math.floor(next() * 10),
    vector: next() < 0.05 ? null : randomVector(item, dimension, next),
  }));
}

export const vectorType = (item: TestItem, dimension: number): arrow.FixedSizeList =>
  new arrow.FixedSizeList(dimension, fieldOf("item", ITEM_TYPES[item]));

/** The rows with the columns `id`, `group` and `v`. */
export const vectorTable = (item: TestItem, dimension: number, rows: readonly TestRow[]): arrow.Table =>
  new arrow.Table({
    id: int32s(rows.map(({ id }) => id)),
    group: int32s(rows.map(({ group }) => group)),
    v: columnsOf(vectorType(item, dimension))(rows.map(({ vector }) => vector)),
  });

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

const bitsOf = (value: number): number => value.toString(2).replaceAll("0", "").length;

export function distanceOf(metric: TestMetric, a: readonly number[], b: readonly number[]): number {
  const dot = (left: readonly number[], right: readonly number[]) =>
    sum(left.map((value, index) => value * right[index]));
  switch (metric) {
    case "l2":
      return sum(a.map((value, index) => (value - b[index]) ** 2));
    case "dot":
      return 1 - dot(a, b);
    case "cosine":
      return 1 - dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
    case "hamming":
      return sum(a.map((value, index) => bitsOf(value ^ b[index])));
  }
}

export interface NearRow {
  readonly id: number;
  readonly distance: number;
}

/** All rows with a distance, the nearest first; ties keep their order. */
export function nearestOf(metric: TestMetric, rows: readonly TestRow[], query: readonly number[]): NearRow[] {
  return rows
    .flatMap(({ id, vector }) => (vector === null ? [] : { id, distance: distanceOf(metric, vector, query) }))
    .filter(({ distance }) => !Number.isNaN(distance))
    .sort((a, b) => a.distance - b.distance);
}
