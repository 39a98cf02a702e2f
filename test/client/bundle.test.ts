/** The client runs in browsers: bundled for one, it has no module of Node.js, and works with a browser's globals. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createContext, Script } from "node:vm";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { beforeAll, expect, it } from "../support/fixtures.js";
import { startRestServer } from "../support/restServer.js";

const ENTRY = fileURLToPath(new URL("../../src/client.ts", import.meta.url));
const [NATIVE, PORTABLE] = ["native", "portable"].map((name) =>
  fileURLToPath(new URL(`../../src/platform/${name}.ts`, import.meta.url)),
);
/** Maximum kilobytes of the minified bundle after gzip, with apache-arrow and zod. */
const MAX_KB = 160;

/** Globals of browsers beyond the language itself. */
const BROWSER_GLOBALS = {
  ...{ AbortController, AbortSignal, Blob, DOMException, Headers, MessageChannel, ReadableStream, Request },
  ...{ Response, TextDecoder, TextEncoder, URL, URLSearchParams, btoa, atob, clearTimeout, console, crypto },
  ...{ fetch, performance, queueMicrotask, setTimeout, document: {} },
};

let code: string;
let imports: readonly string[];

beforeAll(async () => {
  const build = await rolldown({
    input: ENTRY,
    platform: "browser",
    logLevel: "silent",
    plugins: [{ name: "portable", load: (id) => (id === NATIVE ? readFileSync(PORTABLE, "utf8") : null) }],
    moduleTypes: { ".ts": "ts" },
  });
  const { output } = await build.generate({ format: "iife", name: "tiltyard", minify: true });
  await build.close();
  code = output[0].code;
  imports = output[0].imports;
});

it("the bundle needs no module of Node.js and stays small", () => {
  expect(imports).toEqual([]);
  expect(code).not.toMatch(/\brequire\(|"node:|process\.versions/);
  expect(gzipSync(code).length / 1024).toBeLessThan(MAX_KB);
});

it("the bundle writes and reads rows, and throws its own errors", async ({ ns }) => {
  await using server = await startRestServer(ns);
  const context = createContext({ ...BROWSER_GLOBALS, uri: server.url });
  new Script(`${code}\nglobalThis.tiltyard = tiltyard;`).runInContext(context);
  expect(new Script("typeof process + typeof Buffer + typeof setImmediate").runInContext(context)).toBe(
    "undefined".repeat(3),
  );
  const answer = await new Script(`(async () => {
    const ns = tiltyard.connectRest({ uri });
    await ns.createTable({ id: "t" }, [{ id: 1, name: "ash", at: new Date(0) }]);
    await ns.insertIntoTable({ id: "t" }, [{ id: 2, name: "elm", at: null }]);
    const rows = await ns.table("t").scan({ filter: "id >= 1" }).toArray({ dates: "iso" });
    const error = await ns.dropTable({ id: "none" }).catch((thrown) => thrown);
    return JSON.stringify([rows, error instanceof tiltyard.TableNotFoundError]);
  })()`).runInContext(context);
  const rows = [
    { id: 1, name: "ash", at: "1970-01-01T00:00:00Z" },
    { id: 2, name: "elm", at: null },
  ];
  expect(JSON.parse(answer)).toEqual([rows, true]);
});
