/** Checks the statements of README.md and docs/ about frameworks and dependencies. */

import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runInThisContext } from "node:vm";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import createFastify from "fastify";
import { Hono } from "hono";
import { DirectoryNamespace } from "tiltyard";
import { createRestHandler, toNodeListener } from "tiltyard/rest";
import { expect, it } from "vitest";
import { rowsOf } from "./support/contract.js";
import { readPage } from "./support/documents.js";
import { listen } from "./support/frameworks.js";
import { post } from "./support/restServer.js";
import { makeTempDir } from "./support/tempDir.js";

const CHECKOUT = fileURLToPath(new URL("../", import.meta.url));
const readme = readPage("README.md");
const manifest = JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8"));

it("has ways into frameworks that work as printed", async () => {
  const [, shown] = /^```js\n(\/\/ Express[\s\S]*?)```/m.exec(readPage("docs/recipes/http.md")) ?? [];
  const [, ...snippets] = shown.split(/^\/\/ (?=[A-Z]\w+:|[A-Z]\w+ )/m);
  expect(snippets.map((snippet) => /^\w+/.exec(snippet)?.[0])).toEqual(["Express", "Fastify", "Hono"]);
  await using ns = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
  const handler = createRestHandler(ns, { auth: { anonymous: true }, basePath: "/lance" });
  const [expressApp, fastify, hono] = [express(), createFastify(), new Hono()];
  const run = (snippet: string, context: object) =>
    runInThisContext(`(({ app, fastify, toNodeListener, handler }) => { //${snippet} })`)({
      ...{ toNodeListener, handler },
      ...context,
    });
  run(snippets[0], { app: expressApp });
  // What comes after is in nobody's way.
  expressApp.use(express.json());
  run(snippets[1], { fastify });
  run(snippets[2], { app: hono });
  await fastify.ready();
  const servers = [createServer(expressApp), fastify.server, createAdaptorServer(hono) as Server];
  for (const [index, server] of servers.entries()) {
    const api = { url: await listen(server) };
    const table = `/lance/v1/table/t${index}`;
    expect((await post(api, `${table}/declare`, {})).status).toBe(200);
    expect((await post(api, `${table}/insert`, rowsOf(1, 2))).json).toMatchObject({
      num_inserted_rows: 2,
    });
    expect((await post(api, `${table}/count_rows`, {})).json).toBe(2);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

it("lists the runtime dependencies, each with a reason: those that are installed, and those that are built in", () => {
  const [, section] = /^## Runtime dependencies\n([\s\S]*?)^## /m.exec(readme) ?? [];
  const rows = [...section.matchAll(/^\| `([^`]+)` \| (installed|built in) \| .+ \|$/gm)];
  const named = (where: string) => rows.filter((row) => row[2] === where).map(([, name]) => name);
  expect(named("installed").sort()).toEqual(Object.keys(manifest.dependencies).sort());
  // The bundles name the packages that are in them.
  const licences = readFileSync(join(CHECKOUT, "dist/third-party-licences.txt"), "utf8");
  for (const name of named("built in")) {
    expect(Object.keys(manifest.devDependencies)).toContain(name);
    expect(licences).toMatch(new RegExp(`^${name} \\d`, "m"));
  }
});

it("keeps the markers that the benchmarks write between", () => {
  expect(readPage("docs/benchmarks.md")).toMatch(/<!-- bench:start -->[\s\S]*<!-- bench:end -->/);
});
