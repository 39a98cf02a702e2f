import { expect, it } from "vitest";
import { parseType } from "../../src/arrow/types/type.js";
import { atOnce } from "../../src/async/eventLoop.js";
import { TableColumnNotFoundError } from "../../src/errors.js";
import { bindFilter } from "../../src/expression/expression.js";

const int = parseType("int64");
const FIELDS = [
  { name: "a.b", type: int, children: [] },
  { name: "city", type: int, children: [] },
];
const bind = (filter: string) => atOnce(bindFilter(filter, {}, FIELDS, "filter"));

it("a column with a dot in its name is shown in backticks to who leaves them out", () => {
  expect(() => bind("a.b = 1")).toThrow(TableColumnNotFoundError);
  expect(() => bind("a.b = 1")).toThrow("the column of that name is written `a.b`");
  expect(bind("`a.b` = 1").paths).toEqual([["a.b"]]);
});

it("a misspelt column is near another one, and one that has other letters is not", () => {
  expect(() => bind("citty = 1")).toThrow("there is no column citty; near it: city");
  expect(() => bind("town = 1")).toThrow("there is no column town, at");
});
