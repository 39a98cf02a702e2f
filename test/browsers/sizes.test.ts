/** Bytes that a page loads of the package for a query: only what the query uses. */

import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { run, sharedBrowser } from "./support/browser.js";

/** Programs that read, and the most kilobytes after gzip that they may load, without apache-arrow. */
const PROGRAMS = {
  firstRow: [120, `await table.scan({ limit: 1 }).toArray();`],
  filter: [170, `await table.scan({ filter: "id > 10 AND text LIKE 'a%'" }).toArray();`],
  search: [
    255,
    `await table.scan({ filter: "id > 10" }).toArray();
    await table.search({ vector: [50, 1, 0, 0], limit: 1 }).toArray();
    await table.search({ text: "elm", limit: 1 }).toArray();`,
  ],
} as const;

const programOf = (body: string): string => `
  import { DirectoryNamespace } from "tiltyard";
  import { opfsDisk } from "tiltyard/disks";
  export async function run() {
    const table = new DirectoryNamespace({ root: "/", disk: opfsDisk() }).table("t");
    ${body}
  }`;

const browser = sharedBrowser(
  Object.fromEntries(Object.entries(PROGRAMS).map(([name, [, body]]) => [name, programOf(body)])),
);

const MAKE = `
  const schema = tiltyard.defineTable({ id: tiltyard.int64(), text: tiltyard.utf8(), vector: tiltyard.vector(4) });
  const rows = Array.from({ length: 300 }, (_, id) => ({ id, text: id % 2 ? "an ash" : "an elm", vector: [id, 1, 0, 0] }));
  const table = new tiltyard.DirectoryNamespace({ root: "/", disk: disks.opfsDisk() }).table("t", { schema });
  await table.create(rows);
  await table.waitForJob(await table.createIndex("text", { indexType: "FTS" }));`;

it.each(Object.entries(PROGRAMS))("the program %s loads no more than its kilobytes", async (name, [
  maxKilobytes,
]) => {
  const context = await browser.newContext();
  const maker = await browser.open(context);
  await run(maker, MAKE);
  await maker.close();
  const page = await context.newPage();
  const sizes = new Map<string, number>();
  page.on("response", (response) => {
    const path = new URL(response.url()).pathname.slice(1);
    const code = browser.codeOf(path);
    if (code !== undefined && !/arrow/i.test(path)) sizes.set(path, gzipSync(code).length);
  });
  await page.goto(`${browser.url}/empty`);
  await run(page, `await (await import("/${name}/program.js")).run();`);
  const kilobytes = Array.from(sizes.values()).reduce((sum, size) => sum + size, 0) / 1000;
  console.log(`${name}: ${kilobytes.toFixed(3)} kB in ${sizes.size} files`);
  expect(kilobytes).toBeLessThanOrEqual(maxKilobytes);
});
