/** Rows with dictionary values, as pages store them, form the same groups as rows with plain values. */

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Column, DictionaryColumn } from "../../../src/arrow/columns/column.js";
import { decodeDictionary } from "../../../src/arrow/columns/dictionaries.js";
import { validityFrom } from "../../../src/arrow/columns/validity.js";
import { uint64Column } from "../../../src/indexes/indexColumns.js";
import type { IndexRows, IndexTarget } from "../../../src/indexes/kind.js";
import { groupByValue } from "../../../src/indexes/scalar/groupByValue.js";
import { rowSorter } from "../../../src/write/indexes/indexRows.js";

const TEXT = { kind: "string", large: false } as const;

/** A dictionary, and an entry or null per row. */
interface Part {
  readonly entries: readonly string[];
  readonly rows: readonly (number | null)[];
}

function textColumn(values: readonly string[]): Extract<Column, { kind: "variable" }> {
  const pieces = values.map((value) => new TextEncoder().encode(value));
  const offsets = new Int32Array(values.length + 1);
  for (const [index, piece] of pieces.entries()) offsets[index + 1] = offsets[index] + piece.length;
  const bytes = Uint8Array.from(pieces.flatMap((piece) => [...piece]));
  return { kind: "variable", length: values.length, validity: null, offsets, bytes };
}

function dictionaryColumn({ entries, rows }: Part): DictionaryColumn {
  const length = rows.length;
  const bits = new Uint8Array((length + 7) >>> 3);
  // The index of a null may be out of range.
  const values = Uint8Array.from(rows, (entry) => entry ?? 255);
  for (const [row, entry] of rows.entries()) if (entry !== null) bits[row >>> 3] |= 1 << (row & 7);
  return {
    kind: "dictionary",
    length,
    validity: validityFrom(bits, 0, length),
    indices: { kind: "fixed", length, validity: null, byteWidth: 1, values },
    dictionary: textColumn(entries),
  };
}

async function* batches(parts: readonly Part[], isPlain: boolean): AsyncGenerator<IndexRows> {
  let low = 0;
  for (const part of parts) {
    const column = dictionaryColumn(part);
    const rowCount = column.length;
    const words = new Uint32Array(2 * rowCount);
    for (let row = 0; row < rowCount; row++) words[2 * row] = low++;
    yield { values: isPlain ? decodeDictionary(column) : column, ids: uint64Column(words), rowCount };
  }
}

/** Never called: there are too few rows. */
const sort: IndexTarget["sort"] = rowSorter({ disk: null as never, root: "" } as never, {});

async function groupsOf(parts: readonly Part[], isPlain: boolean): Promise<[string | null, number[]][]> {
  const groups: [string | null, number[]][] = [];
  for await (const { keys, rows } of groupByValue(batches(parts, isPlain), TEXT, sort)) {
    if (keys.kind !== "variable") throw new Error(`keys of kind ${keys.kind}`);
    for (const [index, ids] of rows.entries()) {
      const text = new TextDecoder().decode(
        keys.bytes.subarray(Number(keys.offsets[index]), Number(keys.offsets[index + 1])),
      );
      groups.push([keys.validity === null ? text : null, [...ids.lows(0, 2 ** 31)]]);
    }
  }
  return groups;
}

const PART = fc.array(fc.string({ maxLength: 3 }), { minLength: 1, maxLength: 6 }).chain((entries) =>
  fc.record({
    entries: fc.constant(entries),
    rows: fc.array(fc.option(fc.nat(entries.length - 1), { freq: 4 }), { maxLength: 30 }),
  }),
);

test("dictionary values form the groups of plain values, despite repeated and unused entries", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(PART, { maxLength: 4 }), async (parts) => {
      expect(await groupsOf(parts, false)).toEqual(await groupsOf(parts, true));
    }),
  );
});

test("groups hold each row once, null first", async () => {
  const parts = [
    { entries: ["b", "unused", "a", "b"], rows: [0, 3, null, 2] },
    { entries: ["a", "c"], rows: [1, 0, null] },
  ];
  expect(await groupsOf(parts, false)).toEqual([
    [null, [2, 6]],
    ["a", [3, 5]],
    ["b", [0, 1]],
    ["c", [4]],
  ]);
});
