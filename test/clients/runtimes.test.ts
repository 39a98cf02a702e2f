/** The program of the recipes runs unchanged on releases of Node.js, on Bun and on Deno, with the drop-in installed. */

import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { needRegistry, whyUnreachable } from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";
import { makeTempDir } from "../support/tempDir.js";
import { copyPrograms, makeClientProject } from "./support/clientProject.js";

const PRINTED = "2 1 1 function";

let project: string;

beforeAll(async () => {
  if ((await whyUnreachable()) !== null) return;
  project = await makeClientProject({ packages: [], release: "0.39.0", arrow: "21.0.0" });
  await copyPrograms(project);
});

/** Installs a package that holds a runtime, with the script that loads it, and returns the path of a file of it. */
async function installed(name: string, file: string): Promise<string> {
  const directory = await realpath(await makeTempDir());
  await printedBy("npm", ["install", "--no-audit", "--no-fund", "--prefix", directory, name], directory);
  return join(directory, "node_modules", file);
}

describe("the program runs", () => {
  it.for(["20.9.0", "20", "21", "22", "23", "24"])("on Node.js %s", async (release, context) => {
    await needRegistry(context);
    const node = await installed(`node@${release}`, "node/bin/node");
    for (const program of ["recipe.mjs", "recipe.cjs"]) {
      expect(await printedBy(node, [program], project)).toBe(PRINTED);
    }
  });

  it("on Bun", async (context) => {
    await needRegistry(context);
    const bun = await installed("bun@1", "bun/bin/bun.exe");
    for (const program of ["recipe.mjs", "recipe.cjs"]) {
      expect(await printedBy(bun, ["run", program], project)).toBe(PRINTED);
    }
  });

  it("on Deno", async (context) => {
    await needRegistry(context);
    const deno = await installed("deno@2", "deno/bin.cjs");
    const allowed = ["--allow-read", "--allow-write=.", "--allow-env", "--allow-sys"];
    const options = ["run", "--no-prompt", "--node-modules-dir=manual", ...allowed];
    for (const program of ["recipe.mjs", "recipe.cjs"]) {
      const run = printedBy(process.execPath, [deno, ...options, program], project, {
        DENO_NO_UPDATE_CHECK: "1",
      });
      expect(await run).toBe(PRINTED);
    }
  });
});
