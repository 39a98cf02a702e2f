/** Checks that a double-quoted name that is no column is a text, and that a column stays a column. */

import { expect, it } from "vitest";
import { connect } from "../../src/lancedb/connect.js";
import { makeTempDir } from "../support/tempDir.js";

const ROWS = [
  { name: "ash", wood: "ash", 'a"b': 1, height: 30 },
  { name: "elm", wood: "hard", 'a"b': 2, height: 20 },
  { name: "", wood: "", 'a"b': 3, height: 10 },
];

async function trees() {
  const connection = await connect(await makeTempDir());
  return connection.createTable("trees", ROWS);
}

it.each([
  ['name = "ash"', 1],
  ['"name" = "elm"', 1],
  ['"name" = "wood"', 2],
  ['name IN ("ash", "elm", "oak")', 2],
  ['name LIKE "%s%"', 1],
  ['name = ""', 1],
  ['name != "ash" AND "height" > 15', 1],
  ['"a""b" = 2', 1],
  ["name = '\"ash\"'", 0],
])("a filter with double quotes selects rows: %s", async (filter, count) => {
  const table = await trees();
  expect(await table.countRows(filter)).toBe(count);
});

it("a backquoted name that is no column stays an error", async () => {
  const table = await trees();
  await expect(table.countRows("name = `ash`")).rejects.toThrow(/no column ash|No field named ash/);
});

it("deletions, updates and merges take double-quoted texts", async () => {
  const table = await trees();
  expect(await table.delete('name = "ash"')).toMatchObject({ numDeletedRows: 1 });
  expect(await table.update({ where: 'name = "elm"', values: { height: 25 } })).toMatchObject({
    rowsUpdated: 1,
  });
  const merged = await table
    .mergeInsert("name")
    .whenMatchedUpdateAll({ where: 'target.wood = "hard"' })
    .execute([{ ...ROWS[1], height: 26 }]);
  expect(merged).toMatchObject({ numUpdatedRows: 1 });
});

it("a malformed filter with double quotes fails with its position", async () => {
  const table = await trees();
  await expect(table.countRows('name = "ash')).rejects.toThrow(/unclosed quote at position 7/);
});
