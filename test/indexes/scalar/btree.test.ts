import { describe, expect, it } from "vitest";
import { BTREE } from "../../../src/indexes/kinds/scalarKinds.js";
import { Random } from "../../support/generators.js";
import { makeTempDir } from "../../support/tempDir.js";
import { expectAnswers } from "../expectAnswers.js";
import { filesIn, rowsOf, targetOf } from "../indexDirectory.js";
import { drawValues, fieldOf, idOf, idsOf, ORDERED_TYPES, text, type ValueShape } from "../indexValues.js";

const SHAPES: ValueShape[] = [
  { rowCount: 0, nulls: 0, distinct: 1 },
  { rowCount: 1, nulls: 0, distinct: 1 },
  { rowCount: 50, nulls: 1, distinct: 1 },
  { rowCount: 300, nulls: 0.2, distinct: 20 },
  { rowCount: 4096, nulls: 0, distinct: 4000 },
  { rowCount: 8500, nulls: 0.4, distinct: 0 },
  { rowCount: 5000, nulls: 0.95, distinct: 100 },
];

describe.each(ORDERED_TYPES)("a BTREE of %s", (type) => {
  const field = fieldOf(type);

  it("accepts the type", () => {
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

it("a BTREE finds texts by prefix", async () => {
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
