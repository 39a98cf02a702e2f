/**
 * The packed package in test runners, bundled, and without permissions. `docs/runtimes.md` lists the results
 * of this test and of `test/stranger`, which installs other runtimes from npm.
 */

import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { type OutputOptions, rolldown } from "rolldown";
import { build } from "vite";
import { beforeAll, describe, expect, it } from "vitest";
import { makePackedProject } from "./support/packedProject.js";
import { PROGRAM_PRINTS as PRINTED, PROGRAM } from "./support/strangersProgram.js";
import { makeTempDir } from "./support/tempDir.js";

const run = promisify(execFile);
let project: string;

beforeAll(async () => {
  project = await realpath((await makePackedProject(["rolldown", "vite", "vitest"])).directory);
});

async function folder(name: string): Promise<string> {
  const path = join(project, name);
  await mkdir(path, { recursive: true });
  return path;
}

describe("bundled", () => {
  it.each([
    ["esm", "bundle.mjs"],
    ["cjs", "bundle.cjs"],
  ] as const)("by rolldown as %s, dependencies included, runs where no module can be found", async (format, file) => {
    const directory = await folder(`rolldown ${format}`);
    const entry = join(directory, "app.mjs");
    const body = PROGRAM.slice(PROGRAM.indexOf("const ns"));
    const imports = PROGRAM.slice(0, PROGRAM.indexOf("const ns"));
    await writeFile(entry, `${imports}(async () => {${body}})();`);
    const bundle = await rolldown({ input: entry, platform: "node", logLevel: "silent" });
    const options: OutputOptions = { format, codeSplitting: false };
    const { output } = await bundle.generate(options);
    await bundle.close();
    const outside = output[0].imports.filter((name) => !builtinModules.includes(name.replace(/^node:/, "")));
    expect(outside).toEqual([]);
    // Far from any node_modules.
    const alone = join(await makeTempDir(), file);
    await writeFile(alone, output[0].code);
    const { stdout } = await run(process.execPath, [alone], { cwd: directory });
    expect(stdout.trim()).toBe(PRINTED);
  });

  it("by vite for a page, keeps the script of the page's workers", async () => {
    const directory = await folder("page");
    await writeFile(join(directory, "worker.js"), `import "tiltyard/worker";`);
    await writeFile(
      join(directory, "page.js"),
      `globalThis.worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });`,
    );
    await writeFile(join(directory, "index.html"), `<script type="module" src="page.js"></script>`);
    await build({ root: directory, logLevel: "silent", worker: { format: "es" } });
    const assets = join(directory, "dist", "assets");
    const [worker] = readdirSync(assets).filter((name) => name.startsWith("worker-"));
    expect(await readFile(join(assets, worker), "utf8")).toContain("threads know no task");
  });

  it("requires nothing at run time that a bundler could not see, but modules of Node.js", async () => {
    const entries = ["esm", "cjs"].flatMap((kind) =>
      readdirSync(join(project, "node_modules/tiltyard/dist", kind))
        .filter((name) => /\.c?js$/.test(name))
        .map((name) => join(project, "node_modules/tiltyard/dist", kind, name)),
    );
    expect(entries.length).toBeGreaterThanOrEqual(6);
    for (const path of entries) {
      const code = await readFile(path, "utf8");
      // Where `platform/builtin` is: that it loads nothing else is for the test of the architecture.
      const mayRequire = /[\\/](shared\.c?js|tiltyardWorker\.js)$/.test(path);
      expect([path, mayRequire || !/\bcreateRequire\b/.test(code)]).toEqual([path, true]);
      // In an ES module a function named `require` is one of the engine's own.
      const calls = path.endsWith(".cjs")
        ? /(?<![.#$\w])(?:require|import)\(([^)\n]*)\)/g
        : /(?<![.#$\w])import\(([^)\n]*)\)/g;
      const loaded = [...code.matchAll(calls)].map(([, what]) => what);
      expect(loaded.filter((what) => !/^(?:"[^"]+"|`[^`$]+`)$/.test(what))).toEqual([]);
    }
  });
});

describe("in a test runner", () => {
  it.each(["vmThreads", "threads", "forks"])("vitest with the pool %s", async (pool) => {
    const directory = await folder(`vitest ${pool}`);
    const steps = PROGRAM.replace("console.log(", "const seen = [").replace(/length\);\n/, "length];\n");
    const [imports, body] = [
      steps.slice(0, steps.indexOf("const ns")),
      steps.slice(steps.indexOf("const ns")),
    ];
    await writeFile(
      join(directory, "rows.test.mjs"),
      `import { expect, it } from "vitest";
       import { NamespaceError } from "tiltyard";
       ${imports}
       it("works", async () => {
         ${body.replace("process.cwd()", JSON.stringify(directory))}
         expect(seen.join(" ")).toBe("${PRINTED}");
         await expect(ns.table("u").countRows()).rejects.toBeInstanceOf(NamespaceError);
       });`,
    );
    const runner = join(project, "node_modules/vitest/vitest.mjs");
    const { stdout } = await run(process.execPath, [runner, "run", "--root", directory, `--pool=${pool}`], {
      cwd: directory,
      env: { ...process.env, CI: "1", NO_COLOR: "1", VITEST: undefined, VITEST_POOL_ID: undefined },
    });
    expect(stdout).toMatch(/Tests\s+1 passed/);
  });
});

describe("with permissions", () => {
  const [major] = process.versions.node.split(".").map(Number);
  const flag = major >= 24 ? "--permission" : "--experimental-permission";

  it("taken away by Node, but for the directory, and reading of modules", async () => {
    const directory = await folder("permission");
    const script = join(directory, "app.mjs");
    await writeFile(script, PROGRAM);
    const allowed = [`--allow-fs-read=*`, `--allow-fs-write=${join(directory, "tables")}*`];
    const { stdout } = await run(process.execPath, [flag, ...allowed, script], { cwd: directory });
    expect(stdout.trim()).toBe(PRINTED);
  });
});
