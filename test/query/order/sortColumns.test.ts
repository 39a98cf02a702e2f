import { expect, it } from "vitest";
import { InvalidInputError } from "../../../src/errors.js";
import { sortColumns } from "../../../src/query/order/sortColumns.js";

const read = (orderBy: unknown) =>
  sortColumns(orderBy).map(({ columnName, ascending, nullsFirst }) => [columnName, ascending, nullsFirst]);

it.each([
  [undefined, []],
  [null, []],
  [[], []],
  ["a", [["a", true, false]]],
  ["-a", [["a", false, false]]],
  ["`-a`", [["`-a`", true, false]]],
  [
    ["a", "-b.c"],
    [
      ["a", true, false],
      ["b.c", false, false],
    ],
  ],
  [
    { a: "desc", "b.c": "ASC" },
    [
      ["a", false, false],
      ["b.c", true, false],
    ],
  ],
  [
    [{ a: "desc" }, "b"],
    [
      ["a", false, false],
      ["b", true, false],
    ],
  ],
  [{ columnName: "a", ascending: false, nullsFirst: true }, [["a", false, true]]],
  [[{ columnName: "a" }], [["a", true, false]]],
])("the order %j has one meaning", (orderBy, columns) => {
  expect(read(orderBy)).toEqual(columns);
});

it.each([
  [5, /^orderBy: must be "id"/],
  [["a", null], /^orderBy\[1\]: must be "id".*not null/],
  ["a desc", /^orderBy: write "-a", not "a desc"/],
  [["a ASC"], /^orderBy\[0\]: write "a"/],
  [{}, /^orderBy: must name a column/],
  [{ a: "down" }, /^orderBy.a: must be "asc" or "desc", not "down"/],
  [{ a: false }, /^orderBy.a: must be/],
  [{ columnName: "a", ascendng: true }, /^orderBy.ascendng: .*did you mean ascending/],
  [{ columnName: 5 }, /^orderBy.columnName: must be a text/],
  [{ columnName: "a", ascending: "yes" }, /^orderBy.ascending: must be true or false/],
  [Promise.resolve("a"), /await it first/],
])("the order %j is refused", (orderBy, message) => {
  expect(() => sortColumns(orderBy)).toThrow(InvalidInputError);
  expect(() => sortColumns(orderBy)).toThrow(message);
});
