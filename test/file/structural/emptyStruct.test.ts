/** Pages of structs without members: they store only a number. */

import { describe, expect, it } from "vitest";
import type { Column, Layout } from "../../../src/arrow/columns/column.js";
import { nullColumn } from "../../../src/arrow/columns/nullColumn.js";
import { runSync } from "../../../src/async/eventLoop.js";
import { CorruptFileError, TableSchemaValidationError, UnsupportedError } from "../../../src/errors.js";
import type { PageEncoding } from "../../../src/file/container/page.js";
import { decodePage } from "../../../src/file/pages/decodePage.js";
import { loadAllDecoders } from "../../../src/file/pages/decoders.js";
import { encodePages } from "../../../src/file/pages/encodePage.js";
import { ConstantLayout, RepDefLayer } from "../../../src/format/encodings.js";

await loadAllDecoders();

const EMPTY: Layout = { kind: "packedStruct", children: [] };
const structOf = (layout: Layout, nullable = true): Layout => ({
  kind: "struct",
  children: [{ name: "m", layout, nullable }],
});
const listOf = (item: Layout): Layout => ({
  kind: "list",
  offsetBits: 32,
  item,
  itemNullable: false,
  isMap: false,
});
const valid = (length: number): Column => ({ kind: "packedStruct", length, validity: null, children: [] });
const around = (child: Column): Column => ({
  kind: "struct",
  length: child.length,
  validity: null,
  children: [child],
});

const origin = { path: "file", byteOffset: 0 };
const options = { version: "2.2", nullable: true, path: "c", metadata: new Map<string, string>() } as const;
const page = (layers: readonly number[], rest: Partial<ConstantLayout> = {}): PageEncoding => ({
  constant: ConstantLayout.create({ layers: [...layers], ...rest }),
});
const { NULLABLE_ITEM, ALL_VALID_ITEM, NULLABLE_LIST } = RepDefLayer;

describe("structs without members", () => {
  it.each([
    ["alone", EMPTY, [valid(3), valid(4)], valid(7)],
    ["in structs", structOf(structOf(EMPTY)), [around(around(valid(7)))], around(around(valid(7)))],
  ] as const)("are one page, %s", (_, layout, parts, whole) => {
    const [encoded, ...more] = runSync(encodePages(layout, parts, 7, options));
    expect(more).toEqual([]);
    expect(encoded).toEqual({ encoding: page([NULLABLE_ITEM]), buffers: [], rowCount: 7 });
    expect(decodePage(layout, encoded.encoding, 7, [], origin)).toEqual(whole);
  });

  it("are not written as nulls, in null structs or in lists", () => {
    const encode = (layout: Layout, column: Column, nullable = true) =>
      runSync(encodePages(layout, [column], column.length, { ...options, nullable }));
    const inNull = { ...around(valid(2)), validity: nullColumn(EMPTY, 2).validity } as Column;
    expect(() => encode(EMPTY, nullColumn(EMPTY, 2))).toThrow(UnsupportedError);
    expect(() => encode(structOf(EMPTY), around(nullColumn(EMPTY, 2)))).toThrow(UnsupportedError);
    expect(() => encode(structOf(EMPTY), inNull)).toThrow(UnsupportedError);
    expect(() => encode(listOf(EMPTY), nullColumn(listOf(EMPTY), 0))).toThrow(UnsupportedError);
    expect(() => encode(EMPTY, nullColumn(EMPTY, 2), false)).toThrow(TableSchemaValidationError);
    const strict = structOf(EMPTY, false);
    expect(() => encode(strict, around(nullColumn(EMPTY, 2)))).toThrow(TableSchemaValidationError);
  });

  it.each<[string, PageEncoding, number]>([
    ["without layers", page([]), 0],
    ["of valid items", page([ALL_VALID_ITEM]), 0],
    ["in lists", page([NULLABLE_ITEM, NULLABLE_LIST]), 0],
    ["with levels", page([NULLABLE_ITEM]), 2],
    ["of arrays in a later version", { array: { nullable: undefined } } as PageEncoding, 0],
    ["of no layout", {}, 0],
  ])("are not read from pages %s", (_, encoding, bufferCount) => {
    const buffers = Array.from({ length: bufferCount }, () => Uint8Array.of(1, 0));
    expect(() => decodePage(EMPTY, encoding, 1, buffers, origin)).toThrow(UnsupportedError);
  });

  it("are not read in lists", () => {
    expect(() => decodePage(listOf(EMPTY), page([NULLABLE_ITEM]), 1, [], origin)).toThrow(UnsupportedError);
  });

  it("are read from arrays of structs only in 2.0", () => {
    expect(decodePage(EMPTY, { array: { struct: {} } }, 5, [], origin)).toEqual(valid(5));
    const broken = { array: { nullable: { noNulls: { values: undefined } } } } as PageEncoding;
    expect(() => decodePage(EMPTY, broken, 5, [], origin)).toThrow(CorruptFileError);
    const flat = { array: { flat: { bitsPerValue: 8 } } } as PageEncoding;
    expect(() => decodePage(EMPTY, flat, 5, [], origin)).toThrow(UnsupportedError);
  });
});
