import { describe, expect, it } from "vitest";
import { CorruptFileError, UnsupportedError } from "../../../src/errors.js";
import { BasePath, DataFragment, DeletionFile, Manifest } from "../../../src/format/table.js";
import { checkReaderFlags, checkWriterFlags, featureFlagsOf } from "../../../src/table/versions/flags.js";

const manifest = (readerFeatureFlags: bigint, writerFeatureFlags = readerFeatureFlags) =>
  Manifest.create({ readerFeatureFlags, writerFeatureFlags });

describe("feature flags", () => {
  it.each([0n, 1n, 2n, 4n, 8n, 16n, 31n])("%s: read and write", (flags) => {
    checkReaderFlags(manifest(flags), "m");
    checkWriterFlags(manifest(flags), "m");
  });

  it.each([
    32n,
    64n,
    128n,
    256n,
    512n,
    1024n,
    2048n,
    1n << 12n,
    1n << 63n,
  ])("%s: refused by name of the bit", (flags) => {
    const bit = flags.toString(2).length - 1;
    expect(() => checkReaderFlags(manifest(flags), "m")).toThrow(UnsupportedError);
    expect(() => checkReaderFlags(manifest(flags), "m")).toThrow(`bit ${bit}`);
    expect(() => checkWriterFlags(manifest(flags), "m")).toThrow(`bit ${bit}`);
  });

  it("in the writer word only leave the table readable, unless both words must agree", () => {
    for (const flags of [32n, 64n, 1n << 40n]) {
      checkReaderFlags(manifest(0n, flags), "m");
      expect(() => checkWriterFlags(manifest(0n, flags), "m")).toThrow(UnsupportedError);
    }
    expect(() => checkReaderFlags(manifest(0n, 256n), "m")).toThrow(CorruptFileError);
  });

  it("follow from the content", () => {
    const of = (init: Parameters<typeof Manifest.create>[0]) => featureFlagsOf(Manifest.create(init));
    const deleted = DataFragment.create({ deletionFile: DeletionFile.create() });
    expect(of({})).toEqual({ reader: 0n, writer: 0n });
    expect(of({ readerFeatureFlags: 1n, writerFeatureFlags: 9n })).toEqual({ reader: 0n, writer: 0n });
    expect(of({ fragments: [deleted] })).toEqual({ reader: 1n, writer: 1n });
    expect(of({ config: new Map([["a", "b"]]) })).toEqual({ reader: 0n, writer: 8n });
    expect(of({ basePaths: [BasePath.create()] })).toEqual({ reader: 16n, writer: 16n });
    expect(of({ readerFeatureFlags: 2n })).toEqual({ reader: 2n, writer: 2n });
  });
});
