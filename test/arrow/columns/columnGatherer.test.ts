import fc from "fast-check";
import { expect, it } from "vitest";
import type { Column, VariableColumn } from "../../../src/arrow/columns/column.js";
import {
  ColumnGatherer,
  type GatherMemory,
  isGatherable,
} from "../../../src/arrow/columns/columnGatherer.js";
import { concatColumns } from "../../../src/arrow/columns/concatColumns.js";
import { sliceColumn } from "../../../src/arrow/columns/sliceColumn.js";
import { takeColumn } from "../../../src/arrow/columns/takeColumn.js";
import { columnFromData } from "../../../src/arrow/exchange/wholeData.js";
import { layoutOf } from "../../../src/arrow/types/layouts.js";
import { sharedCopy } from "../../../src/bytes/sharedCopy.js";
import { UnsupportedError } from "../../../src/errors.js";
import { TYPE_NAMES } from "../../support/generators.js";
import { makeNestedTable, nestedTableSpecs } from "../../support/nestedGenerators.js";

/** Dirty memory, which is overwritten when it is returned. */
function dirtyMemory() {
  const lent = new Set<Uint8Array>();
  const memory: GatherMemory = {
    lend(byteLength) {
      const bytes = new Uint8Array(byteLength).fill(0xa5);
      lent.add(bytes);
      return bytes;
    },
    giveBack(bytes) {
      expect(lent.delete(bytes)).toBe(true);
      bytes.fill(0x5a);
    },
  };
  return { memory, lent };
}

const allRows = (column: Column): Column =>
  takeColumn(
    column,
    Uint32Array.from({ length: column.length }, (_, row) => row),
  );

function gather(columns: readonly Column[], rowCount: number, memory: GatherMemory): Column {
  const gatherer = new ColumnGatherer(columns[0], rowCount, memory);
  for (const column of columns) {
    let lentBytes = new Uint8Array(new SharedArrayBuffer(0));
    const passing = sharedCopy(column, (byteLength) => {
      lentBytes = new Uint8Array(new SharedArrayBuffer(byteLength));
      return lentBytes;
    });
    gatherer.append(passing);
    lentBytes.fill(0xff);
  }
  return gatherer.finish();
}

it("a gatherer copies columns of any nesting, in any pieces", () => {
  const specs = nestedTableSpecs({ emptyStructs: "anywhere", types: [...TYPE_NAMES, "null"], maxRows: 60 });
  fc.assert(
    fc.property(
      specs,
      fc.array(fc.nat(30), { minLength: 1, maxLength: 6 }),
      fc.nat(120),
      (spec, lengths, expectedRows) => {
        const table = makeNestedTable(spec);
        for (const [index, field] of table.schema.fields.entries()) {
          const column = columnFromData(table.batches[0].data.children[index], layoutOf(field.type, "c"));
          const pieces: Column[] = [];
          let start = 0;
          for (const wanted of [...lengths, column.length]) {
            const length = Math.min(wanted, column.length - start);
            pieces.push(sliceColumn(column, start, length));
            start += length;
          }
          expect(isGatherable(column)).toBe(true);
          const { memory } = dirtyMemory();
          const gathered = gather(pieces, expectedRows, memory);
          expect(gathered.length).toBe(column.length);
          expect(allRows(gathered)).toEqual(allRows(concatColumns(pieces)));
        }
      },
    ),
  );
});

it("a gatherer gives back outgrown memory, and counts the bytes that it holds", () => {
  const texts = (length: number, text: string): VariableColumn => ({
    kind: "variable",
    length,
    validity: null,
    offsets: Int32Array.from({ length: length + 1 }, (_, row) => row * text.length),
    bytes: new TextEncoder().encode(text.repeat(length)),
  });
  const { memory, lent } = dirtyMemory();
  const gatherer = new ColumnGatherer(texts(2, ""), 2, memory);
  for (let piece = 0; piece < 50; piece++) {
    gatherer.append(texts(piece, "text"));
    const held = [...lent].reduce((sum, bytes) => sum + bytes.length, 0);
    expect(gatherer.heldBytes).toBe(held);
  }
  const whole = gatherer.finish() as VariableColumn;
  expect(whole.length).toBe(1225);
  expect(new TextDecoder().decode(whole.bytes)).toBe("text".repeat(1225));
  expect(lent.size).toBe(2);
});

it("a gatherer refuses more bytes than 32-bit offsets express, and dictionaries", () => {
  const large: VariableColumn = {
    kind: "variable",
    length: 1,
    validity: null,
    offsets: Int32Array.of(0, 0x40000000),
    // Never copied: the check comes first.
    bytes: { subarray: () => ({ length: 0x40000000 }) } as unknown as Uint8Array,
  };
  const memory: GatherMemory = {
    lend: (byteLength) =>
      byteLength < 1000
        ? new Uint8Array(byteLength)
        : ({ length: byteLength, set: () => undefined } as never),
    giveBack: () => undefined,
  };
  const gatherer = new ColumnGatherer(large, 1, memory);
  gatherer.append(large);
  expect(() => gatherer.append(large)).toThrow(UnsupportedError);
  const indices = {
    kind: "fixed" as const,
    length: 0,
    validity: null,
    byteWidth: 1,
    values: new Uint8Array(0),
  };
  const dictionary: Column = { kind: "dictionary", length: 0, validity: null, indices, dictionary: indices };
  expect(isGatherable(dictionary)).toBe(false);
  expect(isGatherable({ kind: "struct", length: 0, validity: null, children: [dictionary] })).toBe(false);
});
