/** FM indexes of several files: kept, joined and cut when rows come and go. */

import { readdir } from "node:fs/promises";
import { expect, it } from "vitest";
import type { OldSegment, OpenIndex } from "../../../src/indexes/kind.js";
import { FM } from "../../../src/indexes/kinds/scalarKinds.js";
import type { RowMoves } from "../../../src/indexes/moves.js";
import { makeTempDir } from "../../support/tempDir.js";
import { filesIn, rowsOf, targetOf } from "../indexDirectory.js";
import { fieldOf, type Value } from "../indexValues.js";

const field = fieldOf("string");
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

interface Made {
  readonly directory: string;
  readonly index: OpenIndex;
}

/** Merges segments and rows of a fragment. */
async function make(
  old: readonly OldSegment<OpenIndex>[],
  values: readonly Value[],
  fragment: bigint,
): Promise<Made> {
  const directory = await makeTempDir();
  const ids = values.map((_, row) => (fragment << 32n) + BigInt(row));
  await FM.merge(old, rowsOf(field.type, values, ids), targetOf(directory, field));
  return { directory, index: await FM.open(filesIn(directory), field) };
}

/** Rows with a text: fragments and offsets. */
async function find(index: OpenIndex, text: string): Promise<string[]> {
  const { rows } = await index.search({ kind: "contains", text });
  return rows.highWords().flatMap((high) => Array.from(rows.lows(high, 2 ** 32), (low) => `${high}:${low}`));
}

const keeping = (fragments: readonly number[]): RowMoves => ({
  move: (ids) => ({ ids, kept: null }),
  keepsIds: (high) => fragments.includes(high),
  lowsBelow: () => 2 ** 32 - 1,
  keepsFragment: (fragment) => fragments.includes(fragment),
});

const textsOf = (word: string, count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, row) => bytesOf(`${word} number ${row}.`));

it("documents are divided among files, and nulls are left out", async () => {
  const values = [null, ...textsOf("red", 10_050), null];
  const { directory, index } = await make([], values, 3n);
  expect((await readdir(directory)).sort()).toEqual(["part_0_fm.lance", "part_1_fm.lance"]);
  expect(await find(index, "red number 0.")).toEqual(["3:1"]);
  expect(await find(index, "number 10049.")).toEqual(["3:10050"]);
  expect(await find(index, "blue")).toEqual([]);
});

it("a merge copies large files, joins small ones and leaves out rows of lost fragments", async () => {
  const large = await make([], textsOf("red", 6000), 1n);
  const small = await make([], textsOf("blue", 20), 2n);
  const lost = await make([], textsOf("green", 30), 3n);
  const mixed = await make([{ index: lost.index, moves: null }], textsOf("grey", 30), 4n);
  const old = [large, small, mixed].map(({ index }) => ({ index, moves: keeping([1, 2, 4]) }));
  const { directory, index } = await make(old, textsOf("new", 10), 5n);
  expect((await readdir(directory)).sort()).toEqual(["part_0_fm.lance", "part_1_fm.lance"]);
  expect(await find(index, "red number 5999.")).toEqual(["1:5999"]);
  expect(await find(index, "blue number 7.")).toEqual(["2:7"]);
  expect(await find(index, "grey number 9.")).toEqual(["4:9"]);
  expect(await find(index, "new number 9.")).toEqual(["5:9"]);
  expect(await find(index, "green")).toEqual([]);
});

it("an index without rows finds none", async () => {
  const { directory, index } = await make([], [null, null], 0n);
  expect(await readdir(directory)).toEqual(["part_0_fm.lance"]);
  expect(await find(index, "a")).toEqual([]);
  const merged = await make([{ index, moves: null }], textsOf("later", 3), 1n);
  expect(await find(merged.index, "later number 2")).toEqual(["1:2"]);
});

it("bytes 0 and 255 are spaces, which the caller rechecks", async () => {
  const { index } = await make([], [bytesOf("a\0b"), Uint8Array.of(97, 255, 98), bytesOf("a b")], 0n);
  const answer = await index.search({ kind: "contains", text: "a b" });
  expect(answer.isExact).toBe(false);
  expect(answer.rows.size).toBe(3);
  expect(index.answers({ kind: "contains", text: "a\0b" })).toBe(false);
  expect(index.answers({ kind: "contains", text: "" })).toBe(false);
});
