/**
 * Lance before 0.14 stores texts and binaries of 2.0 as lists of bytes. No release writes such files, so the
 * test rewrites the schema of a table of lists.
 */

import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { List, Table, tableFromIPC, Uint8 } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, expect, it } from "vitest";
import { decodeManifestFile } from "../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../src/table/versions/manifestEncoder.js";
import { columnsOf, fieldOf, int32s } from "../support/arrowColumns.js";
import { compareTables, reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const TEXTS = Array.from({ length: 200 }, (_, id) =>
  id % 7 === 0 ? null : id % 5 === 0 ? "" : `text ${id}`,
);

let root: string;
let ns: DirectoryNamespace;

beforeAll(async () => {
  root = await makeTempDir();
  ns = new DirectoryNamespace({ root, durability: "none", dataStorageVersion: "2.0" });
  const bytes = new List(fieldOf("item", new Uint8(), false));
  const rows = new Table({
    id: int32s([...TEXTS.keys()]),
    text: columnsOf(bytes)(TEXTS.map((text) => (text === null ? null : [...Buffer.from(text)]))),
    last: int32s([...TEXTS.keys()]),
  });
  await ns.createTable({ id: ["t"] }, rows);
  await ns.close();
  const directory = join(root, "t.lance", "_versions");
  const [name] = (await readdir(directory)).filter((file) => file.endsWith(".manifest"));
  const path = join(directory, name);
  const { manifest, transactionBytes } = decodeManifestFile(await readFile(path), path);
  const item = manifest.fields.find(({ name: field }) => field === "item");
  const fields = manifest.fields
    .filter((field) => field !== item)
    .map((field) => (field.name === "text" ? { ...field, logicalType: "string" } : field));
  const fragments = manifest.fragments.map((fragment) => ({
    ...fragment,
    files: fragment.files.map((file) => {
      const kept = file.fields.flatMap((field, index) => (field === item?.id ? [] : [index]));
      return {
        ...file,
        fields: kept.map((index) => file.fields[index]),
        columnIndices: kept.map((index) => file.columnIndices[index]),
      };
    }),
  }));
  const changed = { manifest: { ...manifest, fields, fragments }, indexSectionBytes: null, transactionBytes };
  await rm(path);
  await writeFile(path, Buffer.concat(encodeManifestFile(changed).chunks));
  ns = new DirectoryNamespace({ root, durability: "none" });
});
afterAll(() => ns.close());

it("are read whole, in part and filtered, as by the reference", async () => {
  const table = ns.table(["t"]);
  const rows = await table.scan().toArrow();
  expect(Array.from(rows.getChild("text") ?? [])).toEqual(TEXTS);
  compareTables(tableFromIPC(await reference.readTable(root, "t")), rows);
  const taken = await table.take([1, 5, 7, 199]);
  expect(Array.from(taken.getChild("text") ?? [])).toEqual(["text 1", "", null, "text 199"]);
  for (const filter of ["text = 'text 12'", "text IS NULL", "text = ''", "text LIKE '%9'", "last > 150"]) {
    expect(await table.countRows(filter), filter).toBe(await reference.countRows(root, "t", filter));
  }
});

it("stay when rows are added, changed and compacted", async () => {
  const table = ns.table(["t"]);
  await table.insert([{ id: 1000, text: "more", last: 1000 }]);
  await table.delete("id < 100");
  await table.optimize();
  const rows = await table.scan().toArrow();
  expect(Array.from(rows.getChild("text") ?? [])).toEqual([...TEXTS.slice(100), "more"]);
  compareTables(tableFromIPC(await reference.readTable(root, "t")), rows);
});
