import { beforeAll, expect, it } from "vitest";
import { parseType } from "../../../src/arrow/types/type.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { TableColumnNotFoundError } from "../../../src/errors.js";
import { bindFilter } from "../../../src/expression/expression.js";
import { loadFunctions } from "../../support/loadFunctions.js";

beforeAll(loadFunctions);

const int = parseType("int64");
const FIELDS = [
  { name: "a.b", type: int, children: [] },
  { name: "city", type: int, children: [] },
  { name: "user-id", type: int, children: [] },
  { name: "user-id-2", type: int, children: [] },
  {
    name: "p",
    type: parseType("struct"),
    children: [
      { name: "a/b", type: int, children: [] },
      { name: "deep", type: int, children: [] },
    ],
  },
];
const bind = (filter: string) => runSync(bindFilter(filter, {}, FIELDS, "filter"));

it("the error about a name with a dot shows it in backticks", () => {
  expect(() => bind("a.b = 1")).toThrow(TableColumnNotFoundError);
  expect(() => bind("a.b = 1")).toThrow("the column of that name is written `a.b`");
  expect(bind("`a.b` = 1").paths).toEqual([["a.b"]]);
});

it.each([
  ["user-id = 1", "`user-id`"],
  ["city = 1 and user-id-2>1", "`user-id-2`"],
  ["p.a/b = 1", "p.`a/b`"],
])("a column with a sign in its name is shown in backticks to who writes %s", (filter, shown) => {
  expect(() => bind(filter)).toThrow(`the column of that name is written ${shown},`);
});

it("a difference of columns is not taken for a name with a minus", () => {
  expect(() => bind("user-idx = 1")).toThrow("there is no column user, at");
  expect(() => bind("p.dep = 1")).toThrow("there is no column p.dep; near it: p.deep,");
});

it("the error suggests near names, and no names with other letters", () => {
  expect(() => bind("citty = 1")).toThrow("there is no column citty; near it: city");
  expect(() => bind("town = 1")).toThrow("there is no column town, at");
});
