import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BitsColumn, FixedColumn } from "../../../src/arrow/columns/column.js";
import { sliceColumn } from "../../../src/arrow/columns/sliceColumn.js";
import { isValid } from "../../../src/arrow/columns/validity.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { unitKernels } from "../../../src/expression/kernels/chunkKernel.js";
import { comparison } from "../../../src/expression/kernels/compare.js";
import { madeBy } from "../../../src/expression/values/operands.js";
import type { ValueType } from "../../../src/expression/values/types.js";
import { decodePage } from "../../../src/file/pages/decodePage.js";
import { encodePages } from "../../../src/file/pages/encodePage.js";

const ORIGIN = { path: "t.lance", byteOffset: 0 };
const OPERATORS = ["=", "!=", "<", "<=", ">", ">="] as const;

const TYPES = {
  int32: { type: { kind: "int", bits: 32, signed: true }, Lane: Int32Array },
  uint32: { type: { kind: "int", bits: 32, signed: false }, Lane: Uint32Array },
  int64: { type: { kind: "int", bits: 64, signed: true }, Lane: BigInt64Array },
  uint64: { type: { kind: "int", bits: 64, signed: false }, Lane: BigUint64Array },
  float32: { type: { kind: "float", bits: 32 }, Lane: Float32Array },
  float64: { type: { kind: "float", bits: 64 }, Lane: Float64Array },
} as const satisfies Record<string, { type: ValueType; Lane: unknown }>;

type Lane = Int32Array | Uint32Array | BigInt64Array | BigUint64Array | Float32Array | Float64Array;

function columnOf(values: Lane, nulls: boolean): FixedColumn {
  const bytes = new Uint8Array(values.buffer);
  const { length, BYTES_PER_ELEMENT: byteWidth } = values;
  const bits = new Uint8Array((length + 7) >>> 3).fill(0xb7);
  let nullCount = 0;
  for (let row = 0; row < length; row++) nullCount += 1 - ((bits[row >>> 3] >>> (row & 7)) & 1);
  const validity = nulls && nullCount > 0 ? { bytes: bits, bitOffset: 0, nullCount } : null;
  return { kind: "fixed", byteWidth, length, validity, values: bytes };
}

function stored(column: FixedColumn, isPlain: boolean): FixedColumn {
  const layout = { kind: "fixed", byteWidth: column.byteWidth } as const;
  const metadata = new Map([["lance-encoding:structural-encoding", "miniblock"]]);
  if (isPlain) metadata.set("lance-encoding:compression", "none");
  else metadata.set("lance-encoding:rle-threshold", "0");
  const options = { version: "2.1", nullable: column.validity !== null, path: "c", metadata } as const;
  const [page] = runSync(encodePages(layout, [column], column.length, options));
  const buffers = page.buffers.map((parts) => Uint8Array.from(parts.flatMap((part) => [...part])));
  const allocate = (byteLength: number) => new Uint8Array(byteLength);
  const read = decodePage(layout, page.encoding, column.length, buffers, ORIGIN, { allocate });
  if (read.kind !== "fixed") throw new Error(read.kind);
  return read;
}

/** Values of several widths; the width changes every 1,024 values. */
function laneOf(name: keyof typeof TYPES, count: number, seed: number): Lane {
  const { Lane } = TYPES[name];
  let state = seed | 1;
  const next = (): number => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    return state >>> 0;
  };
  const value = (row: number): number | bigint => {
    // All bit widths up to that of the word, and negative numbers.
    const width = (seed + (row >>> 10) * 7) % (name.endsWith("64") ? 65 : 33);
    if (name.startsWith("float")) return row % 97 === 0 ? Number.NaN : (next() % 1000) / 8 - 60;
    const wide = (BigInt(next()) << 32n) | BigInt(next());
    const bits = wide & ((1n << BigInt(width)) - 1n);
    return name.endsWith("64") ? bits : Number(bits & 0xffff_ffffn);
  };
  return (Lane as { from(all: unknown[]): Lane }).from(Array.from({ length: count }, (_, row) => value(row)));
}

/** The bits of rows that are not null; those of nulls are arbitrary. */
const ofRows = (bits: Uint8Array, { length, validity }: FixedColumn): string =>
  Array.from({ length }, (_, row) =>
    isValid(validity, row) ? (bits[row >>> 3] >>> (row & 7)) & 1 : "-",
  ).join("");

/** The bytes of the values of rows that are not null. */
const valuesOf = ({ values, byteWidth, length, validity }: FixedColumn): string[] =>
  Array.from({ length }, (_, row) =>
    isValid(validity, row)
      ? Buffer.from(values.subarray(row * byteWidth, (row + 1) * byteWidth)).toString("hex")
      : "null",
  );

const forEachKernel = (isOn: boolean) => {
  for (const uses of Object.values(unitKernels)) for (const use of Object.values(uses)) use.isOn = isOn;
};

describe.each(Object.keys(TYPES) as (keyof typeof TYPES)[])("%s in chunks", (name) => {
  const { type, Lane } = TYPES[name];

  it("compare with a number like their values", () => {
    let inPlace = 0;
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        fc.integer({ min: 1, max: 5000 }),
        fc.boolean(),
        fc.boolean(),
        fc.nat(),
        (seed, count, nulls, isPlain, picked) => {
          const values = laneOf(name, count, seed);
          const column = columnOf(values, nulls);
          const chunked = stored(column, isPlain);
          if (chunked.lazy !== undefined) inPlace++;
          const one = (Lane as { of(value: unknown): Lane }).of(values[picked % count]);
          if (Number.isNaN(Number(one[0]))) return;
          const number = { column: columnOf(one, false), step: 0 } as const;
          for (const operator of OPERATORS) {
            for (const isTurned of [false, true]) {
              const ask = (side: FixedColumn) => {
                const operand = { column: side, step: 1 } as const;
                const operands = isTurned ? [number, operand] : [operand, number];
                return (
                  runSync(madeBy(comparison(operator, type)(operands, count, column.validity))) as BitsColumn
                ).bits;
              };
              expect(ofRows(ask(chunked), column)).toBe(ofRows(ask(column), column));
            }
          }
          // The comparison must not change the values.
          expect(valuesOf(chunked)).toEqual(valuesOf(column));
        },
      ),
      { numRuns: 40 },
    );
    expect(inPlace).toBeGreaterThan(20);
  });

  it("keep their values when sliced, and without kernels", () => {
    const values = laneOf(name, 3000, 77);
    const column = columnOf(values, true);
    const chunked = stored(column, false);
    expect(chunked.validity?.nullCount).toBe(column.validity?.nullCount);
    const part = sliceColumn(chunked, 1000, 1500);
    expect(part.lazy).toBeUndefined();
    expect(valuesOf(part)).toEqual(valuesOf(sliceColumn(column, 1000, 1500)));
    const number = { column: columnOf(values.slice(5, 6), false), step: 0 } as const;
    const ask = (side: FixedColumn) =>
      (runSync(madeBy(comparison("<", type)([{ column: side, step: 1 }, number], 3000, null))) as BitsColumn)
        .bits;
    const expected = ask(column);
    forEachKernel(false);
    const bits = ask(stored(column, false));
    forEachKernel(true);
    expect(ofRows(bits, column)).toBe(ofRows(expected, column));
  });
});
