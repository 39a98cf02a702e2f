/** Rows of an index sorted by value in memory, with computed ids or with the ids as data. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Column } from "../../../src/arrow/columns/column.js";
import type { LogicalType } from "../../../src/arrow/types/type.js";
import { integerWords, uint64Column } from "../../../src/indexes/indexColumns.js";
import type { IndexRows, RowStream } from "../../../src/indexes/kind.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { ScratchMemory } from "../../../src/io/memory/scratch.js";
import { TemporaryFile } from "../../../src/io/temporaryFile.js";
import { sortByValue } from "../../../src/write/indexes/sortByValue.js";
import { sharedDirectory } from "../../support/fixtures.js";

const INT32 = { kind: "int", bits: 32, signed: true } as const;

const directory = sharedDirectory();

const makeFile = () => TemporaryFile.create(new NodeDisk({ durability: "none" }), directory);

interface Part {
  readonly values: readonly (number | null)[];
  readonly high: number;
  readonly low: number;
}

function columnOf(values: readonly (number | null)[]): Column {
  const numbers = Int32Array.from(values, (value) => value ?? 77);
  const bytes = new Uint8Array(Math.ceil(values.length / 8));
  for (const [row, value] of values.entries()) if (value !== null) bytes[row >>> 3] |= 1 << (row & 7);
  const nullCount = values.filter((value) => value === null).length;
  return {
    kind: "fixed",
    length: values.length,
    validity: nullCount === 0 ? null : { bytes, bitOffset: 0, nullCount },
    byteWidth: 4,
    values: new Uint8Array(numbers.buffer),
  };
}

async function* batches(parts: readonly Part[], withRuns: (index: number) => boolean) {
  for (const [index, { values, high, low }] of parts.entries()) {
    const words = new Uint32Array(2 * values.length);
    for (const row of values.keys()) {
      words[2 * row] = low + row;
      words[2 * row + 1] = high;
    }
    const rows: IndexRows = { values: columnOf(values), ids: uint64Column(words), rowCount: values.length };
    yield withRuns(index) ? { ...rows, firstId: { high, low } } : rows;
  }
}

async function sorted(
  parts: readonly Part[],
  withRuns: (index: number) => boolean,
  sortBytes?: number,
): Promise<[number | null, number, number][]> {
  const rows: [number | null, number, number][] = [];
  const options = { makeFile, ...(sortBytes !== undefined && { sortBytes }) };
  for await (const { values, ids, rowCount } of sortByValue(batches(parts, withRuns), INT32, options)) {
    if (values.kind !== "fixed") throw new Error(`a column of kind ${values.kind}`);
    const numbers = new Int32Array(values.values.buffer, values.values.byteOffset, rowCount);
    const words = integerWords(ids, "ids");
    for (let row = 0; row < rowCount; row++) {
      const { validity } = values;
      const isThere =
        validity === null ||
        ((validity.bytes[(validity.bitOffset + row) >>> 3] >> ((validity.bitOffset + row) & 7)) & 1) === 1;
      rows.push([isThere ? numbers[row] : null, words[2 * row + 1], words[2 * row]]);
    }
  }
  return rows;
}

/** Sorts rows in order, as the engine does: rows of equal values keep their order. */
function expected(parts: readonly Part[]): [number | null, number, number][] {
  const rows = parts.flatMap(({ values, high, low }) =>
    values.map((value, row): [number | null, number, number] => [value, high, low + row]),
  );
  const rank = (value: number | null): number => value ?? Number.NEGATIVE_INFINITY;
  return rows.sort(([a], [b]) => (rank(a) === rank(b) ? 0 : rank(a) < rank(b) ? -1 : 1));
}

const part = fc.record({
  values: fc.array(fc.option(fc.oneof(fc.integer({ min: -3, max: 3 }), fc.integer())), { maxLength: 900 }),
  high: fc.nat(3),
  low: fc.oneof(fc.nat(5000), fc.constant(2 ** 32 - 1000)),
});

describe("the rows of an index by value", () => {
  test("have their ids for any form of ids and any memory", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 8 }), fc.nat(8), async (parts, firstWithout) => {
        const rows = expected(parts);
        expect(await sorted(parts, () => true)).toEqual(rows);
        expect(await sorted(parts, () => false)).toEqual(rows);
        expect(await sorted(parts, (index) => index !== firstWithout)).toEqual(rows);
        expect(await sorted(parts, () => true, 2000)).toEqual(rows);
      }),
      { numRuns: 60 },
    );
  });

  test("take the ids of runs of consecutive batches, and of blocks beyond the first", async () => {
    const parts = Array.from({ length: 18 }, (_, index) => ({
      values: Array.from({ length: 4001 }, (_, row) => Math.imul(row + index, 2_654_435_761) >> 20),
      high: index >> 3,
      low: index % 3 === 0 ? index * 4001 : index * 5000,
    }));
    expect(await sorted(parts, () => true)).toEqual(expected(parts));
  });

  test.each<LogicalType>([
    INT32,
    { kind: "int", bits: 32, signed: false },
    { kind: "float", bits: 32 },
    { kind: "fixedSizeBinary", bytes: 4 },
  ])("keep every bit of $kind of 4 bytes, sorted by it", async (type) => {
    // Float bit patterns: 0 and -0, infinities, NaNs of both signs, and numbers in between.
    const bits = [
      0, 0x8000_0000, 0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xffc0_0001, 0x3f80_0000, 0xbf80_0000,
    ];
    const all = Uint32Array.from({ length: 3000 }, (_, row) =>
      row < 1000 ? bits[row % bits.length] : Math.imul(row, 2_654_435_761),
    );
    const values = new Uint8Array(all.buffer);
    const column: Column = { kind: "fixed", length: all.length, validity: null, byteWidth: 4, values };
    const ids = Uint32Array.from({ length: 2 * all.length }, (_, word) => (word % 2 === 0 ? word / 2 : 7));
    const of = async (rows: IndexRows): Promise<number[]> => {
      const sortedIds: number[] = [];
      const input = (async function* () {
        yield rows;
      })();
      for await (const { values: blockValues, ids: ownIds } of sortByValue(input, type, { makeFile })) {
        sortedIds.push(...integerWords(blockValues, "values"), ...integerWords(ownIds, "ids"));
      }
      return sortedIds;
    };
    const rows = { values: column, ids: uint64Column(ids), rowCount: all.length };
    // Without runs the rows are sorted with all their columns.
    expect(await of({ ...rows, firstId: { high: 7, low: 0 } })).toEqual(await of(rows));
  });

  test.each([
    4, 8,
  ])("are copied from transient batches to transient blocks, $0 bytes each", async (byteWidth) => {
    const type: LogicalType = { kind: "int", bits: byteWidth === 4 ? 32 : 64, signed: true };
    const words = byteWidth / 4;
    const counts = [40_000, 1, 70_000, 9000];
    const rowCount = counts.reduce((sum, count) => sum + count, 0);
    for (const isSorted of [true, false]) {
      const value = (row: number): number => (isSorted ? row : Math.imul(row, 2_654_435_761) >> 4);
      const memory = new Uint32Array(words * 70_000);
      const rows = (async function* (): RowStream {
        let first = 0;
        for (const [index, count] of counts.entries()) {
          for (let row = 0; row < count; row++) {
            memory[words * row] = value(first + row);
            if (words === 2) memory[2 * row + 1] = value(first + row) >> 31;
          }
          const bytes = new Uint8Array(memory.buffer, 0, byteWidth * count);
          const values: Column = { kind: "fixed", length: count, validity: null, byteWidth, values: bytes };
          const ids = uint64Column(new Uint32Array(2 * count));
          const firstId = { high: index, low: first };
          yield { values, ids, firstId, rowCount: count, isTransient: true };
          memory.fill(0);
          first += count;
        }
      })();
      const scratch = new ScratchMemory(2 ** 26);
      const seen: number[] = [];
      const order: number[] = [];
      const request = { makeFile, scratch, rowCount, isTransient: true };
      for await (const block of sortByValue(rows, type, request)) {
        expect(block.isTransient).toBe(true);
        const stored = integerWords(block.values, "values");
        const ids = integerWords(block.ids, "ids");
        for (let row = 0; row < block.rowCount; row++) {
          order.push(stored[words * row] | 0);
          const id = ids[2 * row];
          seen.push(id);
          if (value(id) !== (stored[words * row] | 0)) throw new Error(`row ${id} has another value`);
        }
        // The next block may use the memory again.
        stored.fill(0);
        ids.fill(0);
      }
      expect(order.every((each, row) => row === 0 || order[row - 1] <= each)).toBe(true);
      expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: rowCount }, (_, row) => row));
      expect(scratch.weight).toBeGreaterThan(rowCount * byteWidth);
    }
  });

  test("of transient batches without runs of ids are copied, beside gathered ones", async () => {
    const memory = new Int32Array(1000);
    const rows = (async function* (): RowStream {
      for (let batch = 0; batch < 6; batch++) {
        for (let row = 0; row < 1000; row++) memory[row] = (6 - batch) * 1000 - row;
        const ids = new Uint32Array(2 * 1000).map((_, word) =>
          word % 2 === 0 ? 1000 * batch + word / 2 : 0,
        );
        const values = new Uint8Array(memory.buffer);
        yield {
          values: { kind: "fixed", length: 1000, validity: null, byteWidth: 4, values },
          ids: uint64Column(ids),
          rowCount: 1000,
          isTransient: true,
          ...(batch < 3 && { firstId: { high: 0, low: 1000 * batch } }),
        };
        memory.fill(0);
      }
    })();
    const all: number[] = [];
    const request = { makeFile, scratch: new ScratchMemory(2 ** 26), isTransient: true };
    for await (const { values, ids, rowCount } of sortByValue(rows, INT32, request)) {
      const numbers = new Int32Array(integerWords(values, "values"));
      const words = integerWords(ids, "ids");
      for (let row = 0; row < rowCount; row++) {
        all.push(numbers[row]);
        expect(words[2 * row]).toBe(6000 - numbers[row]);
      }
    }
    expect(all).toEqual(Array.from({ length: 6000 }, (_, row) => row + 1));
  });

  const of64 = fc.constantFrom<LogicalType>(
    { kind: "int", bits: 64, signed: true },
    { kind: "int", bits: 64, signed: false },
    { kind: "float", bits: 64 },
    { kind: "timestamp", unit: "us", timezone: null },
    { kind: "fixedSizeBinary", bytes: 8 },
  );
  const bits64 = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    // Zeros, infinities and NaN of both signs, and numbers beside zero.
    fc.constantFrom(0n, 1n, 2n ** 63n, 2n ** 64n - 1n, 0x7ff0n << 48n, 0xfff0n << 48n, 0x7ff8n << 48n),
  );

  test("keep every bit of values of 8 bytes, in any order and in order", async () => {
    await fc.assert(
      fc.asyncProperty(
        of64,
        fc.array(fc.array(bits64, { maxLength: 700 }), { maxLength: 4 }),
        fc.boolean(),
        async (type, values, isSorted) => {
          const parts = isSorted ? cutLike(values, sortedBits(values.flat(), type)) : values;
          const rows = (withRuns: boolean): RowStream =>
            (async function* () {
              for (const [index, some] of parts.entries()) {
                const bytes = new Uint8Array(BigUint64Array.from(some).buffer);
                const ids = Uint32Array.from({ length: 2 * some.length }, (_, word) =>
                  word & 1 ? index : word / 2,
                );
                yield {
                  values: { kind: "fixed", length: some.length, validity: null, byteWidth: 8, values: bytes },
                  ids: uint64Column(ids),
                  rowCount: some.length,
                  ...(withRuns && { firstId: { high: index, low: 0 } }),
                };
              }
            })();
          const wordsOf = async (input: RowStream): Promise<number[][]> => {
            const all: number[][] = [];
            for await (const block of sortByValue(input, type, { makeFile })) {
              const words = integerWords(block.values, "values");
              const ids = integerWords(block.ids, "ids");
              for (let row = 0; row < block.rowCount; row++)
                all.push([words[2 * row], words[2 * row + 1], ids[2 * row], ids[2 * row + 1]]);
            }
            return all;
          };
          // Without runs the rows are sorted with all their columns.
          expect(await wordsOf(rows(true))).toEqual(await wordsOf(rows(false)));
        },
      ),
      { numRuns: 60 },
    );
  });
});

function sortedBits(bits: readonly bigint[], type: LogicalType): bigint[] {
  const sign = 1n << 63n;
  const all = (1n << 64n) - 1n;
  const isSigned = type.kind !== "fixedSizeBinary" && (type.kind !== "int" || type.signed);
  const key = (value: bigint): bigint => {
    if (type.kind === "float") return value & sign ? value ^ all : value ^ sign;
    return isSigned ? value ^ sign : value;
  };
  return [...bits].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

/** Cuts values into parts as long as those of a sample. */
function cutLike(sample: readonly (readonly bigint[])[], values: readonly bigint[]): bigint[][] {
  let start = 0;
  return sample.map(({ length }) => {
    const part = values.slice(start, start + length);
    start += length;
    return part;
  });
}
