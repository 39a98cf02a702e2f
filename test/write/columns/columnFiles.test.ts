import { Table } from "apache-arrow";
import { int64s } from "../../support/arrowColumns.js";
import { expect, it } from "../../support/fixtures.js";

it("the first row that cannot be cast is named, although a later fragment fails sooner", async ({ ns }) => {
  const first = Array.from({ length: 60_000 }, () => 1n);
  first[59_999] = 2n ** 40n;
  await ns.createTable({ id: ["t"] }, new Table({ x: int64s(first) }));
  await ns.insertIntoTable({ id: ["t"] }, new Table({ x: int64s([2n ** 41n]) }));
  const cast = ns.alterTableAlterColumns({
    id: ["t"],
    alterations: [{ path: "x", dataType: { type: "int32" } }],
  });
  await expect(cast).rejects.toThrow("row 59999");
  expect((await ns.describeTable({ id: ["t"] })).version).toBe(2);
});

it("columns computed for several fragments at once have the values of their rows", async ({ ns }) => {
  const values = Array.from({ length: 20_000 }, (_, row) => BigInt(row));
  await ns.createTable({ id: ["t"] }, new Table({ x: int64s(values) }));
  for (let fragment = 0; fragment < 4; fragment++)
    await ns.insertIntoTable({ id: ["t"] }, new Table({ x: int64s(values) }));
  await ns.alterTableAddColumns({
    id: ["t"],
    newColumns: [
      { name: "text", expression: "concat('row ', cast(x as string))" },
      { name: "half", expression: "x / 2.0" },
    ],
  });
  const rows = await (await ns.queryTable({ id: ["t"], columns: ["x", "text", "half"] })).toArrow();
  expect(rows.numRows).toBe(100_000);
  const [texts, halves] = [rows.getChild("text"), rows.getChild("half")];
  for (let row = 0; row < rows.numRows; row++) {
    if (texts?.get(row) === `row ${row % 20_000}` && halves?.get(row) === (row % 20_000) / 2) continue;
    throw new Error(`row ${row} is ${texts?.get(row)}, ${halves?.get(row)}`);
  }
});
