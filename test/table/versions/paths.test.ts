import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UnsupportedError } from "../../../src/errors.js";
import { DELETION_FILE_TYPE, DeletionFile } from "../../../src/format/table.js";
import {
  dataFileName,
  deletionFileName,
  manifestName,
  parseManifestName,
} from "../../../src/table/versions/paths.js";

const versions = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

describe("manifest names", () => {
  it("equal those of the reference", () => {
    expect(manifestName(1, "V2")).toBe("18446744073709551614.manifest");
    expect(manifestName(0, "V2")).toBe("18446744073709551615.manifest");
    expect(manifestName(1, "V1")).toBe("1.manifest");
  });

  it("parse back to the version, for every version and scheme", () => {
    fc.assert(
      fc.property(versions, fc.constantFrom("V1" as const, "V2" as const), (version, scheme) => {
        expect(parseManifestName(manifestName(version, scheme))).toEqual({ version, scheme });
      }),
    );
  });

  it("of scheme V2 sort the latest first", () => {
    fc.assert(
      fc.property(versions, versions, (a, b) => {
        expect(manifestName(a, "V2") < manifestName(b, "V2")).toBe(a > b);
      }),
    );
  });

  it.each([
    "latest_version_hint.json",
    "18446744073709551614.manifest#1",
    "18446744073709551614.manifest-0f2b",
    ".tmp-18446744073709551614.manifest",
    "d9223372036854775809.manifest",
    ".manifest",
    "01.manifest",
    "-1.manifest",
    "1e3.manifest",
    "99999999999999999999.manifest",
    "018446744073709551614.manifest",
  ])("do not include %s", (name) => {
    expect(parseManifestName(name)).toBeNull();
  });

  it("beyond 2^53 - 1 are refused", () => {
    expect(() => parseManifestName("00000000000000000001.manifest")).toThrow(UnsupportedError);
    expect(() => parseManifestName("9007199254740992.manifest")).toThrow(UnsupportedError);
  });
});

describe("other file names", () => {
  it("of data files are 24 binary digits and 26 of a version-4 UUID", () => {
    const names = new Set(Array.from({ length: 50 }, dataFileName));
    expect(names.size).toBe(50);
    for (const name of names) {
      expect(name).toMatch(/^[01]{24}[0-9a-f]{26}\.lance$/);
      expect(name.length).toBe(56);
    }
  });

  it("of deletion files keep all 64 bits of their id", () => {
    const file = DeletionFile.create({ readVersion: 3, id: 18446744073709551615n });
    expect(deletionFileName(7, file)).toBe("7-3-18446744073709551615.arrow");
    expect(deletionFileName(7, { ...file, fileType: DELETION_FILE_TYPE.bitmap })).toMatch(/\.bin$/);
  });
});
