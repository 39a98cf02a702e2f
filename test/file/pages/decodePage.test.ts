/** Pages written out byte by byte, after the worked examples of the format. */

import { describe, expect, it } from "vitest";
import type { Column, Layout } from "../../../src/arrow/columns/column.js";
import { CorruptFileError, UnsupportedError } from "../../../src/errors.js";
import { decodePage } from "../../../src/file/pages/decodePage.js";
import { loadAllDecoders } from "../../../src/file/pages/decoders.js";
import {
  type CompressiveEncoding,
  ConstantLayout,
  FullZipLayout,
  MiniBlockLayout,
  type PageLayout,
  RepDefLayer,
} from "../../../src/format/encodings.js";

await loadAllDecoders();

const ORIGIN = { path: "t.lance/data/x.lance", byteOffset: 128 };
const INT64: Layout = { kind: "fixed", byteWidth: 8 };
const UTF8: Layout = { kind: "variable", offsetBits: 32, text: true };

const bytes = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.replaceAll(/\s/g, ""), "hex"));
const flat = (bitsPerValue: number): CompressiveEncoding => ({ flat: { bitsPerValue } as never });
const variable = (bits: number): CompressiveEncoding => ({
  variable: { offsets: flat(bits), values: undefined },
});
const decode = (layout: Layout, page: PageLayout, rowCount: number, buffers: Uint8Array[]): Column =>
  decodePage(layout, page, rowCount, buffers, ORIGIN);

const miniBlock = (init: Partial<MiniBlockLayout>): PageLayout => ({
  miniBlock: MiniBlockLayout.create({ layers: [RepDefLayer.ALL_VALID_ITEM], bufferCount: 1, ...init }),
});

function int64s(column: Column): (bigint | null)[] {
  if (column.kind !== "fixed") throw new Error(column.kind);
  const values = new BigInt64Array(column.values.slice().buffer);
  return Array.from(values, (value, index) => (isValid(column, index) ? value : null));
}

function strings(column: Column): (string | null)[] {
  if (column.kind !== "variable") throw new Error(column.kind);
  const { offsets, bytes: text } = column;
  return Array.from({ length: column.length }, (_, index) =>
    isValid(column, index)
      ? Buffer.from(text.subarray(Number(offsets[index]), Number(offsets[index + 1]))).toString()
      : null,
  );
}

const isValid = ({ validity }: Column, index: number): boolean =>
  validity === null ||
  ((validity.bytes[(validity.bitOffset + index) >>> 3] >>> ((validity.bitOffset + index) & 7)) & 1) === 1;

const TEN_INT64 = Array.from({ length: 10 }, (_, index) => `0${index}00000000000000`).join("");
const TEN_WITH_NULL = [0n, 1n, 2n, null, 4n, 5n, 6n, 7n, 8n, 9n];

describe("mini-block pages", () => {
  it("hold plain values in a chunk of 2.2", () => {
    const page = miniBlock({ valueCompression: flat(64), itemCount: 10, hasLargeChunk: true });
    const column = decode(INT64, page, 10, [bytes("a0000000"), bytes(`0000 50000000 fefe ${TEN_INT64}`)]);
    expect(column.validity).toBeNull();
    expect(int64s(column)).toEqual([0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n]);
  });

  it("hold nulls as run-length encoded levels in 2.2", () => {
    const page = miniBlock({
      valueCompression: flat(64),
      defCompression: { rle: { values: flat(16), runLengths: flat(8) } },
      layers: [RepDefLayer.NULLABLE_ITEM],
      itemCount: 10,
      hasLargeChunk: true,
    });
    const levels = "0600000000000000 0000 0100 0000 03 01 06";
    const chunk = bytes(`0a00 1100 50000000 ${levels} fefefefefefefe ${TEN_INT64}`);
    const column = decode(INT64, page, 10, [bytes("d0000000"), chunk]);
    expect(column.validity?.nullCount).toBe(1);
    expect(int64s(column)).toEqual(TEN_WITH_NULL);
  });

  it("hold nulls as plain levels in 2.1", () => {
    const page = miniBlock({
      valueCompression: flat(64),
      defCompression: flat(16),
      layers: [RepDefLayer.NULLABLE_ITEM],
      itemCount: 10,
    });
    const levels = "0000 0000 0000 0100 0000 0000 0000 0000 0000 0000";
    const chunk = bytes(`0a00 1400 5000 fefe ${levels} fefefefe ${TEN_INT64}`);
    expect(int64s(decode(INT64, page, 10, [bytes("d000"), chunk]))).toEqual(TEN_WITH_NULL);
  });

  it("have no validity if all levels are 0", () => {
    const page = miniBlock({
      valueCompression: flat(64),
      defCompression: flat(16),
      layers: [RepDefLayer.NULLABLE_ITEM],
      itemCount: 1,
    });
    const chunk = bytes("0100 0200 0800 fefe 0000 fefefefefefe 0700000000000000");
    const column = decode(INT64, page, 1, [bytes("2000"), chunk]);
    expect(column.validity).toBeNull();
    expect(int64s(column)).toEqual([7n]);
  });

  it("of structs show a leaf as null if a struct around it is null", () => {
    const page = miniBlock({
      valueCompression: flat(32),
      defCompression: flat(16),
      layers: [RepDefLayer.NULLABLE_ITEM, RepDefLayer.NULLABLE_ITEM],
      itemCount: 10,
    });
    const levels = "0100 0200 0000 0100 0000 0000 0200 0000 0000 0100";
    const values = [0, 0, 2, 0, 4, 5, 0, 7, 8, 0].map((value) => `0${value}000000`).join("");
    const chunk = bytes(`0a00 1400 2800 fefe ${levels} fefefefe ${values}`);
    const column = decode({ kind: "fixed", byteWidth: 4 }, page, 10, [bytes("8000"), chunk]);
    expect(Array.from({ length: 10 }, (_, index) => isValid(column, index))).toEqual(
      [0, 0, 1, 0, 1, 1, 0, 1, 1, 0].map((bit) => bit === 1),
    );
  });

  it("hold strings after offsets from the buffer's start", () => {
    const page = miniBlock({ valueCompression: variable(32), itemCount: 3 });
    // Offsets 16, 18, 18, 21; the buffer is padded to 24 bytes.
    const chunk = bytes("0000 1800 fefefefe 10000000 12000000 12000000 15000000 6869 627965 484848");
    expect(strings(decode(UTF8, page, 3, [bytes("3000"), chunk]))).toEqual(["hi", "", "bye"]);
  });

  it("give a dictionary's values back", () => {
    const page = miniBlock({
      valueCompression: flat(32),
      dictionary: variable(32),
      dictionaryItemCount: 3,
      itemCount: 4,
    });
    const chunk = bytes("0000 1000 fefefefe 02000000 00000000 01000000 02000000");
    const dictionary = bytes(
      `20000000 18000000 00000000 03000000 07000000 0c000000 ${Buffer.from("redbluegreen").toString("hex")}`,
    );
    const words = bytes("2000");
    expect(strings(decode(UTF8, page, 4, [words, chunk, dictionary]))).toEqual([
      "green",
      "red",
      "blue",
      "green",
    ]);

    const layout: Layout = {
      kind: "dictionary",
      index: { kind: "fixed", byteWidth: 4 },
      indexSigned: true,
      value: { kind: "variable", offsetBits: 32, text: true },
    };
    const column = decode(layout, page, 4, [words, chunk, dictionary]);
    if (column.kind !== "dictionary") throw new Error(column.kind);
    expect([...new Int32Array(column.indices.values.slice().buffer)]).toEqual([2, 0, 1, 2]);
    expect(strings(column.dictionary)).toEqual(["red", "blue", "green"]);

    const beyond = chunk.slice();
    beyond[8] = 3;
    expect(() => decode(UTF8, page, 4, [words, beyond, dictionary])).toThrow(CorruptFileError);
  });

  it("are refused if chunks, values or rows do not add up", () => {
    const page = miniBlock({ valueCompression: flat(64), itemCount: 10, hasLargeChunk: true });
    const chunk = bytes(`0000 50000000 fefe ${TEN_INT64}`);
    const words = bytes("a0000000");
    const refused: [PageLayout, number, Uint8Array[]][] = [
      [page, 9, [words, chunk]],
      [page, 10, [words]],
      [page, 10, [bytes("b0000000"), chunk]],
      [page, 10, [bytes("a40000"), chunk]],
      [page, 10, [bytes(""), chunk]],
      [page, 10, [words, bytes(`0000 58000000 fefe ${TEN_INT64}`)]],
      [page, 10, [words, bytes(`0000 48000000 fefe ${TEN_INT64}`)]],
      [page, 10, [words, bytes(`0100 50000000 fefe ${TEN_INT64}`)]],
      [miniBlock({ ...page.miniBlock, bufferCount: 2 }), 10, [words, chunk]],
      [miniBlock({ ...page.miniBlock, layers: [] }), 10, [words, chunk]],
      [miniBlock({ ...page.miniBlock, valueCompression: flat(32) }), 10, [words, chunk]],
      [miniBlock({ ...page.miniBlock, valueCompression: undefined }), 10, [words, chunk]],
    ];
    for (const [index, [layout, rowCount, buffers]] of refused.entries()) {
      expect(() => decode(INT64, layout, rowCount, buffers), `case ${index}`).toThrow(CorruptFileError);
    }
  });
});

const fullZip = (init: Partial<FullZipLayout>): PageLayout => ({
  fullZip: FullZipLayout.create({ layers: [RepDefLayer.NULLABLE_ITEM], ...init }),
});

describe("full-zip pages", () => {
  const vector: Layout = { kind: "fixedSizeList", dimension: 4, item: { kind: "fixed", byteWidth: 1 } };
  const list = (hasValidity: boolean): CompressiveEncoding => ({
    fixedSizeList: { itemsPerValue: 4, hasValidity, values: flat(8) },
  });

  it("without levels decode to a view of the file's bytes", () => {
    const page = fullZip({
      bitsPerValue: 32,
      itemCount: 2,
      visibleItemCount: 2,
      valueCompression: list(false),
      layers: [RepDefLayer.ALL_VALID_ITEM],
    });
    const buffer = bytes("01020304 05060708");
    const column = decode(vector, page, 2, [buffer]);
    if (column.kind !== "fixedSizeList" || column.items.kind !== "fixed") throw new Error(column.kind);
    expect(column.items.values.buffer).toBe(buffer.buffer);
    expect([...column.items.values]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it("keep the bytes of null values, after their control word", () => {
    const page = fullZip({
      defBits: 1,
      bitsPerValue: 32,
      itemCount: 3,
      visibleItemCount: 3,
      valueCompression: list(false),
    });
    const column = decode(vector, page, 3, [bytes("00 01020304 01 00000000 00 05060708")]);
    if (column.kind !== "fixedSizeList" || column.items.kind !== "fixed") throw new Error(column.kind);
    expect([...column.items.values]).toEqual([1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 7, 8]);
    expect([0, 1, 2].map((row) => isValid(column, row))).toEqual([true, false, true]);
  });

  it("put the validity of items before them", () => {
    const page = fullZip({
      bitsPerValue: 40,
      itemCount: 2,
      visibleItemCount: 2,
      valueCompression: list(true),
      layers: [RepDefLayer.ALL_VALID_ITEM],
    });
    const column = decode(vector, page, 2, [bytes("0d 01000304 0f 05060708")]);
    if (column.kind !== "fixedSizeList") throw new Error(column.kind);
    expect([...(column.items as { values: Uint8Array }).values]).toEqual([1, 0, 3, 4, 5, 6, 7, 8]);
    expect(column.items.validity?.nullCount).toBe(1);
    expect(isValid(column.items, 1)).toBe(false);
  });

  it("hold strings after their lengths, and nulls as a control word alone", () => {
    const page = fullZip({
      defBits: 1,
      bitsPerOffset: 32,
      itemCount: 4,
      visibleItemCount: 4,
      valueCompression: variable(32),
    });
    const events = bytes("00 02000000 6869 01 00 00000000 00 03000000 627965");
    expect(strings(decode(UTF8, page, 4, [events, bytes("")]))).toEqual(["hi", null, "", "bye"]);
    for (const damaged of [events.subarray(1), events.subarray(0, events.length - 1), bytes("")]) {
      expect(() => decode(UTF8, page, 4, [damaged])).toThrow(CorruptFileError);
    }
  });
});

const constant = (init: Partial<ConstantLayout>): PageLayout => ({
  constant: ConstantLayout.create({ layers: [RepDefLayer.NULLABLE_ITEM], ...init }),
});

describe("constant pages", () => {
  it("without a value are all null, in every layout", () => {
    const layouts: Layout[] = [
      INT64,
      UTF8,
      { kind: "bits" },
      { kind: "fixedSizeList", dimension: 3, item: { kind: "bits" } },
      { kind: "dictionary", index: { kind: "fixed", byteWidth: 2 }, indexSigned: true, value: UTF8 as never },
    ];
    for (const layout of layouts) {
      const column = decode(layout, constant({}), 9, []);
      expect([column.kind, column.length, column.validity?.nullCount]).toEqual([layout.kind, 9, 9]);
    }
    expect(decode({ kind: "null" }, constant({}), 5, [])).toEqual({
      kind: "null",
      length: 5,
      validity: null,
    });
  });

  it("repeat an inline value", () => {
    const page = constant({ inlineValue: bytes("0500000000000000") });
    expect(int64s(decode(INT64, page, 3, []))).toEqual([5n, 5n, 5n]);
    expect(() => decode({ kind: "fixed", byteWidth: 4 }, page, 3, [])).toThrow(CorruptFileError);
  });

  it("repeat a scalar, with nulls as plain levels", () => {
    const scalar = bytes("02000000 08000000 05000000 00000000 05000000 68656c6c6f");
    expect(strings(decode(UTF8, constant({}), 2, [scalar]))).toEqual(["hello", "hello"]);
    const levels = bytes("0000 0100 0000");
    const column = decode(UTF8, constant({}), 3, [scalar, bytes(""), levels]);
    expect(strings(column)).toEqual(["hello", null, "hello"]);
    expect(() => decode(UTF8, constant({}), 3, [scalar, bytes(""), bytes("0000")])).toThrow(CorruptFileError);
    expect(() => decode(UTF8, constant({}), 3, [scalar.subarray(0, 20)])).toThrow(CorruptFileError);
  });
});

describe("pages of unsupported encodings", () => {
  it("are refused with the name of the encoding", () => {
    const lists = miniBlock({
      valueCompression: flat(32),
      layers: [RepDefLayer.ALL_VALID_ITEM, RepDefLayer.NULL_AND_EMPTY_LIST],
    });
    expect(() => decode(UTF8, lists, 1, [])).toThrow(/list layers around strings/);
    const blobList = {
      innerLayout: undefined,
      layers: [RepDefLayer.ALL_VALID_ITEM, RepDefLayer.ALL_VALID_LIST],
    };
    expect(() => decode(UTF8, { blob: blobList }, 1, [])).toThrow(UnsupportedError);
    expect(() => decode(UTF8, {}, 1, [])).toThrow(UnsupportedError);
    const packed = miniBlock({
      valueCompression: { packedStruct: { bitsPerValue: [32, 32], values: flat(64) } },
      itemCount: 0,
    });
    expect(() => decode(INT64, packed, 0, [bytes(""), bytes("")])).toThrow(/packedStruct/);
  });
});
