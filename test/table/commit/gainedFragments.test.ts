import { describe, expect, it } from "vitest";
import { Field } from "../../../src/format/file.js";
import {
  BasePath,
  DataFile,
  DataFragment,
  DeletionFile,
  Manifest,
  Timestamp,
} from "../../../src/format/table.js";
import { onlyGainedFragments } from "../../../src/table/commit/gainedFragments.js";
import { decodeManifestFile, type ManifestFile } from "../../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../../src/table/versions/manifestEncoder.js";
import { joinChunks } from "../support.js";

const fragment = (id: number, changes: Partial<DataFragment> = {}) =>
  DataFragment.create({
    id,
    files: [DataFile.create({ path: `${id}.lance`, fields: [0], columnIndices: [0] })],
    physicalRows: 5,
    ...changes,
  });

const BASE = Manifest.create({
  version: 4,
  fields: [Field.create({ id: 0, name: "v", parentId: -1, logicalType: "int32" })],
  fragments: [fragment(0), fragment(1)],
  maxFragmentId: 1,
  config: new Map([["a", "b"]]),
  transactionFile: "3-x.txn",
});

/** Makes the file of a version, as it is read from a disk. */
function fileOf(manifest: Manifest, indexSectionBytes: Uint8Array | null = null): ManifestFile {
  const { chunks } = encodeManifestFile({ manifest, indexSectionBytes, transactionBytes: Uint8Array.of(1) });
  return decodeManifestFile(joinChunks(chunks), "v.manifest");
}

const APPENDED: Manifest = {
  ...BASE,
  version: 9,
  timestamp: Timestamp.create({ seconds: 7 }),
  transactionFile: "8-y.txn",
  fragments: [...BASE.fragments, fragment(2), fragment(3)],
  maxFragmentId: 3,
};

const gained = (later: Manifest, earlier: Manifest = BASE) =>
  onlyGainedFragments(fileOf(earlier), fileOf(later));

describe("two versions of a table", () => {
  it("differ only by fragments after appends", () => {
    expect(gained(APPENDED)).toBe(true);
    expect(gained({ ...BASE, version: 5 })).toBe(true);
  });

  it("differ otherwise if a fragment is gone, was replaced, or has deleted rows or further files", () => {
    const [first, second] = BASE.fragments;
    const deletionFile = DeletionFile.create({ fileType: 0, readVersion: 4, id: 1n, numDeletedRows: 1 });
    const added = DataFile.create({ path: "added.lance", fields: [1], columnIndices: [0] });
    const changed = [
      [first],
      [second, fragment(2)],
      [first, fragment(2), fragment(3)],
      [fragment(0, { deletionFile }), second, fragment(2)],
      [fragment(0, { files: [...first.files, added] }), second, fragment(2)],
    ];
    for (const fragments of changed) expect(gained({ ...APPENDED, fragments })).toBe(false);
  });

  it("differ otherwise if columns, settings, base paths or unknown members changed", () => {
    const [field] = BASE.fields;
    const changes: Partial<Manifest>[] = [
      { fields: [{ ...field, nullable: true }] },
      { fields: [field, Field.create({ id: 1, name: "w", parentId: -1, logicalType: "int32" })] },
      { config: new Map([["a", "c"]]) },
      { schemaMetadata: new Map([["a", Uint8Array.of(1)]]) },
      { tableMetadata: new Map([["a", "b"]]) },
      { basePaths: [BasePath.create({ id: 1, path: "/elsewhere" })] },
      { readerFeatureFlags: 1n },
      { writerFeatureFlags: 1n },
      { branch: "b" },
    ];
    for (const change of changes) expect(gained({ ...APPENDED, ...change })).toBe(false);
  });

  it("differ otherwise if the indexes changed", () => {
    const [earlier, later] = [fileOf(BASE, Uint8Array.of(1)), fileOf(APPENDED, Uint8Array.of(1))];
    expect(onlyGainedFragments(earlier, later)).toBe(true);
    expect(onlyGainedFragments(earlier, fileOf(APPENDED, Uint8Array.of(2)))).toBe(false);
    expect(onlyGainedFragments(earlier, fileOf(APPENDED))).toBe(false);
    expect(onlyGainedFragments(fileOf(BASE), later)).toBe(false);
  });

  it("may differ in any way if the earlier one has no rows", () => {
    expect(gained(APPENDED, { ...BASE, fragments: [] })).toBe(false);
  });
});
