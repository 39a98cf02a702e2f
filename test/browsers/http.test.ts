/** Tables of the reference, read in Chromium from a host of another origin, and their rows in Node.js. */

import { cpSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DirectoryNamespace } from "tiltyard";
import { publishIndex } from "tiltyard/disks";
import { expect, it, onTestFinished } from "vitest";
import { type FileHost, startFileHost } from "../support/fileHost.js";
import { makeTempDir } from "../support/tempDir.js";
import { run, sharedBrowser } from "./support/browser.js";

const GOLDEN = fileURLToPath(new URL("../golden", import.meta.url));
const browser = sharedBrowser();

const tablesIn = (directory: string): string[] =>
  readdirSync(directory)
    .filter((entry) => entry.endsWith(".lance"))
    .map((entry) => entry.slice(0, -".lance".length));

/** Source of a function that returns the rows of a table, and answers of its indexes, as text. */
const READ = `async (ns, name) => {
  const shown = (_key, value) =>
    typeof value === "bigint" ? value + "n"
    : value instanceof Uint8Array ? "bytes " + value.join()
    : ArrayBuffer.isView(value) ? Array.from(value)
    : typeof value === "number" && !Number.isFinite(value) ? String(value)
    : Object.is(value, -0) ? "-0"
    : value;
  const table = ns.table([name]);
  const rows = await table.scan({ limit: 2000 }).toArray({ dates: "number" });
  const answers = [rows, await table.countRows()];
  const vector = /ivf|hnsw/.test(name) && Object.keys(rows[0]).find((column) => /^vec/.test(column));
  if (vector)
    answers.push(await table.search({ vector: Array.from(rows[0][vector]), limit: 5 }).toArray());
  if (name.includes("fts")) answers.push(await table.search({ text: "a the of", limit: 5 }).toArray());
  if (name.includes("btree")) answers.push(await table.scan({ filter: "id = 7" }).toArray());
  return JSON.stringify(answers, shown);
}`;

/** Lets pages of any origin read. */
const SHARED = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };

async function hostOf(directory: string): Promise<FileHost> {
  const host = await startFileHost(directory);
  onTestFinished(() => host[Symbol.asyncDispose]());
  return host;
}

/** Reads tables in a page, and returns those whose rows differ from those that Node.js reads. */
async function differencesOf(root: string, url: string, names: readonly string[]): Promise<string[]> {
  // biome-ignore lint/security/noGlobalEval: the page runs the same text
  const read = globalThis.eval(`(${READ})`) as (ns: DirectoryNamespace, name: string) => Promise<string>;
  await using local = new DirectoryNamespace({ root, durability: "none" });
  const page = await browser.open();
  await run(
    page,
    `globalThis.ns = new tiltyard.DirectoryNamespace({ root: "/", disk: disks.httpDisk(${JSON.stringify(url)}) });`,
  );
  const differing: string[] = [];
  for (const name of names) {
    const seen = await run<string>(page, `return (${READ})(ns, ${JSON.stringify(name)}).catch(String);`);
    if (seen !== (await read(local, name))) differing.push(`${name}: ${seen.slice(0, 200)}`);
  }
  await page.close();
  return differing;
}

it.each([
  ".",
  "legacy",
  "oldIndexes",
  "oldVectorIndexes",
])("Chromium reads the tables of golden/%s as Node.js does, with an index and without", async (directory) => {
  const root = await makeTempDir();
  cpSync(join(GOLDEN, directory), root, { recursive: true });
  const names = tablesIn(root);
  const host = await hostOf(root);
  host.headers = { ...SHARED, "access-control-expose-headers": "content-range, etag" };
  expect(await differencesOf(root, host.url, names)).toEqual([]);
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  await publishIndex(ns);
  expect(await differencesOf(root, host.url, names)).toEqual([]);
});

it("a host that hides its headers from pages is read all the same", async () => {
  const root = await makeTempDir();
  const names = ["v2_1_list", "v2_2_struct"];
  for (const name of names)
    cpSync(join(GOLDEN, `${name}.lance`), join(root, `${name}.lance`), { recursive: true });
  const host = await hostOf(root);
  host.headers = SHARED;
  expect(await differencesOf(root, host.url, names)).toEqual([]);
});

it("a page of another origin gets a typed error from a host that does not let it read", async () => {
  const host = await hostOf(await makeTempDir());
  const page = await browser.open();
  const name = await run(
    page,
    `const ns = new tiltyard.DirectoryNamespace({ root: "/", disk: disks.httpDisk(${JSON.stringify(host.url)}) });
    return ns.table("t").countRows().catch((error) => error.name);`,
  );
  expect(name).toBe("ServiceUnavailableError");
});
