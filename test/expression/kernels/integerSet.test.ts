/** Lookups of integers in the chunks of a page give the same rows as lookups of their values. */

import fc from "fast-check";
import { afterEach, expect, it } from "vitest";
import type { FixedColumn } from "../../../src/arrow/columns/column.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { integerSetKernel } from "../../../src/expression/kernels/integerSetKernel.js";
import { membership } from "../../../src/expression/kernels/membership.js";
import { madeBy } from "../../../src/expression/values/operands.js";
import { columnOfScalars, type Scalar } from "../../../src/expression/values/scalars.js";
import { INT32, type ValueType } from "../../../src/expression/values/types.js";
import { decodePage } from "../../../src/file/pages/decodePage.js";
import { encodePages } from "../../../src/file/pages/encodePage.js";

afterEach(() => {
  integerSetKernel.isOn = true;
});

const UINT32: ValueType = { kind: "int", bits: 32, signed: false };
const LAYOUT = { kind: "fixed", byteWidth: 4 } as const;

function stored(column: FixedColumn, isPlain: boolean): FixedColumn {
  const metadata = new Map([
    ["lance-encoding:structural-encoding", "miniblock"],
    isPlain ? ["lance-encoding:compression", "none"] : ["lance-encoding:rle-threshold", "0"],
  ] as const);
  const options = { version: "2.1", nullable: true, path: "c", metadata } as const;
  const [page] = runSync(encodePages(LAYOUT, [column], column.length, options));
  const buffers = page.buffers.map((parts) => Uint8Array.from(Buffer.concat(parts)));
  const allocate = (byteLength: number) => new Uint8Array(byteLength);
  const origin = { path: "t.lance", byteOffset: 0 };
  const read = decodePage(LAYOUT, page.encoding, column.length, buffers, origin, { allocate });
  if (read.kind !== "fixed") throw new Error(read.kind);
  return read;
}

const numbers = (from: number, spread: number, count: number): number[] =>
  Array.from({ length: count }, (_, row) => from + ((Math.imul(row + 1, 2654435761) >>> 7) % spread));

it.each([
  { name: "int32", type: INT32, least: -(2 ** 31), most: 2 ** 31 - 1 },
  { name: "uint32", type: UINT32, least: 0, most: 2 ** 32 - 1 },
])("$name", ({ type, least, most }) => {
  let inPlace = 0;
  const near = fc.oneof(
    fc.constantFrom(least, 0, 1000, most - 2 ** 20),
    fc.integer({ min: least, max: most - 2 ** 20 }),
  );
  fc.assert(
    fc.property(
      near,
      fc.constantFrom(1, 2, 30, 3000, 2 ** 20),
      fc.integer({ min: 1, max: 3000 }),
      fc.array(fc.nat({ max: 2999 }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0, 1, 60, 2 ** 19),
      fc.boolean(),
      fc.boolean(),
      (from, spread, count, picked, aside, hasNulls, isPlain) => {
        const values = numbers(from, spread, count);
        const rows = values.map((value, row): Scalar => (hasNulls && row % 7 === 2 ? null : value));
        const column = columnOfScalars(type, rows) as FixedColumn;
        const listed = picked.map((index) =>
          Math.min(most, (values[index % count] ?? from) + (index % 3 === 0 ? aside : 0)),
        );
        const page = stored(column, isPlain);
        if (page.lazy !== undefined && !isPlain) inPlace++;
        const wanted = new Set<Scalar>(listed);
        const kernel = runSync(membership(columnOfScalars(type, listed), type, false, false));
        for (const isOn of [true, false]) {
          integerSetKernel.isOn = isOn;
          const result = runSync(madeBy(kernel([{ column: page, step: 1 }], count, page.validity)));
          if (result.kind !== "bits") throw new Error(result.kind);
          const bits = rows.map(
            (value, row) => value !== null && ((result.bits[row >>> 3] >>> (row & 7)) & 1) === 1,
          );
          expect(bits).toEqual(rows.map((value) => wanted.has(value)));
        }
      },
    ),
    { numRuns: 40 },
  );
  expect(inPlace).toBeGreaterThan(10);
});
