/** What README.md prints is what happens: its example runs, its commands and dependencies are those of the package. */

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runInThisContext } from "node:vm";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import createFastify from "fastify";
import { Hono } from "hono";
import { DirectoryNamespace } from "tiltyard";
import { createRestHandler, toNodeListener } from "tiltyard/rest";
import { expect, it } from "vitest";
import { rowsOf } from "./support/contract.js";
import { listen } from "./support/frameworks.js";
import { post } from "./support/restServer.js";
import { makeTempDir } from "./support/tempDir.js";

const CHECKOUT = fileURLToPath(new URL("../", import.meta.url));
const readme = readFileSync(join(CHECKOUT, "README.md"), "utf8");
const manifest = JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8"));

it("has an example that runs as printed and prints what its comments say", async () => {
  const [, example] = /^## Example\n+```js\n([\s\S]*?)```/m.exec(readme) ?? [];
  const expected = [...example.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, output]) => output);
  expect(expected.length).toBeGreaterThan(0);
  if (!existsSync(join(CHECKOUT, "dist/index.js"))) throw new Error("not built: run npm run build");
  const directory = await mkdtemp(join(tmpdir(), "tiltyard-readme-"));
  // Inside the checkout, where the package's own name resolves to its build; data goes to the directory it runs in.
  const script = join(CHECKOUT, "build", `readme-example-${process.pid}.mjs`);
  try {
    await writeFile(script, example);
    const { stdout } = await promisify(execFile)(process.execPath, [script], { cwd: directory });
    expect(stdout.trimEnd().split("\n")).toEqual(expected);
  } finally {
    await rm(script, { force: true });
    await rm(directory, { recursive: true, force: true });
  }
});

it("has ways into frameworks that work as printed", async () => {
  const [, shown] = /^```js\n(\/\/ Express[\s\S]*?)```/m.exec(readme) ?? [];
  const [, ...snippets] = shown.split(/^\/\/ (?=[A-Z]\w+:|[A-Z]\w+ )/m);
  expect(snippets.map((snippet) => /^\w+/.exec(snippet)?.[0])).toEqual(["Express", "Fastify", "Hono"]);
  await using ns = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
  const handler = createRestHandler(ns, { auth: { anonymous: true }, basePath: "/lance" });
  const [expressApp, fastify, hono] = [express(), createFastify(), new Hono()];
  const run = (snippet: string, given: object) =>
    runInThisContext(`(({ app, fastify, toNodeListener, handler }) => { //${snippet} })`)({
      ...{ toNodeListener, handler },
      ...given,
    });
  run(snippets[0], { app: expressApp });
  // What comes after is in nobody's way.
  expressApp.use(express.json());
  run(snippets[1], { fastify });
  run(snippets[2], { app: hono });
  await fastify.ready();
  const servers = [createServer(expressApp), fastify.server, createAdaptorServer(hono) as Server];
  for (const [index, server] of servers.entries()) {
    const at = { url: await listen(server) };
    const table = `/lance/v1/table/t${index}`;
    expect((await post(at, `${table}/declare`, {})).status).toBe(200);
    expect((await post(at, `${table}/insert`, rowsOf(1, 2))).json).toMatchObject({ num_inserted_rows: 2 });
    expect((await post(at, `${table}/count_rows`, {})).json).toBe(2);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

it("names scripts that exist", () => {
  const scripts = [...readme.matchAll(/npm (?:run )?([a-z:]+)/g)].map(([, name]) => name);
  const unknown = scripts.filter((name) => name !== "ci" && !(name in manifest.scripts));
  expect(unknown).toEqual([]);
});

it("lists the runtime dependencies, each with a reason", () => {
  const [, section] = /^## Runtime dependencies\n([\s\S]*?)^## /m.exec(readme) ?? [];
  const rows = [...section.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map(([, name]) => name);
  expect(rows.sort()).toEqual(Object.keys(manifest.dependencies).sort());
});

it("keeps the markers that the benchmarks write between", () => {
  expect(readme).toMatch(/<!-- bench:start -->[\s\S]*<!-- bench:end -->/);
});

it("links to files that exist", () => {
  const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path]) => path);
  expect(links.filter((path) => !existsSync(join(CHECKOUT, path)))).toEqual([]);
});
