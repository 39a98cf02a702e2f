import { describe, expect, it } from "vitest";
import { InvalidInputError } from "../../../src/errors.js";
import { compressionOptions, DEFAULT_COMPRESSION } from "../../../src/file/compression/compressionOptions.js";

const read = (entries: Record<string, string>) =>
  compressionOptions(
    new Map(Object.entries(entries).map(([key, value]) => [`lance-encoding:${key}`, value])),
    "a.b",
  );

describe("compression options", () => {
  it("are read from a field's metadata", () => {
    expect(
      read({
        compression: "zstd",
        "compression-level": "7",
        "rle-threshold": "0.25",
        bss: "off",
        "dict-size-ratio": "0.5",
        "structural-encoding": "fullzip",
      }),
    ).toEqual({
      compression: "zstd",
      level: 7,
      rleThreshold: 0.25,
      byteStreamSplit: "off",
      dictionaryRatio: 0.5,
      structure: "fullzip",
    });
    expect(read({})).toEqual(DEFAULT_COMPRESSION);
    expect(compressionOptions(new Map([["comment", "compression"]]), "a")).toEqual(DEFAULT_COMPRESSION);
  });

  it("that are not numbers or modes are ignored", () => {
    expect(
      read({ "compression-level": "high", "rle-threshold": "x", bss: "maybe", "dict-size-ratio": "half" }),
    ).toEqual(DEFAULT_COMPRESSION);
  });

  it.each([
    ["compression", "snappy"],
    ["compression", "ZSTD"],
    ["structural-encoding", "rows"],
    ["dict-size-ratio", "0"],
    ["dict-size-ratio", "2"],
  ])("refuse %s = %s and name the column", (key, value) => {
    expect(() => read({ [key]: value })).toThrow(InvalidInputError);
    expect(() => read({ [key]: value })).toThrow(/a\.b/);
  });
});
