import { CorruptFileError, UnsupportedError } from "tiltyard";
import { describe, expect, it } from "vitest";
import type { VariableColumn } from "../../../src/arrow/columns/column.js";
import { blobLocations, setDescriptor } from "../../../src/file/blobs/blobDescriptors.js";
import { DESCRIPTOR_BYTES } from "../../../src/file/blobs/descriptorLayouts.js";

const PATH = "/t.lance/data/abc.lance";

function packed(kind: number, byteOffset: number, length: number, number: number, uri = ""): Uint8Array {
  const text = new TextEncoder().encode(uri);
  const bytes = new Uint8Array(25 + text.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, kind);
  view.setBigUint64(1, BigInt(byteOffset), true);
  view.setBigUint64(9, BigInt(length), true);
  view.setUint32(17, number, true);
  view.setUint32(21, text.length, true);
  bytes.set(text, 25);
  return bytes;
}

const columnOf = (bytes: Uint8Array): VariableColumn => ({
  kind: "variable",
  length: 1,
  validity: null,
  offsets: Int32Array.of(0, bytes.length),
  bytes,
});

describe("packed descriptors", () => {
  it.each([
    [0, 64, 0, PATH],
    [1, 70_000, 1, "/t.lance/data/abc/10000000000000000000000000000000.blob"],
    [2, 0, 6, "/t.lance/data/abc/01100000000000000000000000000000.blob"],
  ])("of kind %i", (kind, byteOffset, number, path) => {
    const [location] = blobLocations(columnOf(packed(kind, byteOffset, 5, number)), PATH);
    expect(location).toMatchObject({ path, byteOffset, length: 5 });
  });

  it("of values outside the table throw an error with the URI", () => {
    const [location] = blobLocations(columnOf(packed(3, 0, 5, 0, "s3://é")), PATH);
    expect(location).toMatchObject({ path: null, length: 5, uri: new TextEncoder().encode("s3://é") });
  });

  it("are refused when they are damaged", () => {
    const whole = packed(0, 1, 5, 0, "u");
    for (let size = 0; size < whole.length; size++) {
      expect(() => blobLocations(columnOf(whole.subarray(0, size)), PATH)).toThrow(CorruptFileError);
    }
    expect(() => blobLocations(columnOf(packed(0, 2 ** 53, 5, 0)), PATH)).toThrow(CorruptFileError);
    expect(() => blobLocations(columnOf(packed(9, 0, 5, 0)), PATH)).toThrow(UnsupportedError);
  });
});

it("plain descriptors beyond the largest file are refused", () => {
  const values = new Uint8Array(DESCRIPTOR_BYTES);
  const column = { kind: "fixed", byteWidth: 16, length: 1, validity: null, values } as const;
  setDescriptor(values, 0, 2 ** 40 + 3, 2 ** 33 + 1);
  expect(blobLocations(column, PATH)).toMatchObject([
    { path: PATH, byteOffset: 2 ** 40 + 3, length: 2 ** 33 + 1 },
  ]);
  values.fill(0xff);
  expect(() => blobLocations(column, PATH)).toThrow(CorruptFileError);
});
