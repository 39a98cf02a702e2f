/** One program in several runtimes: each has to see what Node.js sees. */

import { cp } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type OutputOptions, rolldown } from "rolldown";
import { DirectoryNamespace } from "tiltyard";
import { publishIndex, type R2BucketBinding, r2Disk } from "tiltyard/disks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FileHost, startFileHost } from "../support/fileHost.js";
import { makeRegistryProject, type RegistryProject } from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";
import { makeTempDir } from "../support/tempDir.js";
import { exercise, rowsFrom, SCHEMA } from "./programs/exercise.js";

const PACKAGES = ["miniflare@4.20260730.0", "edge-runtime@4.0.1", "deno@2", "bun@1"];
const DATE = "2026-07-01";
const pathOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

let project: RegistryProject;
let host: FileHost;
let expected: object;

/** The parts of miniflare that the tests use. */
interface Miniflare {
  dispatchFetch(url: string, init?: RequestInit): Promise<Response>;
  getR2Bucket(name: string): Promise<R2BucketBinding>;
  dispose(): Promise<void>;
}

beforeAll(async () => {
  const root = await makeTempDir();
  await using ns = new DirectoryNamespace({ root, durability: "none", jobs: "wait" });
  const table = ns.table("published", { schema: SCHEMA });
  await table.create(rowsFrom(0, 2000));
  await table.waitForJob(await table.createIndex("id", { indexType: "BTREE" }));
  await table.waitForJob(await table.createIndex("text", { indexType: "FTS" }));
  await publishIndex(ns);
  host = await startFileHost(root);
  expected = JSON.parse(JSON.stringify(await exercise(host.url)));
  project = await makeRegistryProject(PACKAGES);
  await cp(pathOf("test/runtimes/programs"), join(project.directory, "programs"), { recursive: true });
  await cp(pathOf("examples"), join(project.directory, "examples"), { recursive: true });
});
afterAll(() => host[Symbol.asyncDispose]());

/** Bundles a program of the project with the installed package, as tools for Workers do. */
async function bundle(entry: string, options: OutputOptions, external: RegExp[] = []): Promise<string> {
  const build = await rolldown({
    input: join(project.directory, entry),
    platform: "browser",
    external,
    logLevel: "silent",
    resolve: { conditionNames: ["workerd", "worker", "browser", "import"] },
  });
  const { output } = await build.generate({ ...options, codeSplitting: false });
  await build.close();
  return output[0].code;
}

/** Imports a package of the project. */
const load = (name: string) =>
  import(pathToFileURL(createRequire(join(project.directory, "x.js")).resolve(name)).href);

async function startWorker(script: string, bindings: Record<string, string> = {}): Promise<Miniflare> {
  const { Miniflare } = await load("miniflare");
  return new Miniflare({
    ...{ modules: true, script, compatibilityDate: DATE, bindings },
    ...{ r2Buckets: ["BUCKET"], cf: false },
  });
}

describe("workerd", () => {
  it("runs the program, also in later requests, and R2 passes the conformance suite", async () => {
    const worker = await startWorker(await bundle("programs/worker.ts", { format: "esm" }));
    try {
      for (let request = 0; request < 2; request++) {
        const answer = await worker.dispatchFetch(`http://worker/?url=${encodeURIComponent(host.url)}`);
        expect(JSON.parse(await answer.text())).toEqual(expected);
      }
      const tested = await worker.dispatchFetch("http://worker/conformance");
      const { count, failed } = JSON.parse(await tested.text());
      expect(failed).toEqual([]);
      expect(count).toBeGreaterThan(15);
    } finally {
      await worker.dispose();
    }
  });

  it("the Worker of examples/worker answers queries from a bucket", async () => {
    const worker = await startWorker(await bundle("examples/worker/worker.mjs", { format: "esm" }), {
      API_KEY: "key",
    });
    try {
      // @ts-expect-error: a program without types
      const { fill } = await import("../../examples/worker/fill.mjs");
      await fill(r2Disk(await worker.getR2Bucket("BUCKET")), 500);
      const ask = async (target: string, init?: RequestInit) => {
        const answer = await worker.dispatchFetch(`http://worker${target}`, init);
        return [answer.status, JSON.parse(await answer.text())];
      };
      const [status, notes] = await ask("/search?q=hollow+oak");
      expect([status, notes.length]).toEqual([200, 10]);
      expect(notes[0].text).toMatch(/hollow oak/);
      const [, near] = await ask("/near?q=hollow+oak&limit=3");
      expect(near.map(({ text }: { text: string }) => /oak|hollow/.test(text))).toEqual([true, true, true]);
      expect(await ask("/search")).toEqual([400, { error: "q: words to search for are missing" }]);
      const count = { method: "POST", headers: { "x-api-key": "key" } };
      expect(await ask("/v1/table/notes/count_rows", count)).toEqual([200, 500]);
      expect((await ask("/v1/table/notes/count_rows", { method: "POST" }))[0]).toBe(401);
      expect((await ask("/v1/table/notes/drop", count))[0]).toBe(403);
    } finally {
      await worker.dispose();
    }
  });
});

describe("Vercel's edge runtime", () => {
  it("runs the program", async () => {
    const { EdgeRuntime } = await load("edge-runtime");
    // Its scripts cannot wait at the top, as the stemmers of other languages than English do.
    const initialCode = await bundle("programs/edge.ts", { format: "iife" }, [/\/stemmers\.js$/]);
    const runtime = new EdgeRuntime({ initialCode });
    const answer = await runtime.dispatchFetch(`http://edge/?url=${encodeURIComponent(host.url)}`);
    const text = await answer.text();
    expect(answer.status, text).toBe(200);
    expect(JSON.parse(text)).toEqual(expected);
  });
});

describe("runtimes with a console", () => {
  it.each([
    ["Deno", "deno", "bin.cjs", ["run", "--no-prompt", "--node-modules-dir=manual", "--sloppy-imports"]],
    ["Bun", "bun", "bin/bun.exe", ["run"]],
  ])("%s runs the program", async (name, folder, file, args) => {
    const program = join(project.directory, "node_modules", folder, file);
    const allowed = ["--allow-read", "--allow-env", "--allow-sys", "--allow-net=127.0.0.1"];
    const operands = [...args, ...(name === "Deno" ? allowed : []), "programs/console.ts", host.url];
    const isScript = file.endsWith(".cjs");
    const printed = await printedBy(
      isScript ? process.execPath : program,
      isScript ? [program, ...operands] : operands,
      project.directory,
      { DENO_NO_UPDATE_CHECK: "1" },
    );
    expect(JSON.parse(printed)).toEqual(expected);
  });
});
