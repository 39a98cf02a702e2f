/** Functions load with the first expression that calls one. The tests run in order: none is loaded before. */

import { UnsupportedError } from "tiltyard";
import { expect, it } from "vitest";
import { parseType } from "../../../src/arrow/types/type.js";
import { runAsync, runSync } from "../../../src/async/eventLoop.js";
import { bindFilter } from "../../../src/expression/expression.js";
import { columnOfScalars } from "../../../src/expression/values/scalars.js";
import { INT64, listTypeOf, STRING } from "../../../src/expression/values/types.js";

const FIELDS = [
  { name: "s", type: parseType("string"), children: [] },
  {
    name: "l",
    type: parseType("list"),
    children: [{ name: "item", type: parseType("int64"), children: [] }],
  },
];
const TEXTS = columnOfScalars(STRING, ["Ab", "c", null]);
const LISTS = columnOfScalars(listTypeOf(INT64), [[1n, 2n], [3n], null]);

const filter = (text: string) => bindFilter(text, {}, FIELDS, "filter");

it("filters that indexes answer load no functions", async () => {
  const lists = await runAsync(filter("array_has_any(l, [2, 7])"));
  expect(runSync(lists.select([LISTS], 3))).toEqual(Uint32Array.of(0));
  expect((await runAsync(filter("l[1] = 3 AND s LIKE 'c%'"))).type.kind).toBe("bool");
});

it("binding waits until the functions are loaded", () => {
  expect(() => runSync(filter("upper(s) = 'AB'"))).toThrow("work that waits");
});

it("expressions bound at the same time all get the functions", async () => {
  const texts = ["upper(s) = 'AB'", "lower(s) = 'c'", "length(s) = 2 AND starts_with(s, 'A')"];
  const bound = await Promise.all(texts.map((text) => runAsync(filter(text))));
  expect(bound.map((each) => runSync(each.select([TEXTS], 3)))).toEqual(
    [[0], [1], [0]].map((rows) => Uint32Array.from(rows)),
  );
});

it("loaded functions are there at once, and an unknown function is refused", () => {
  expect(runSync(runSync(filter("upper(s) = 'C'")).select([TEXTS], 3))).toEqual(Uint32Array.of(1));
  expect(() => runSync(filter("nonesuch(s)"))).toThrow(UnsupportedError);
});
