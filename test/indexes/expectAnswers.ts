/** Compares index answers with a scan. */

import { expect } from "vitest";
import type { IndexQuery, OpenIndex } from "../../src/indexes/kind.js";
import type { Random } from "../support/generators.js";
import {
  columnOf,
  compareKeys,
  drawValues,
  edgesOf,
  fieldOf,
  rowsOfAnswer,
  sortKey,
  type Value,
} from "./indexValues.js";

/** Compares answers to many queries with a scan; returns the number of queries that the index answers. */
export async function expectAnswers(
  type: string,
  index: OpenIndex,
  values: readonly Value[],
  random: Random,
  highWord?: (row: number) => number,
): Promise<number> {
  const field = fieldOf(type);
  const present = values.filter((value) => value !== null);
  const drawn = drawValues(random, field.type, { rowCount: 3, nulls: 0, distinct: 3 }) as Uint8Array[];
  const pool = [...edgesOf(field.type), ...drawn, ...present.slice(0, 3)];
  const keys = [...new Set([...pool, ...present].map((value) => sortKey(field.type, value)))].sort(
    compareKeys,
  );
  const ranks = new Map(keys.map((key, rank) => [key, rank]));
  const rankOf = (value: Uint8Array): number => ranks.get(sortKey(field.type, value))!;
  const rowRanks = values.map((value) => (value === null ? null : rankOf(value)));
  const rowsWhere = (holds: (rank: number | null) => boolean): number[] =>
    [...rowRanks.keys()].filter((row) => holds(rowRanks[row]!));
  const nulls = rowsWhere((rank) => rank === null);
  let asked = 0;
  const expectAnswer = async (query: IndexQuery, holds: (rank: number | null) => boolean, what: string) => {
    if (!index.answers(query)) return;
    asked++;
    const estimate = index.estimate(query);
    expect(estimate.rows >= 0 && estimate.bytes >= 0, what).toBe(true);
    const answer = await index.search(query, { withNulls: true });
    const expected = rowsWhere(holds);
    const rows = rowsOfAnswer(answer.rows, highWord);
    if (answer.isExact) expectRows(rows, expected, what);
    else expect(missing(rows, expected), what).toEqual([]);
    if (answer.nulls !== null)
      expectRows(rowsOfAnswer(answer.nulls, highWord), query.kind === "isNull" ? [] : nulls, what);
  };
  await expectAnswer({ kind: "isNull" }, (rank) => rank === null, "is null");
  await expectAnswer({ kind: "range", lower: null, upper: null }, (rank) => rank !== null, "is not null");
  for (const value of pool) {
    const low = rankOf(value);
    const column = columnOf(field.type, [value]);
    await expectAnswer({ kind: "in", values: column }, (rank) => rank === low, `= ${keys[low]}`);
    for (const isInclusive of [true, false]) {
      const lower = { value: column, isInclusive };
      const isAbove = (rank: number | null) => rank !== null && (rank > low || (isInclusive && rank === low));
      const isBelow = (rank: number | null) => rank !== null && (rank < low || (isInclusive && rank === low));
      await expectAnswer({ kind: "range", lower, upper: null }, isAbove, `${isInclusive} > ${keys[low]}`);
      await expectAnswer(
        { kind: "range", lower: null, upper: lower },
        isBelow,
        `${isInclusive} < ${keys[low]}`,
      );
      const secondValue = pool[random.below(pool.length)]!;
      const high = rankOf(secondValue);
      const upper = { value: columnOf(field.type, [secondValue]), isInclusive: !isInclusive };
      const isBetween = (rank: number | null) =>
        rank !== null && isAbove(rank) && (rank < high || (!isInclusive && rank === high));
      await expectAnswer({ kind: "range", lower, upper }, isBetween, `${keys[low]} to ${keys[high]}`);
    }
  }
  const several = [...pool, ...pool.slice(0, 2)];
  const wanted = new Set(several.map(rankOf));
  await expectAnswer(
    { kind: "in", values: columnOf(field.type, several) },
    (rank) => rank !== null && wanted.has(rank),
    "in",
  );
  return asked;
}

/** Faster than vitest's comparison by a factor of a hundred, which then reports the difference. */
export function expectRows(rows: readonly number[], expected: readonly number[], what: string): void {
  const isSame = rows.length === expected.length && rows.every((row, index) => row === expected[index]);
  if (!isSame) expect(rows, what).toEqual(expected);
}

function missing(rows: readonly number[], expected: readonly number[]): number[] {
  const answerRows = new Set(rows);
  return expected.filter((row) => !answerRows.has(row));
}
