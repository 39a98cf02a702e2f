import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseType } from "../../../src/arrow/types/type.js";
import { CorruptFileError } from "../../../src/errors.js";
import {
  Append,
  DataFile,
  DataFragment,
  IndexMetadata,
  IndexSection,
  Manifest,
  Timestamp,
  Transaction,
} from "../../../src/format/table.js";
import { encodeSchema } from "../../../src/schema/schemaEncoder.js";
import {
  decodeManifestFile,
  type ManifestFile,
  readManifestFile,
} from "../../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../../src/table/versions/manifestEncoder.js";
import { parseManifestName } from "../../../src/table/versions/paths.js";
import { reference } from "../../support/reference.js";
import { disk, ipcOf, joinChunks, makeReferenceTable, valuesOf } from "../support.js";

const concatenate = (...parts: Uint8Array[]): Uint8Array => joinChunks(parts);

async function manifestsOf(root: string): Promise<Map<string, Uint8Array>> {
  const directory = join(root, "_versions");
  const names = (await readdir(directory)).filter((name) => parseManifestName(name) !== null);
  const entries = names.map(async (name) => {
    const path = join(directory, name);
    return [path, new Uint8Array(await readFile(path))] as const;
  });
  return new Map(await Promise.all(entries));
}

function everything(file: ManifestFile): unknown {
  return { manifest: file.manifest, transaction: file.transaction, indexSection: file.indexSection };
}

function sampleContent() {
  const fragment = DataFragment.create({
    id: 3,
    files: [DataFile.create({ path: "0101.lance", fields: [0], columnIndices: [0], fileMajorVersion: 2 })],
    physicalRows: 77,
  });
  return {
    manifest: Manifest.create({
      fields: encodeSchema([
        {
          id: 0,
          name: "v",
          type: parseType("int32"),
          nullable: true,
          metadata: new Map([["k", "ä"]]),
          children: [],
        },
      ]),
      fragments: [fragment],
      version: 12,
      timestamp: Timestamp.create({ seconds: 1_700_000_000, nanos: 5 }),
      maxFragmentId: 3,
      config: new Map([["a", "b"]]),
    }),
    indexSectionBytes: IndexSection.encode({
      indices: [IndexMetadata.create({ name: "v_idx", fields: [0] })],
    }),
    transactionBytes: Transaction.encode(
      Transaction.create({ readVersion: 11, uuid: "u", append: Append.create({ fragments: [fragment] }) }),
    ),
  };
}

/** Returns the decoded manifest of a file with only the counts of its fragments. */
function withCounts({ manifest }: ManifestFile): unknown {
  const fragments = manifest.fragments.map(({ physicalRows, deletionFile }) => ({
    physicalRows,
    deletionFile: deletionFile && { numDeletedRows: deletionFile.numDeletedRows },
  }));
  return { ...manifest, fragments };
}

const sample = (): Uint8Array => joinChunks(encodeManifestFile(sampleContent()).chunks);

describe("manifests of the reference", () => {
  it.each([
    ["defaults", {}],
    ["V1 names", { v1Paths: true }],
    ["format 2.1", { dataStorageVersion: "2.1" }],
    ["stable row ids", { stableRowIds: true }],
  ])("decode and encode to the same bytes: %s", async (_name, options) => {
    const table = await makeReferenceTable([1, 2, 3, 4], options);
    await reference.appendTable(table.uri, "t", ipcOf(5, 6));
    await reference.deleteRows(table.uri, "t", "v = 2");
    await reference.updateRows(table.uri, "t", { v: "v + 10" }, "v > 3");
    await reference.createTag(table.uri, "t", "before", 2);
    await reference.createBranch(table.uri, "t", "side");
    await reference.overwriteTable(table.uri, "t", ipcOf(9));
    await reference.restoreTable(table.uri, "t", 4);
    const manifests = await manifestsOf(table.root);
    expect(manifests.size).toBe(6);
    for (const [path, bytes] of [...manifests, ...(await manifestsOf(join(table.root, "tree", "side")))]) {
      const file = decodeManifestFile(bytes, path);
      expect(file.summary).toEqual(withCounts(file));
      const start = Number(
        new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(bytes.length - 16, true),
      );
      expect(Manifest.encode(file.manifest)).toEqual(bytes.subarray(start + 4, -16));
      expect(Transaction.encode(file.transaction!)).toEqual(file.transactionBytes);
      expect(file.manifest.unknown).toBeUndefined();
      expect(file.transaction!.unknown).toBeUndefined();
    }
  });

  it("can be replaced by ours, which the reference opens, lists, appends to and restores", async () => {
    const table = await makeReferenceTable([1, 2, 3]);
    await reference.appendTable(table.uri, "t", ipcOf(4));
    for (const [path, bytes] of await manifestsOf(table.root)) {
      const { chunks } = encodeManifestFile(decodeManifestFile(bytes, path));
      await rm(path);
      await writeFile(path, joinChunks(chunks));
    }
    expect(await valuesOf(table)).toEqual([1, 2, 3, 4]);
    await reference.appendTable(table.uri, "t", ipcOf(5));
    await reference.restoreTable(table.uri, "t", 1);
    expect(await valuesOf(table)).toEqual([1, 2, 3]);
    const versions = await reference.listVersions(table.uri, "t");
    expect(versions.map((each) => each.metadata["total_rows"])).toEqual(["3", "4", "5", "3"]);
  });
});

describe("manifests of ours", () => {
  it("decode to what was encoded", () => {
    const content = sampleContent();
    const encoded = encodeManifestFile(content);
    const bytes = joinChunks(encoded.chunks);
    const file = decodeManifestFile(bytes, "m");
    expect(file.summary).toEqual(withCounts(decodeManifestFile(bytes, "m")));
    expect(file.decoded).toBeNull();
    expect(file.manifest).toEqual(encoded.manifest);
    expect(file.summary).toBe(file.manifest);
    expect(file.indexSectionBytes).toEqual(content.indexSectionBytes);
    expect(file.transactionBytes).toEqual(content.transactionBytes);
  });

  it("carry unknown fields, except those of the manifest itself", () => {
    const content = sampleContent();
    const foreign = Uint8Array.of(0xba, 0x3e, 3, 1, 2, 3); // Field 999 with three bytes.
    content.manifest.unknown = foreign;
    content.manifest.fragments = [{ ...content.manifest.fragments[0], unknown: foreign }];
    content.manifest.fields[0].unknown = foreign;
    const file = decodeManifestFile(joinChunks(encodeManifestFile(content).chunks), "m");
    expect(file.manifest.unknown).toBeUndefined();
    expect(file.manifest.fragments[0].unknown).toEqual(foreign);
    expect(file.manifest.fields[0].unknown).toEqual(foreign);
  });

  it("are refused or read the same with any bit flipped", () => {
    const original = everything(decodeManifestFile(sample(), "m"));
    const bytes = sample();
    let refused = 0;
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      bytes[bit >>> 3] ^= 1 << (bit & 7);
      try {
        expect(everything(decodeManifestFile(bytes, "m"))).toEqual(original);
      } catch (error) {
        expect(error).toBeInstanceOf(CorruptFileError);
        refused++;
      }
      bytes[bit >>> 3] ^= 1 << (bit & 7);
    }
    // Only the magic and the padding of the check block may change unnoticed.
    expect(refused).toBeGreaterThanOrEqual((bytes.length - 12) * 8);
  });

  it("are refused with any part cut off or cut out", () => {
    const bytes = sample();
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decodeManifestFile(bytes.subarray(0, length), "m")).toThrow(CorruptFileError);
      expect(() => decodeManifestFile(bytes.subarray(bytes.length - length), "m")).toThrow(CorruptFileError);
      const without = concatenate(bytes.subarray(0, length), bytes.subarray(length + 1));
      expect(() => decodeManifestFile(without, "m")).toThrow(CorruptFileError);
    }
  });
});

describe("manifest files", () => {
  it("are refused if positions lead out of the file", () => {
    const bytes = sample();
    new DataView(bytes.buffer, bytes.byteOffset).setBigUint64(bytes.length - 16, 2n ** 63n, true);
    expect(() => decodeManifestFile(bytes, "m")).toThrow(CorruptFileError);
  });

  it("give null if there is none", async () => {
    expect(await readManifestFile(disk, "/nowhere/1.manifest")).toBeNull();
  });
});
