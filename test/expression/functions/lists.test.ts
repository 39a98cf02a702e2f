/** Compares lists that have an item with a look at each list: sparse and dense ones, empty ones and nulls. */

import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import type { Column } from "../../../src/arrow/columns/column.js";
import { sliceColumn } from "../../../src/arrow/columns/sliceColumn.js";
import { parseType } from "../../../src/arrow/types/type.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { bindFilter } from "../../../src/expression/expression.js";
import { columnOfScalars, type Scalar } from "../../../src/expression/values/scalars.js";
import { INT32, listTypeOf } from "../../../src/expression/values/types.js";
import { decodePage } from "../../../src/file/pages/decodePage.js";
import { encodePages } from "../../../src/file/pages/encodePage.js";
import { loadFunctions } from "../../support/loadFunctions.js";

beforeAll(loadFunctions);

const field = {
  name: "list",
  type: parseType("list"),
  children: [{ name: "item", type: parseType("int32"), children: [] }],
};

const item = fc.option(fc.integer({ min: 0, max: 9 }), { nil: null, freq: 8 });
const lists = fc
  .array(fc.option(fc.array(item, { maxLength: 6 }), { nil: null, freq: 6 }), { minLength: 1, maxLength: 12 })
  .chain((some) =>
    // Few kinds of lists, many times, so that many lists lie between two that have the item.
    fc
      .array(fc.tuple(fc.nat({ max: some.length - 1 }), fc.nat({ max: 70 })), { maxLength: 8 })
      .map((runs) =>
        runs.flatMap(([which, count]) => new Array<(number | null)[] | null>(count).fill(some[which])),
      ),
  );

it("array_has finds the lists that have an item", () => {
  fc.assert(
    fc.property(lists, fc.integer({ min: 0, max: 9 }), (all, wanted) => {
      const column = columnOfScalars(listTypeOf(INT32), all as Scalar[]);
      const has = runSync(bindFilter(`array_has(list, ${wanted})`, {}, [field], "filter"));
      const any = runSync(bindFilter(`array_has_any(list, [${wanted}, 3])`, {}, [field], "filter"));
      const rows = (filter: typeof has) =>
        Array.from(runSync(filter.select([column], all.length)) ?? all.keys());
      const those = (fits: (list: (number | null)[]) => boolean) =>
        [...all.entries()].flatMap(([row, list]) => (list !== null && fits(list) ? [row] : []));
      expect(rows(has)).toEqual(those((list) => list.includes(wanted)));
      expect(rows(any)).toEqual(those((list) => list.includes(wanted) || list.includes(3)));
    }),
  );
});

const LAYOUT = {
  kind: "list",
  offsetBits: 32,
  item: { kind: "fixed", byteWidth: 4 },
  itemNullable: true,
  isMap: false,
} as const;

function stored(column: Column): Column {
  const metadata = new Map([
    ["lance-encoding:structural-encoding", "miniblock"],
    ["lance-encoding:rle-threshold", "0"],
  ]);
  const options = { version: "2.1", nullable: true, path: "list", metadata } as const;
  const [page] = runSync(encodePages(LAYOUT, [column], column.length, options));
  const buffers = page.buffers.map((parts) => Uint8Array.from(Buffer.concat(parts)));
  const origin = { path: "t.lance", byteOffset: 0 };
  const allocate = (byteLength: number) => new Uint8Array(byteLength);
  return decodePage(LAYOUT, page.encoding, column.length, buffers, origin, { allocate });
}

it("array_has finds lists in the chunks of a page, and in slices of it", () => {
  let inPlace = 0;
  fc.assert(
    fc.property(lists, fc.integer({ min: 0, max: 9 }), fc.nat(), fc.nat(), (some, wanted, from, count) => {
      const all = Array.from({ length: 60 }, () => some).flat();
      if (all.length === 0) return;
      const column = columnOfScalars(listTypeOf(INT32), all as Scalar[]);
      const page = stored(column);
      if (page.kind === "list" && page.items.kind === "fixed" && page.items.lazy !== undefined) inPlace++;
      const start = from % all.length;
      const length = 1 + (count % (all.length - start));
      for (const call of [`array_has(list, ${wanted})`, `array_has_any(list, [${wanted}, 3])`]) {
        const filter = runSync(bindFilter(call, {}, [field], "filter"));
        const rows = (lists: Column) =>
          runSync(filter.select([sliceColumn(lists, start, length)], length)) ?? "all";
        expect(rows(page)).toEqual(rows(column));
      }
    }),
  );
  expect(inPlace).toBeGreaterThan(20);
});
