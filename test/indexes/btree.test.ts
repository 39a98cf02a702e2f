/** BTREE indexes: what they answer is what looking at every row gives. */

import { describe, expect, it } from "vitest";
import { BTREE } from "../../src/indexes/btree.js";
import type { IndexQuery, OpenIndex } from "../../src/indexes/kind.js";
import { Random } from "../support/generators.js";
import { makeTempDir } from "../support/tempDir.js";
import { filesIn, rowsOf, targetOf } from "./indexDirectory.js";
import {
  columnOf,
  compareKeys,
  drawValues,
  edgesOf,
  fieldOf,
  idOf,
  idsOf,
  ORDERED_TYPES,
  rowsOfAnswer,
  sortKey,
  text,
  type Value,
  type ValueShape,
} from "./indexValues.js";

const SHAPES: ValueShape[] = [
  { rowCount: 0, nulls: 0, distinct: 1 },
  { rowCount: 1, nulls: 0, distinct: 1 },
  { rowCount: 50, nulls: 1, distinct: 1 },
  { rowCount: 300, nulls: 0.2, distinct: 20 },
  { rowCount: 4096, nulls: 0, distinct: 4000 },
  { rowCount: 8500, nulls: 0.4, distinct: 0 },
  { rowCount: 5000, nulls: 0.95, distinct: 100 },
];

/** Compares the answers to many queries with what a look at every value gives. */
async function expectAnswers(type: string, index: OpenIndex, values: readonly Value[], random: Random) {
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
  const expectAnswer = async (query: IndexQuery, holds: (rank: number) => boolean, what: string) => {
    expect(index.answers(query), what).toBe(true);
    const estimate = index.estimate(query);
    expect(estimate.rows >= 0 && estimate.bytes >= 0, what).toBe(true);
    const answer = await index.search(query, { withNulls: true });
    expect(rowsOfAnswer(answer.rows), what).toEqual(rowsWhere((rank) => rank !== null && holds(rank)));
    expect(answer.isExact).toBe(true);
    expect(rowsOfAnswer(answer.nulls!), what).toEqual(nulls);
  };
  const isNull = await index.search({ kind: "isNull" });
  expect(rowsOfAnswer(isNull.rows)).toEqual(nulls);
  await expectAnswer({ kind: "range", lower: null, upper: null }, () => true, "is not null");
  for (const value of pool) {
    const low = rankOf(value);
    const column = columnOf(field.type, [value]);
    await expectAnswer({ kind: "in", values: column }, (rank) => rank === low, `= ${keys[low]}`);
    for (const isInclusive of [true, false]) {
      const lower = { value: column, isInclusive };
      const isAbove = (rank: number) => rank > low || (isInclusive && rank === low);
      const isBelow = (rank: number) => rank < low || (isInclusive && rank === low);
      await expectAnswer({ kind: "range", lower, upper: null }, isAbove, `${isInclusive} > ${keys[low]}`);
      await expectAnswer(
        { kind: "range", lower: null, upper: lower },
        isBelow,
        `${isInclusive} < ${keys[low]}`,
      );
      const other = pool[random.below(pool.length)]!;
      const high = rankOf(other);
      const upper = { value: columnOf(field.type, [other]), isInclusive: !isInclusive };
      const isBetween = (rank: number) => isAbove(rank) && (rank < high || (!isInclusive && rank === high));
      await expectAnswer({ kind: "range", lower, upper }, isBetween, `${keys[low]} to ${keys[high]}`);
    }
  }
  const several = [...pool, ...pool.slice(0, 2)];
  const wanted = new Set(several.map(rankOf));
  await expectAnswer({ kind: "in", values: columnOf(field.type, several) }, (rank) => wanted.has(rank), "in");
}

describe.each(ORDERED_TYPES)("of %s", (type) => {
  const field = fieldOf(type);

  it("takes the type", () => {
    expect(BTREE.refusal(field)).toBeNull();
  });

  it.each(
    SHAPES,
  )("answers as a look at every row does: $rowCount rows, $nulls nulls, $distinct values", async (shape) => {
    const random = new Random(shape.rowCount + 1);
    const values = drawValues(random, field.type, shape);
    const ids = values.map((_, row) => idOf(row));
    const directory = await makeTempDir();
    await BTREE.build(rowsOf(field.type, values, ids), targetOf(directory, field));
    const files = filesIn(directory);
    try {
      await expectAnswers(type, await BTREE.open(files, field), values, random);
    } finally {
      await files.close();
    }
  });
});

it("finds texts by their beginning", async () => {
  const field = fieldOf("string");
  const words = ["", "a", "ab", "abc", "abd", "ac", "b", "\u00e9t\u00e9", "\u{10ffff}x"];
  const values = Array.from({ length: 9000 }, (_, row) => (row % 10 === 9 ? null : text(words[row % 10]!)));
  const ids = values.map((_, row) => BigInt(row));
  const directory = await makeTempDir();
  await BTREE.build(rowsOf(field.type, values, ids), targetOf(directory, field));
  const files = filesIn(directory);
  const index = await BTREE.open(files, field);
  for (const prefix of ["", "a", "ab", "abc", "abcd", "b", "\u00e9", "\u{10ffff}", "z"]) {
    const { rows } = await index.search({ kind: "startsWith", prefix });
    const expected = ids.filter((id) => words[Number(id) % 10]?.startsWith(prefix));
    expect(idsOf(rows), prefix).toEqual(expected);
  }
  await files.close();
});
