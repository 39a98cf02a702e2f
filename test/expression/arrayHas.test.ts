/** Lists that have an item, beside looking at each list: sparse and dense ones, empty ones and nulls among them. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { parseType } from "../../src/arrow/types/type.js";
import { atOnce } from "../../src/async/eventLoop.js";
import { bindFilter } from "../../src/expression/expression.js";
import { columnOfScalars, type Scalar } from "../../src/expression/values/scalars.js";
import { INT32, listTypeOf } from "../../src/expression/values/types.js";

const field = {
  name: "list",
  type: parseType("list"),
  children: [{ name: "item", type: parseType("int32"), children: [] }],
};

const item = fc.option(fc.integer({ min: 0, max: 9 }), { nil: null, freq: 8 });
const lists = fc
  .array(fc.option(fc.array(item, { maxLength: 6 }), { nil: null, freq: 6 }), { minLength: 1, maxLength: 12 })
  .chain((some) =>
    // Few kinds of lists, many times: so that many lie between two that have the item.
    fc
      .array(fc.tuple(fc.nat({ max: some.length - 1 }), fc.nat({ max: 70 })), { maxLength: 8 })
      .map((runs) =>
        runs.flatMap(([which, count]) => new Array<(number | null)[] | null>(count).fill(some[which])),
      ),
  );

it("are found", () => {
  fc.assert(
    fc.property(lists, fc.integer({ min: 0, max: 9 }), (all, wanted) => {
      const column = columnOfScalars(listTypeOf(INT32), all as Scalar[]);
      const has = atOnce(bindFilter(`array_has(list, ${wanted})`, {}, [field], "filter"));
      const any = atOnce(bindFilter(`array_has_any(list, [${wanted}, 3])`, {}, [field], "filter"));
      const rows = (filter: typeof has) => Array.from(filter.select([column], all.length) ?? all.keys());
      const those = (fits: (list: (number | null)[]) => boolean) =>
        [...all.entries()].flatMap(([row, list]) => (list !== null && fits(list) ? [row] : []));
      expect(rows(has)).toEqual(those((list) => list.includes(wanted)));
      expect(rows(any)).toEqual(those((list) => list.includes(wanted) || list.includes(3)));
    }),
  );
});
