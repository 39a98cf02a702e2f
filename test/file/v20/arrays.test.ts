/** Arrays of 2.0 that the reference no longer writes, made by hand; and whole files of 2.0. */

import { readFileSync } from "node:fs";
import { Int32, makeVector, Table, tableToIPC } from "apache-arrow";
import { describe, expect, it } from "vitest";
import type { Column, FixedColumn, Layout, VariableColumn } from "../../../src/arrow/columns/column.js";
import { CorruptFileError, UnsupportedError } from "../../../src/errors.js";
import { packBits } from "../../../src/file/compression/bitpackEncoder.js";
import { openDataFile } from "../../../src/file/container/reader.js";
import { loadAllDecoders } from "../../../src/file/pages/decoders.js";
import { sliceable } from "../../../src/file/pages/pageSlice.js";
import { decodeArrayPage } from "../../../src/file/v20/decodeArray.js";
import type { ArrayEncoding } from "../../../src/format/encodings20.js";
import { compareTables } from "../../support/compareTables.js";
import { sharedDirectory } from "../../support/fixtures.js";
import { allTypesSpec, makeTable, type TypeName } from "../../support/generators.js";
import { errorOf } from "../../support/outcomes.js";
import { reference } from "../../support/reference.js";
import { fileToTable, tableToFile } from "../dataFiles.js";
import { dataFilePaths, memoryHandle } from "../structural/referencePages.js";

await loadAllDecoders();

const ORIGIN = { path: "page", byteOffset: 0 };
const decode = (layout: Layout, encoding: ArrayEncoding, count: number, ...buffers: Uint8Array[]): Column =>
  decodeArrayPage(layout, encoding, count, buffers, ORIGIN);

const fixed = (byteWidth: number): Layout => ({ kind: "fixed", byteWidth });
const TEXT: Layout = { kind: "variable", offsetBits: 32, text: true };
const flat = (bitsPerValue: number, bufferIndex: number): ArrayEncoding => ({
  flat: { bitsPerValue, buffer: { bufferIndex, bufferType: 0 }, compression: undefined },
});
const valuesOf = (column: Column): Int32Array =>
  new Int32Array((column as FixedColumn).values.slice().buffer);

describe("the decoder reads arrays of 2.0", () => {
  it("bit-packed in FastLanes order", () => {
    const values = Int32Array.from({ length: 2048 }, (_, index) => (index < 1500 ? index : 0));
    const packed = new Uint8Array(2 * 11 * 128);
    for (const unit of [0, 1]) {
      packBits(32, 11, new Uint8Array(values.buffer), unit * 4096, packed, unit * 11 * 128);
    }
    const encoding: ArrayEncoding = {
      bitpackedForNonNeg: {
        compressedBitsPerValue: 11,
        uncompressedBitsPerValue: 32,
        buffer: undefined,
      },
    };
    const column = decode(fixed(4), { nullable: { noNulls: { values: encoding } } }, 1500, packed);
    expect(valuesOf(column)).toEqual(values.slice(0, 1500));
    expect(() => decode(fixed(4), encoding, 1500, packed.subarray(1))).toThrow(CorruptFileError);
    expect(() => decode(fixed(8), encoding, 1500, packed)).toThrow(CorruptFileError);
  });

  it.each([1, 3, 8, 13, 31, 32])("bit-packed side by side, %i bits", (bits) => {
    for (const signed of [false, true]) {
      const span = 2 ** bits;
      const numbers = Array.from({ length: 77 }, (_, index) => {
        const number = (index * 2654435761) % span;
        return signed && number >= span / 2 ? number - span : number;
      });
      let all = 0n;
      for (const [index, number] of numbers.entries()) {
        all |= BigInt.asUintN(bits, BigInt(number)) << BigInt(index * bits);
      }
      const packed = Uint8Array.from({ length: Math.ceil((77 * bits) / 8) }, (_, index) =>
        Number((all >> BigInt(index * 8)) & 0xffn),
      );
      const encoding: ArrayEncoding = {
        bitpacked: {
          compressedBitsPerValue: bits,
          uncompressedBitsPerValue: 32,
          buffer: undefined,
          signed,
        },
      };
      expect(valuesOf(decode(fixed(4), encoding, 77, packed))).toEqual(Int32Array.from(numbers, Number));
      expect(() => decode(fixed(4), encoding, 77, packed.subarray(1))).toThrow(CorruptFileError);
    }
  });

  it("of values that are all equally long", () => {
    const bytes = new TextEncoder().encode("onetwosixten");
    const encoding: ArrayEncoding = { fixedSizeBinary: { bytes: flat(8, 0), byteWidth: 3 } };
    const text = decode(TEXT, encoding, 4, bytes) as VariableColumn;
    expect([...text.offsets]).toEqual([0, 3, 6, 9, 12]);
    expect(text.bytes).toEqual(bytes);
    expect((decode(fixed(3), encoding, 4, bytes) as FixedColumn).values).toEqual(bytes);
    expect(() => decode(TEXT, encoding, 5, bytes)).toThrow(CorruptFileError);
  });

  it("of one value", () => {
    const constant = (...value: number[]): ArrayEncoding => ({ constant: { value: Uint8Array.from(value) } });
    expect(valuesOf(decode(fixed(4), constant(1, 2, 0, 0), 5))).toEqual(new Int32Array(5).fill(513));
    const bits = decode({ kind: "bits" }, constant(1), 10);
    expect(bits.kind === "bits" && [...bits.bits]).toEqual([255, 255]);
    expect(() => decode(fixed(4), constant(1), 5)).toThrow(CorruptFileError);
  });

  it("nullable around strings that have nulls themselves", () => {
    // "a", null by its end, "b" null by the bitmap
    const ends = new Uint8Array(BigInt64Array.of(1n, 4n, 2n).buffer);
    const binary: ArrayEncoding = {
      binary: { indices: flat(64, 1), bytes: flat(8, 2), nullAdjustment: 3 },
    };
    const encoding: ArrayEncoding = { nullable: { someNulls: { validity: flat(1, 0), values: binary } } };
    const column = decode(TEXT, encoding, 3, Uint8Array.of(0b011), ends, new TextEncoder().encode("ab"));
    expect(column.validity).toEqual({ bytes: Uint8Array.of(0b001), bitOffset: 0, nullCount: 2 });
  });

  it("and calls ends out of order or out of bounds corrupt", () => {
    const binary: ArrayEncoding = {
      binary: { indices: flat(64, 0), bytes: flat(8, 1), nullAdjustment: 1000 },
    };
    for (const ends of [
      [2n, 1n],
      [1n, 4n],
      [1n, 2n ** 40n],
    ]) {
      const words = new Uint8Array(BigInt64Array.from(ends).buffer);
      expect(() => decode(TEXT, binary, 2, words, new Uint8Array(3))).toThrow(CorruptFileError);
    }
  });

  it("and refuses those outside the page or of an unknown kind", () => {
    const elsewhere: ArrayEncoding = {
      flat: { bitsPerValue: 32, buffer: { bufferIndex: 0, bufferType: 2 }, compression: undefined },
    };
    expect(() => decode(fixed(4), elsewhere, 1, new Uint8Array(4))).toThrow(UnsupportedError);
    expect(() => decode(fixed(4), {}, 1, new Uint8Array(4))).toThrow(UnsupportedError);
    expect(() => decode(fixed(4), { unknown: Uint8Array.of(0x72, 0) }, 1)).toThrow(UnsupportedError);
    const packed: ArrayEncoding = { packedStruct: { inner: [], buffer: undefined } };
    expect(() => decode(fixed(4), packed, 1, new Uint8Array(4))).toThrow(UnsupportedError);
  });
});

describe("files of 2.0", () => {
  const directory = sharedDirectory();

  it("are recognised by both of their version numbers", async () => {
    const table = new Table({ i: makeVector(Int32Array.of(1, 2, 3)) });
    await reference.createTable(directory, "t", tableToIPC(table), { dataStorageVersion: "2.0" });
    const bytes = new Uint8Array(readFileSync(dataFilePaths(directory, "t")[0]));
    expect(table.schema.fields[0].type).toBeInstanceOf(Int32);
    expect([bytes[bytes.length - 8], bytes[bytes.length - 6]]).toEqual([0, 3]);
    compareTables(table, await fileToTable(bytes, table.schema));
    bytes[bytes.length - 8] = 2;
    bytes[bytes.length - 6] = 0;
    expect((await openDataFile(memoryHandle("t", bytes), "t")).version).toBe("2.0");
    compareTables(table, await fileToTable(bytes, table.schema));
  });

  it("have plain pages whose rows can be read one by one", async () => {
    const kindOf = async (type: TypeName, nulls: "none" | "some") => {
      const spec = {
        columns: [{ name: "c", type, shape: "random" as const, nulls }],
        rowCount: 500,
        seed: 1,
      };
      const bytes = await tableToFile(makeTable(spec), "2.0");
      const { columns } = await openDataFile(memoryHandle("t", bytes), "t");
      return sliceable(columns[0].pages[0]);
    };
    expect(await kindOf("int64", "none")).toEqual({ kind: "arrayRows", rowBytes: 8 });
    expect(await kindOf("vectorFloat32", "none")).toEqual({ kind: "arrayRows", rowBytes: 96 });
    for (const type of ["int64", "vectorFloat32", "vectorFloat32NullItems", "utf8"] as const) {
      expect(await kindOf(type, "some")).toBeNull();
    }
    expect(await kindOf("bool", "none")).toBeNull();
  });

  it("of ours have checksums: no changed byte goes unnoticed", async () => {
    const table = makeTable(allTypesSpec(60, "some", { shape: "random" }));
    const bytes = await tableToFile(table, "2.0");
    compareTables(table, await fileToTable(bytes, table.schema));
    const { columns } = await openDataFile(memoryHandle("t", bytes), "t");
    const used = columns.flatMap(({ pages }) => pages.flatMap((page) => page.bufferRanges));
    const tail = Math.max(...used.map((range) => range.byteOffset + range.length));
    const isPadding = (index: number) =>
      index < tail + 64 &&
      !used.some(({ byteOffset, length }) => index >= byteOffset && index < byteOffset + length);
    let changed = 0;
    for (let offset = 0; offset < bytes.length; offset += 53) {
      if (isPadding(offset)) continue;
      const damaged = bytes.slice();
      damaged[offset] ^= 0x10;
      changed++;
      const error = await errorOf(fileToTable(damaged, table.schema));
      const typed = error instanceof CorruptFileError || error instanceof UnsupportedError;
      if (!typed) throw new Error(`byte ${offset} of ${bytes.length}: ${String(error)}`);
    }
    expect(changed).toBeGreaterThan(100);
  });
});
