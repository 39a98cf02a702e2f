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
    [5, "DISABLE_TRANSACTION_FILE"],
    [6, "UNSTABLE_DATA_OVERLAY_FILES"],
    [7, "COVERED_INDEX_METADATA"],
    [8, "MIXED_DATA_FILE_VERSIONS"],
    [9, "FRAG_REUSE_WITH_STABLE_ROW_IDS"],
    [10, "FRAGMENT_REUSE_INDEX"],
    [11, "UNSTABLE_SPILLED_ROW_LINEAGE"],
    [12, "FRAGMENT_TREE"],
    [13, "INDEPENDENT_COVERING_FIELDS"],
    [14, "MANAGED_BLOBS"],
    [15, "unknown"],
    [63, "unknown"],
  ] as const)("bit %d is refused by its name, %s", (bit, name) => {
    const flags = 1n << BigInt(bit);
    const told = `feature flag ${flags} (bit ${bit}, ${name})`;
    for (const [check, purpose] of [
      [checkReaderFlags, "read"],
      [checkWriterFlags, "write"],
    ] as const) {
      expect(() => check(manifest(flags), "m")).toThrow(UnsupportedError);
      expect(() => check(manifest(flags), "m")).toThrow(`cannot ${purpose} m: ${told}`);
    }
  });

  it("in the writer word only leave the table readable, unless both words must agree", () => {
    for (const flags of [32n, 64n, 512n, 1n << 11n, 1n << 12n, 1n << 13n, 1n << 15n, 1n << 40n]) {
      checkReaderFlags(manifest(0n, flags), "m");
      expect(() => checkWriterFlags(manifest(0n, flags), "m")).toThrow(UnsupportedError);
    }
    for (const flags of [256n, 1n << 14n]) {
      expect(() => checkReaderFlags(manifest(0n, flags), "m")).toThrow(CorruptFileError);
    }
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
