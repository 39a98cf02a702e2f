/** Namespaces in Chromium, on each disk that a page has. */

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { run, sharedBrowser } from "./support/browser.js";
import { readGolden } from "./support/bundle.js";

const browser = sharedBrowser();

/** Makes, changes, indexes, searches and drops tables of a namespace; returns what it saw. */
const STEPS = `
  const seen = {};
  const texts = ["an ash tree", "an old elm", "the elms of a park", "a birch"];
  const rows = (from, count) => Array.from({ length: count }, (_, i) => ({
    id: from + i, text: texts[(from + i) % 4], vector: [from + i, 1, 0, 0].map(Number),
  }));
  const schema = tiltyard.defineTable({ id: tiltyard.int64(), text: tiltyard.utf8(), vector: tiltyard.vector(4) });
  await ns.table("t", { schema }).create(rows(0, 300));
  const table = ns.table("t");
  await table.insert(rows(300, 20));
  await table.delete("id < 10");
  await table.update({ where: "id = 10", values: { text: "a lime" } });
  seen.count = await table.countRows();
  await table.waitForJob(await table.createIndex("id", { indexType: "BTREE" }));
  await table.waitForJob(await table.createIndex("text", { indexType: "FTS" }));
  seen.filtered = (await table.scan({ filter: "id > 316" }).toArray()).map((row) => Number(row.id));
  seen.words = (await table.search({ text: "lime" }).toArray()).length;
  seen.nearest = (await table.search({ vector: [50, 1, 0, 0], limit: 1 }).toArray()).map((row) => Number(row.id));
  await table.createTag("first", 1);
  await table.createBranch("b");
  seen.versions = (await table.versions()).length > 3;
  await ns.createNamespace({ id: ["n"] });
  await ns.table(["n", "u"]).create(rows(0, 3));
  seen.tables = (await ns.listTables({ id: [] })).tables;
  await ns.dropTable({ id: ["n", "u"] });
  await ns.close();
`;

const EXPECTED = {
  count: 310,
  filtered: [317, 318, 319],
  words: 1,
  nearest: [50],
  versions: true,
  tables: ["t"],
};

it.each([
  ["memoryDisk", "disks.memoryDisk()"],
  ["opfsDisk", "disks.opfsDisk()"],
  [
    "directoryHandleDisk",
    `disks.directoryHandleDisk(await navigator.storage.getDirectory(), { mode: "readwrite" })`,
  ],
])("a namespace on %s changes and searches tables", async (_name, disk) => {
  const page = await browser.open();
  const seen = await run(
    page,
    `const ns = new tiltyard.DirectoryNamespace({ root: "/data", disk: ${disk} }); ${STEPS} return seen;`,
  );
  expect(seen).toEqual(EXPECTED);
});

/** Runs the conformance suite in a page; returns the number of tests, and the failures. */
const conform = (disk: string) => `
  const tests = [];
  conformance.diskConformance({ test: (name, body) => tests.push([name, body]) }, async () => ({ disk: ${disk}, root: "/" + crypto.randomUUID() }));
  const failed = [];
  for (const [name, body] of tests) await body().catch((error) => failed.push(name + ": " + error.message));
  return { count: tests.length, failed };
`;

it.each([
  ["opfsDisk", "disks.opfsDisk()"],
  [
    "directoryHandleDisk",
    `disks.directoryHandleDisk(await navigator.storage.getDirectory(), { mode: "readwrite" })`,
  ],
])("%s passes the conformance suite", async (_name, disk) => {
  const { count, failed } = await run<{ count: number; failed: string[] }>(
    await browser.open(),
    conform(disk),
  );
  expect(failed).toEqual([]);
  expect(count).toBeGreaterThan(15);
});

/** Tables of the reference in the folder of goldens, and their rows as text. */
const GOLDEN = fileURLToPath(new URL("../golden", import.meta.url));

it("fileListDisk and directoryHandleDisk read tables of the reference, and refuse to write", async () => {
  const ns = new DirectoryNamespace({ root: GOLDEN, workers: 0 });
  const { tables } = await ns.listTables({ id: [] });
  const expected: Record<string, string> = {};
  for (const table of tables) {
    expected[table] = await textOf(ns, table);
  }
  await ns.close();
  const paths = readdirSync(GOLDEN, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath.includes(".lance"))
    .map((entry) => `${entry.parentPath.slice(GOLDEN.length + 1)}/${entry.name}`.replaceAll("\\", "/"));
  const page = await browser.open();
  await page.exposeFunction("readGolden", async (path: string) =>
    Buffer.from(await readGolden(path)).toString("base64"),
  );
  const seen = await run<{ byList: unknown; byHandle: unknown; refusals: string[] }>(
    page,
    `const paths = ${JSON.stringify(paths)};
    const files = [];
    const top = await (await navigator.storage.getDirectory()).getDirectoryHandle("picked", { create: true });
    for (const path of paths) {
      const bytes = Uint8Array.from(atob(await readGolden(path)), (text) => text.charCodeAt(0));
      const file = new File([bytes], path.split("/").at(-1));
      Object.defineProperty(file, "webkitRelativePath", { value: "golden/" + path });
      files.push(file);
      let directory = top;
      for (const name of path.split("/").slice(0, -1)) directory = await directory.getDirectoryHandle(name, { create: true });
      const stream = await (await directory.getFileHandle(file.name, { create: true })).createWritable();
      await stream.write(bytes);
      await stream.close();
    }
    ${textOf.toString().replace("async function textOf", "async function textOf")}
    const readAll = async (disk) => {
      const ns = new tiltyard.DirectoryNamespace({ root: "/", disk });
      const texts = {};
      for (const table of (await ns.listTables({ id: [] })).tables) texts[table] = await textOf(ns, table);
      const refusal = await ns.insertIntoTable({ id: [Object.keys(texts)[0]] }, [{ x: 1 }]).catch((error) => error);
      const drop = await ns.dropTable({ id: [Object.keys(texts)[0]] }).catch((error) => error);
      return [texts, refusal.type + " " + drop.name];
    };
    const [byList, first] = await readAll(disks.fileListDisk(files));
    const [byHandle, second] = await readAll(disks.directoryHandleDisk(top));
    return { byList, byHandle, refusals: [first, second] };`,
  );
  expect(Object.keys(expected).length).toBeGreaterThan(5);
  expect(seen.byList).toEqual(expected);
  expect(seen.byHandle).toEqual(expected);
  for (const refusal of seen.refusals) expect(refusal).toMatch(/ReadOnlyDiskError$/);
});

/** Returns the rows of a table as text, or the name of the error. Runs in the page too. */
async function textOf(ns: DirectoryNamespace, table: string): Promise<string> {
  try {
    const rows = await ns.table(table).scan({ limit: 200 }).toArray();
    return JSON.stringify(rows, (_key, value) => (typeof value === "bigint" ? `${value}n` : value));
  } catch (error) {
    return (error as Error).name;
  }
}
