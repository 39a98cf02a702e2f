/** Runs suites of the class over HTTP, in each web framework that programs embed the handler in. */

import { tableFromIPC } from "apache-arrow";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { DirectoryNamespace } from "../../src/DirectoryNamespace.js";
import { rowsOf } from "../support/contract.js";
import { runsOf } from "../support/effort.js";
import { FRAMEWORKS } from "../support/frameworks.js";
import { post, startRestServer } from "../support/restServer.js";
import { makeTempDir } from "../support/tempDir.js";

vi.mock("tiltyard", async (importOriginal) => {
  const { RestNamespace } = await import("../support/restNamespace.js");
  return { ...(await importOriginal<object>()), DirectoryNamespace: RestNamespace };
});

/** The suites of the daily run come first. */
const SUITES = ["versionPages", "absentOptions", "dropTable", "namespaces", "fieldMetadata"];

// With Node's own server, separate files run all suites every day.
describe.each(FRAMEWORKS.filter((framework) => framework !== "node:http"))("behind %s", (framework) => {
  beforeAll(async () => {
    const { RestNamespace } = await import("../support/restNamespace.js");
    RestNamespace.framework = framework;
  });
  describe.each(SUITES.slice(0, runsOf("FRAMEWORK_SUITES", 3)))("%s", async (suite) => {
    // The query string makes it another module, so that each framework has its own tests and hooks.
    const path = new URL(`../operations/${suite}.test.ts`, import.meta.url);
    path.searchParams.set("behind", String(FRAMEWORKS.indexOf(framework)));
    await import(/* @vite-ignore */ path.href.replace(/^file:\/\//, ""));
  });
});

it.each(FRAMEWORKS)("rows, ids and errors pass through %s unchanged", async (framework) => {
  await using namespace = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
  await using server = await startRestServer(namespace, {}, framework);
  await namespace.createNamespace({ id: ["n"] });
  const name = `${"x".repeat(150)} %+ä?#`;
  const path = `/v1/table/n$${encodeURIComponent(name)}`;
  expect((await post(server, `${path}/declare`, { id: ["n", name] })).status).toBe(200);
  const values = Array.from({ length: 50_000 }, (_, index) => index);
  const inserted = await post(server, `${path}/insert`, rowsOf(...values));
  expect(inserted).toMatchObject({ status: 200, json: { num_inserted_rows: values.length } });
  const { bytes } = await post(server, `${path}/query`, {});
  expect(Array.from(tableFromIPC(bytes).getChild("v") ?? [])).toEqual(values);
  const head = await fetch(`${server.url}${path}/stats`, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  const missing = await post(server, "/v1/table/none/exists", {});
  expect(missing).toMatchObject({ status: 404, json: { code: 4, instance: "/v1/table/none/exists" } });
  expect((await post(server, "/v1/table/t/query", { k: "x" })).status).toBe(400);
  const preflight = await fetch(`${server.url}/v1/table`, {
    method: "OPTIONS",
    headers: { origin: "https://evil.example" },
  });
  expect(preflight.status).toBe(403);
});
