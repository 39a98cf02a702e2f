/** Merges indexes with each other and with new rows, while rows move and disappear. */

import { describe, expect, it } from "vitest";
import type { IndexKind } from "../../src/indexes/kind.js";
import { BITMAP, BTREE, NGRAM } from "../../src/indexes/kinds/scalarKinds.js";
import type { RowMoves } from "../../src/indexes/moves.js";
import { RowIds } from "../../src/indexes/rowIds.js";
import { Random } from "../support/generators.js";
import { makeTempDir } from "../support/tempDir.js";
import { expectAnswers } from "./expectAnswers.js";
import { filesIn, rowsOf, targetOf } from "./indexDirectory.js";
import { columnOf, drawValues, fieldOf, idOf, idsOf, type Value } from "./indexValues.js";

/** Deletes every fifth row and moves the others to the next rows' ids. */
const moves: RowMoves = {
  move(ids) {
    const moved = ids.slice();
    const kept: number[] = [];
    for (let row = 0; row < ids.length / 2; row++) {
      const low = ids[2 * row]!;
      if (low % 5 === 0) continue;
      kept.push(row);
      const target = idOf(low + 10_000);
      moved[2 * row] = Number(target & 0xffff_ffffn);
      moved[2 * row + 1] = Number(target >> 32n);
    }
    return { ids: moved, kept: Uint32Array.from(kept) };
  },
  keepsIds: () => false,
  lowsBelow: () => 10_000,
  keepsFragment: () => false,
};

async function build(kind: IndexKind, type: string, values: readonly Value[], firstRow: number) {
  const field = fieldOf(type);
  const directory = await makeTempDir();
  const ids = values.map((_, row) => idOf(firstRow + row));
  await kind.build(rowsOf(field.type, values, ids), targetOf(directory, field));
  return kind.open(filesIn(directory), field);
}

describe.each([
  [BTREE, "int32"],
  [BTREE, "string"],
  [BTREE, "double"],
  [BITMAP, "bool"],
  [BITMAP, "string"],
  [BITMAP, "uint64"],
] as const)("$name", (kind, type) => {
  const field = fieldOf(type);
  const draw = (seed: number, rowCount: number) =>
    drawValues(new Random(seed), field.type, { rowCount, nulls: 0.2, distinct: 50 });

  it(`a merge joins two segments and new rows of ${type}`, async () => {
    const [a, b, c] = [draw(1, 5000), draw(2, 3), draw(3, 4000)];
    const old = [await build(kind, type, a, 0), await build(kind, type, b, 5000)];
    const directory = await makeTempDir();
    const ids = c.map((_, row) => idOf(5003 + row));
    await kind.merge(
      old.map((index) => ({ index, moves: null })),
      rowsOf(field.type, c, ids),
      targetOf(directory, field),
    );
    const files = filesIn(directory);
    await expectAnswers(type, await kind.open(files, field), [...a, ...b, ...c], new Random(4));
    await files.close();
  });

  it(`a merge maps moved rows of ${type} and drops deleted ones`, async () => {
    const values = draw(5, 6000);
    const old = await build(kind, type, values, 0);
    const directory = await makeTempDir();
    await kind.merge([{ index: old, moves }], rowsOf(field.type, [], []), targetOf(directory, field));
    const files = filesIn(directory);
    const index = await kind.open(files, field);
    const rows = await index.search({ kind: "range", lower: null, upper: null });
    const expected = values.flatMap((value, row) =>
      value !== null && row % 5 !== 0 ? [idOf(row + 10_000)] : [],
    );
    expect(new Set(idsOf(rows.rows))).toEqual(new Set(expected));
    const value = values.find((candidate) => candidate !== null)!;
    const some = await index.search({ kind: "in", values: columnOf(field.type, [value]) });
    expect(idsOf(some.rows).length).toBe(
      values.filter(
        (candidate, row) => row % 5 !== 0 && candidate !== null && Buffer.compare(candidate, value) === 0,
      ).length,
    );
    await files.close();
  });
});

it("a merge maps moved texts", async () => {
  const field = fieldOf("string");
  const values = Array.from({ length: 1000 }, (_, row) => Buffer.from(`text ${row % 10}00`));
  const old = await build(NGRAM, "string", values, 0);
  const directory = await makeTempDir();
  await NGRAM.merge([{ index: old, moves }], rowsOf(field.type, [], []), targetOf(directory, field));
  const index = await NGRAM.open(filesIn(directory), field);
  const { rows } = await index.search({ kind: "contains", text: "300" });
  const expected = [...values.keys()]
    .filter((row) => row % 10 === 3 && row % 5 !== 0)
    .map((row) => idOf(row + 10_000));
  expect(new Set(idsOf(rows))).toEqual(new Set(expected));
});

it("a full set asks only about the rows of its fragment", () => {
  const whole = RowIds.decode(Uint8Array.of(1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0), { path: "", byteOffset: 0 });
  expect(whole.size).toBe(2 ** 32);
  const asked: number[] = [];
  const counting: RowMoves = {
    ...moves,
    lowsBelow: (high) => (high === 7 ? 20 : 0),
    move(ids) {
      asked.push(ids.length / 2);
      return moves.move(ids);
    },
  };
  expect(whole.moved(counting).size).toBe(16);
  expect(asked).toEqual([20]);
  expect(whole.moved({ ...moves, keepsIds: () => true })).toEqual(whole);
});
