/**
 * The read path runs without Node.js. Bundled as for a browser, it reads tables of the reference over HTTP
 * ranges in a context with a browser's globals only, with `platform/portable` for `platform/native`.
 */

import { readdirSync, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createContext, Script } from "node:vm";
import { tableFromIPC } from "apache-arrow";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, it } from "vitest";
import { exactColumns } from "../support/exactJson.js";
import type { Golden } from "../support/goldenTables.js";

const GOLDEN = fileURLToPath(new URL("../golden", import.meta.url));
const ENTRY = fileURLToPath(new URL("publishedTable.mjs", import.meta.url));
const [NATIVE, PORTABLE] = ["native", "portable"].map((name) =>
  fileURLToPath(new URL(`../../dist/platform/${name}.js`, import.meta.url)),
);
const STEMMERS = fileURLToPath(new URL("../../dist/platform/stemmers.js", import.meta.url));
/** Text of modules that a script has in place of others. Stemmers wait for their WebAssembly, which only modules can. */
const REPLACED = new Map([
  [NATIVE, readFileSync(PORTABLE, "utf8")],
  [STEMMERS, "export const snowballStemmer = () => null;"],
]);
/** The latest version of each is its first. */
const MANIFEST = "_versions/18446744073709551614.manifest";

/** Globals of browsers beyond the language itself. */
const BROWSER_GLOBALS = {
  AbortController,
  AbortSignal,
  MessageChannel,
  TextDecoder,
  TextEncoder,
  clearTimeout,
  console,
  crypto,
  performance,
  queueMicrotask,
  setTimeout,
};

let server: Server;
let base: string;
let bundle: string;
let imports: readonly string[];

/** Files below a directory, by ranges and by HEAD. */
async function serveFiles(root: string): Promise<Server> {
  const files = createServer(async (request, response) => {
    const file = await open(join(root, decodeURIComponent(request.url ?? "/"))).catch(() => null);
    if (file === null) return response.writeHead(404).end();
    try {
      const { size } = await file.stat();
      const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
      if (request.method === "HEAD") return response.writeHead(200, { "content-length": size }).end();
      if (range === null) return response.writeHead(400).end();
      const [start, end] = [Number(range[1]), Math.min(Number(range[2]) + 1, size)];
      const bytes = Buffer.alloc(end - start);
      await file.read(bytes, 0, bytes.length, start);
      return response.writeHead(206, { "content-length": bytes.length }).end(bytes);
    } finally {
      await file.close();
    }
  });
  await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve));
  return files;
}

beforeAll(async () => {
  server = await serveFiles(GOLDEN);
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const build = await rolldown({
    input: ENTRY,
    platform: "browser",
    logLevel: "silent",
    plugins: [{ name: "portable", load: (id) => REPLACED.get(id) ?? null }],
  });
  const { output } = await build.generate({ format: "iife", name: "published" });
  await build.close();
  bundle = output[0].code;
  imports = output[0].imports;
});

afterAll(() => new Promise((resolve) => server.close(resolve)));

it("needs no module of Node.js", () => {
  expect(imports).toEqual([]);
});

const tables = readdirSync(GOLDEN)
  .filter((name) => name.endsWith(".json") && !name.startsWith("v0_1"))
  .map((name) => name.slice(0, -".json".length));

it.each(tables)("reads %s over ranges", async (name) => {
  const context = createContext({ ...BROWSER_GLOBALS });
  new Script(`${bundle}\nglobalThis.published = published;`).runInContext(context);
  expect(
    new Script("typeof process + typeof Buffer + typeof setImmediate + typeof require").runInContext(context),
  ).toBe("undefined".repeat(4));
  const tableRoot = `${name}.lance`;
  const bytes: Uint8Array = await context.published.readVersion(
    base,
    tableRoot,
    `${tableRoot}/${MANIFEST}`,
    fetch,
  );
  const golden: Golden = JSON.parse(readFileSync(join(GOLDEN, `${name}.json`), "utf8"));
  expect(exactColumns(tableFromIPC(bytes))).toEqual(golden.columns);
});
