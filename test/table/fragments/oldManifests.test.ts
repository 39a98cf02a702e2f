/** Manifests of old releases: without counts of rows or a writer, and with wrong versions of data files. */

import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { DirectoryNamespace, UnsupportedError } from "tiltyard";
import { DataFormat, type Manifest } from "../../../src/format/table.js";
import { decodeManifestFile } from "../../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../../src/table/versions/manifestEncoder.js";
import { beforeAll, describe, expect, it, sharedNamespace } from "../../support/fixtures.js";
import { errorOf } from "../../support/outcomes.js";
import { reference } from "../../support/reference.js";

const LEGACY_GOLDEN = fileURLToPath(new URL("../../golden/v0_1_flat.lance", import.meta.url));
/** Returns the manifest as Lance before 0.8 would write it. */
const beforeWriters = (manifest: Manifest): Manifest => ({
  ...withoutCounts(manifest),
  writerVersion: undefined,
  dataFormat: undefined,
  maxFragmentId: undefined,
});
const withoutCounts = (manifest: Manifest): Manifest => ({
  ...manifest,
  fragments: manifest.fragments.map((fragment) => ({
    ...fragment,
    physicalRows: 0,
    ...(fragment.deletionFile !== undefined && {
      deletionFile: { ...fragment.deletionFile, numDeletedRows: 0 },
    }),
  })),
});

const ns = sharedNamespace();
const { root } = ns;

async function rewrite(name: string, change: (manifest: Manifest) => Manifest): Promise<void> {
  const directory = join(root, `${name}.lance`, "_versions");
  for (const file of await readdir(directory)) {
    if (!file.endsWith(".manifest")) continue;
    const path = join(directory, file);
    const { manifest, indexSectionBytes, transactionBytes } = decodeManifestFile(await readFile(path), path);
    const encoded = encodeManifestFile({ manifest: change(manifest), indexSectionBytes, transactionBytes });
    await rm(path);
    await writeFile(path, Buffer.concat(encoded.chunks));
  }
}

/** Makes a table of two fragments of 100 and 40 rows, with deletion files of 10 and 4 rows. */
async function createTable(name: string, dataStorageVersion: "2.0" | "2.1" | "2.2"): Promise<void> {
  await using writer = new DirectoryNamespace({ root, durability: "none", dataStorageVersion });
  const rows = (first: number, count: number) =>
    Array.from({ length: count }, (_, row) => ({ id: first + row, text: `t${first + row}` }));
  await writer.createTable({ id: [name] }, rows(0, 100));
  await writer.insertIntoTable({ id: [name] }, rows(100, 40));
  await writer.deleteFromTable({ id: [name], predicate: "id % 10 = 3" });
}

const fileVersions = ["2.0", "2.1", "2.2"] as const;
describe.each(fileVersions)("a table of version %s whose fragments have no counts", (version) => {
  const name = `uncounted_${version.replace(".", "_")}`;

  beforeAll(async () => {
    await createTable(name, version);
    await rewrite(name, withoutCounts);
  });

  it("has all its rows, for both engines", async () => {
    const table = ns.table([name]);
    expect(await table.countRows()).toBe(126);
    expect(await table.countRows("id >= 100")).toBe(36);
    expect((await table.scan({ columns: ["id"] }).toArray()).length).toBe(126);
    expect((await table.stats()).numRows).toBe(126);
    expect((await table.stats()).fragmentStats.lengths).toMatchObject({ min: 40, max: 100 });
    expect(await table.take([125])).toMatchObject({ numRows: 1 });
    expect(await ns.table([name], { version: 1 }).countRows()).toBe(100);
    expect(await reference.countRows(root, name)).toBe(126);
  });

  it("records its counts from the next change on", async () => {
    await ns.insertIntoTable({ id: [name] }, [{ id: 1000, text: "more" }]);
    await ns.deleteFromTable({ id: [name], predicate: "id = 0" });
    const directory = join(root, `${name}.lance`, "_versions");
    const [latest] = (await readdir(directory)).filter((file) => file.endsWith(".manifest")).sort();
    const { manifest } = decodeManifestFile(await readFile(join(directory, latest)), latest);
    expect(manifest.fragments.map(({ physicalRows }) => physicalRows)).toEqual([100, 40, 1]);
    expect(manifest.fragments.map(({ deletionFile }) => deletionFile?.numDeletedRows)).toEqual([
      11,
      4,
      undefined,
    ]);
    expect(await reference.countRows(root, name)).toBe(126);
    await ns.table([name]).optimize();
    expect(await ns.table([name]).countRows()).toBe(126);
  });
});

describe("a table of version 0.1 with incomplete manifests", () => {
  const says = /version 0\.1: the legacy format, which is read and not written/;

  beforeAll(async () => {
    await reference.createTable(
      root,
      "old",
      tableToIPC(tableFromArrays({ id: Int32Array.from([1, 2, 3, 4]) })),
      {
        dataStorageVersion: "0.1",
      },
    );
    await reference.deleteRows(root, "old", "id = 2");
    await rewrite("old", beforeWriters);
  });

  it("has counts and statistics", async () => {
    const table = ns.table(["old"]);
    expect(await table.countRows()).toBe(3);
    expect(await ns.table(["old"], { version: 1 }).countRows()).toBe(4);
    expect((await table.stats()).numRows).toBe(3);
    expect((await table.describe()).stats).toMatchObject({ numDeletedRows: 1, numFragments: 1 });
    expect(await reference.countRows(root, "old")).toBe(3);
  });

  it("has rows that are read; writes of rows are refused with the name of the version", async () => {
    const table = ns.table(["old"]);
    const rows = [{ id: 5 }];
    const calls: Record<string, () => Promise<unknown>> = {
      append: () => ns.insertIntoTable({ id: ["old"] }, rows),
      update: () => ns.updateTable({ id: ["old"], updates: [["id", "id + 1"]] }),
      merge: () => ns.mergeInsertIntoTable({ id: ["old"], on: ["id"], whenNotMatchedInsertAll: true }, rows),
      "add a column": () =>
        ns.alterTableAddColumns({ id: ["old"], newColumns: [{ name: "b", expression: "id + 1" }] }),
      "add a column of nulls": () =>
        ns.alterTableAddColumns({ id: ["old"], newColumns: [{ name: "c", dataType: "int32" } as never] }),
    };
    for (const [what, call] of Object.entries(calls)) {
      const error = await errorOf(call());
      expect(error, what).toBeInstanceOf(UnsupportedError);
      expect((error as Error).message, what).toMatch(says);
    }
    expect(await table.countRows("id = 3")).toBe(1);
    expect((await table.scan().toArray()).length).toBe(3);
    expect(await reference.countRows(root, "old")).toBe(3);
    expect(await reference.countRows(root, "old", "id = 3")).toBe(1);
  });

  it("keeps its rows when versions, tags and old files are changed", async () => {
    await ns.restoreTable({ id: ["old"], version: 1 });
    await ns.createTableTag({ id: ["old"], tag: "first", version: 1 });
    expect(await ns.table(["old"]).countRows()).toBe(4);
    await ns.table(["old"]).cleanup();
    expect(await reference.countRows(root, "old")).toBe(4);
    expect(await reference.countRows(root, "old", "id = 2")).toBe(1);
  });

  it("is refused if one of its files is damaged", async () => {
    await cp(LEGACY_GOLDEN, join(root, "damaged.lance"), { recursive: true });
    await rewrite("damaged", beforeWriters);
    const directory = join(root, "damaged.lance", "data");
    const [file] = await readdir(directory);
    const path = join(directory, file);
    const bytes = await readFile(path);
    bytes.writeBigInt64LE(BigInt(bytes.length), bytes.length - 16);
    await writeFile(path, bytes);
    await expect(ns.table(["damaged"]).countRows()).rejects.toThrow(
      /metadata position \d+ is outside the file/,
    );
    await rm(path);
    await expect(ns.table(["damaged"]).countRows()).rejects.toThrow(/the data file is missing/);
  });
});

describe("a manifest that says 0.1", () => {
  it("is read if its files are of 2.0, and names their version from the next change on", async () => {
    await createTable("misnamed", "2.0");
    await rewrite("misnamed", (manifest) => ({
      ...manifest,
      dataFormat: DataFormat.create({ fileFormat: "lance", version: "0.1" }),
    }));
    const table = ns.table(["misnamed"]);
    expect((await table.scan().toArray()).length).toBe(126);
    await ns.insertIntoTable({ id: ["misnamed"] }, [{ id: 5000, text: "more" }]);
    expect(await reference.countRows(root, "misnamed", "id >= 5000")).toBe(1);
    expect((await table.scan({ filter: "id < 13" }).toArray()).length).toBe(12);
  });

  it("is read if it has no rows", async () => {
    await reference.createTable(root, "empty", tableToIPC(tableFromArrays({ id: Int32Array.from([]) })), {
      dataStorageVersion: "0.1",
    });
    expect(await ns.table(["empty"]).scan().toArray()).toEqual([]);
    await expect(ns.insertIntoTable({ id: ["empty"] }, [{ id: 1 }])).rejects.toThrow(UnsupportedError);
  });
});
