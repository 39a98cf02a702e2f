/** The package as npm packs it: its files, both kinds of modules, and their types. */

import { execFile } from "node:child_process";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { isBuiltin, SourceMap } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as index from "tiltyard";
import * as client from "tiltyard/client";
import * as disks from "tiltyard/disks";
import * as conformance from "tiltyard/disks/conformance";
import * as files from "tiltyard/files";
import * as inspector from "tiltyard/inspector";
import * as lancedb from "tiltyard/lancedb";
import * as embedding from "tiltyard/lancedb/embedding";
import * as openai from "tiltyard/lancedb/embedding/openai";
import * as transformers from "tiltyard/lancedb/embedding/transformers";
import * as ray from "tiltyard/ray";
import * as rest from "tiltyard/rest";
import { beforeAll, describe, expect, it } from "vitest";
import { makeLinkedProject } from "./support/packedProject.js";

const CHECKOUT = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);
/** Characters that are parsed when the package is imported, which has some 2.3 million in all. */
const MAX_IMPORTED = 500_000;

/** Lists modules of the entry point for files that a program of `tiltyard` has loaded. */
const LOADED_FILES = `
  import { createRequire } from "node:module";
  const require = createRequire(import.meta.url);
  const { DirectoryNamespace } = require("tiltyard");
  new DirectoryNamespace({ root: "none" }).listTables({ id: [] }).catch(() => []).then(() => {
    const loaded = Object.keys(require.cache).map((path) => path.split(/[\\/\\\\]/).at(-1));
    console.log(JSON.stringify(loaded.filter((name) => /^files|csv|parquet/i.test(name))));
  });`;

/** A project that has the package among its modules. */
let project: string;

beforeAll(async () => {
  project = await makeLinkedProject();
});

async function runText(name: string, text: string): Promise<unknown> {
  await writeFile(join(project, name), text);
  const { stdout } = await run(process.execPath, [join(project, name)], { cwd: project });
  return JSON.parse(stdout);
}

describe("the package", () => {
  it.each([
    ["tiltyard", index],
    ["tiltyard/rest", rest],
    ["tiltyard/ray", ray],
    ["tiltyard/files", files],
    ["tiltyard/client", client],
    ["tiltyard/disks", disks],
    ["tiltyard/inspector", inspector],
    ["tiltyard/disks/conformance", conformance],
    ["tiltyard/lancedb", lancedb],
    ["tiltyard/lancedb/embedding", embedding],
    ["tiltyard/lancedb/embedding/openai", openai],
    ["tiltyard/lancedb/embedding/transformers", transformers],
  ])("exports the same of %s to both kinds of modules", async (entry, source) => {
    const names = Object.keys(source).sort();
    const print = "console.log(JSON.stringify(Object.keys(entry).sort()))";
    expect(await runText("names.mjs", `import * as entry from "${entry}"; ${print}`)).toEqual(names);
    expect(await runText("names.cjs", `const entry = require("${entry}"); ${print}`)).toEqual(names);
  });

  it.each([
    ["names.mjs", `import { DirectoryNamespace } from "tiltyard"; import * as arrow from "apache-arrow";`],
    [
      "names.cjs",
      `const { DirectoryNamespace } = require("tiltyard"); const arrow = require("apache-arrow");`,
    ],
  ])("works in %s", async (name, imports) => {
    const root = JSON.stringify(join(project, `tables of ${name}`));
    const steps = `
      async function main() {
        const ns = new DirectoryNamespace({ root: ${root}, durability: "none" });
        const rows = new arrow.Table({ v: arrow.vectorFromArray([1, 2, 3], new arrow.Int32()) });
        await ns.createTable({ id: ["t"] }, rows);
        await ns.insertIntoTable({ id: ["t"] }, arrow.tableToIPC(rows));
        const table = await (await ns.queryTable({ id: ["t"] })).toArrow();
        console.log(JSON.stringify([table instanceof arrow.Table, [...table.getChild("v")]]));
        await ns.close();
      }
      main();`;
    expect(await runText(name, `${imports}\n${steps}`)).toEqual([true, [1, 2, 3, 1, 2, 3]]);
  });

  it("depends on one exact release of apache-arrow, as its bundles import that release's modules by path", async () => {
    const { dependencies } = JSON.parse(await readFile(join(CHECKOUT, "package.json"), "utf8"));
    expect(dependencies["apache-arrow"]).toMatch(/^\d+\.\d+\.\d+$/);
    const bundle = await readFile(join(CHECKOUT, "dist", "esm", "shared.js"), "utf8");
    expect(bundle).toMatch(/ from\s*"apache-arrow\/schema"/);
  });

  it("loads a small part of the engine when it is imported, and the rest with the first calls", async () => {
    const seen = new Map<string, number>();
    const visit = async (name: string): Promise<void> => {
      if (seen.has(name)) return;
      const text = await readFile(join(CHECKOUT, "dist", "esm", name), "utf8");
      seen.set(name, text.length);
      for (const [, next] of text.matchAll(/^(?:import|export)\b[^"\n]*"\.\/([^"]+)"/gm)) await visit(next);
    };
    await visit("index.js");
    const imported = [...seen.values()].reduce((sum, size) => sum + size);
    expect(seen.size).toBeGreaterThan(1);
    expect(imported).toBeLessThan(MAX_IMPORTED);
    // Packages for files are bundled into the entry point for files.
    expect([...seen.keys()]).not.toContain("files.js");
    expect(
      [...seen.keys()].filter((name) => /dropIn|client|disks|inspector|pageFiles|lancedb/.test(name)),
    ).toEqual([]);
    expect(await runText("loaded.mjs", LOADED_FILES)).toEqual([]);
  });

  it.each([
    ["stems.mjs", `import { DirectoryNamespace } from "tiltyard";`],
    ["stems.cjs", `const { DirectoryNamespace } = require("tiltyard");`],
  ])("has the stemmers of all languages in %s", async (name, imports) => {
    const root = JSON.stringify(join(project, `tables of ${name}`));
    const steps = `
      async function main() {
        const ns = new DirectoryNamespace({ root: ${root}, durability: "none" });
        const table = ns.table("t");
        await table.create([{ t: "elle continuait" }, { t: "du pain" }]);
        const { jobId } = await table.createIndex("t", { indexType: "FTS", language: "French" });
        await ns.waitForJob({ jobId });
        const found = await table.search({ text: "continuer", columns: ["t"] }).toArray();
        console.log(JSON.stringify(found.map(({ t }) => t)));
        await ns.close();
      }
      main();`;
    expect(await runText(name, `${imports}\n${steps}`)).toEqual(["elle continuait"]);
  });

  it("has one script of the threads, with constants that kernels read as constants", async () => {
    const text = await readFile(join(CHECKOUT, "dist", "esm", "tiltyardWorker.js"), "utf8");
    // A module that the bundler wraps in a function has variables in place of constants.
    const wrapped = text.match(/\bimport\(|__esm/)?.[0];
    const classes = [...text.matchAll(/\b(\w+)=class\b|\bclass (\w+)/g)].map(([, a, b]) => a ?? b);
    expect(wrapped).toBeUndefined();
    expect(classes).toContain("ValueSet");
    expect(classes).not.toContain("DataFileWriter");
  });

  it("has types for both kinds of modules", async () => {
    const text = `import { DirectoryNamespace, NamespaceError } from "tiltyard";
      import { createRestHandler } from "tiltyard/rest";
      import { rayCluster } from "tiltyard/ray";
      import { readCsv, writeParquet } from "tiltyard/files";
      const ns: DirectoryNamespace = new DirectoryNamespace({ root: "x" });
      export const count: Promise<number> = ns.countTableRows({ id: ["t"] });
      export const isOurs = (error: unknown): boolean => error instanceof NamespaceError;
      export const handler = createRestHandler(ns);
      export const clusters = { ray: rayCluster({ runner: "python runner.py", worker: ["node"] }) };
      new DirectoryNamespace({ root: "x", clusters });
      export const orders = ns.table("t").insert(readCsv("orders.csv", { delimiter: ";" }));
      export const written = writeParquet(ns.table("t").scan(), "orders.parquet");
      // @ts-expect-error there is no such option
      new DirectoryNamespace({ roots: "x" });
      `;
    await writeFile(join(project, "uses.mts"), text);
    await writeFile(join(project, "uses.cts"), text);
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "node16"];
    const compiler = join(CHECKOUT, "node_modules", "typescript", "bin", "tsc");
    const files = [join(project, "uses.mts"), join(project, "uses.cts")];
    const compiled = run(process.execPath, [compiler, ...options, "--types", "node", ...files], {
      cwd: project,
    });
    expect(
      await compiled.then(
        ({ stdout }) => stdout,
        (error: { stdout: string }) => error.stdout,
      ),
    ).toBe("");
  });

  it("has maps that lead to the lines of the sources", async () => {
    const directory = join(CHECKOUT, "dist", "esm");
    let count = 0;
    for (const name of ["shared", "engine", "values", "rest", "files"]) {
      const map = new SourceMap(JSON.parse(await readFile(join(directory, `${name}.js.map`), "utf8")));
      const lines = (await readFile(join(directory, `${name}.js`), "utf8")).split("\n");
      for (const [line, text] of lines.entries()) {
        const [declared] = /(?<=\bfunction )[a-z]\w*(?=\(.*\{$)/i.exec(text) ?? [];
        if (declared === undefined) continue;
        const entry = map.findEntry(line, text.indexOf(declared));
        if (!("originalSource" in entry) || !entry.originalSource.endsWith(".ts")) continue;
        const source = await readFile(resolve(directory, entry.originalSource), "utf8");
        // The bundler renames what has a name twice.
        expect(source.split("\n")[entry.originalLine]).toContain(declared.replace(/\$\d+$/, ""));
        count++;
      }
    }
    expect(count).toBeGreaterThan(500);
  });

  it("takes no more than 35 MB with all that it depends on", async () => {
    const { stdout } = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      cwd: CHECKOUT,
      shell: process.platform === "win32",
    });
    const lock = JSON.parse(await readFile(join(CHECKOUT, "package-lock.json"), "utf8"));
    const names = new Set<string>();
    const visit = (name: string): void => {
      if (names.has(name)) return;
      names.add(name);
      for (const each of Object.keys(lock.packages[`node_modules/${name}`]?.dependencies ?? {})) visit(each);
    };
    for (const name of Object.keys(lock.packages[""].dependencies)) visit(name);
    let bytes: number = JSON.parse(stdout)[0].unpackedSize;
    for (const name of names) {
      const directory = join(CHECKOUT, "node_modules", name);
      for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
        // A package's own dependencies are counted by their names.
        if (entry.parentPath.slice(directory.length).includes("node_modules") || !entry.isFile()) continue;
        bytes += (await stat(join(entry.parentPath, entry.name))).size;
      }
    }
    expect(names.size).toBeLessThan(12);
    expect(bytes).toBeLessThan(35e6);
  });

  it("imports what it depends on, and nothing else that is not Node's", async () => {
    const { dependencies, peerDependencies } = JSON.parse(
      await readFile(join(CHECKOUT, "package.json"), "utf8"),
    );
    const mayImport = { ...dependencies, ...peerDependencies };
    for (const kind of ["esm", "cjs"]) {
      const directory = join(CHECKOUT, "dist", kind);
      for (const name of (await readdir(directory)).filter((each) => /\.c?js$/.test(each))) {
        const code = await readFile(join(directory, name), "utf8");
        const forms =
          kind === "esm"
            ? /^(?:import|export)\b[^;]*?\bfrom "([^"]+)";|^import "([^"]+)";/gm
            : /\brequire\("([^"]+)"\)/g;
        const imported = [...code.matchAll(forms)].map((match) => match[1] ?? match[2]);
        const foreign = imported.filter((each) => !isBuiltin(each) && !each.startsWith("."));
        const packages = foreign.map((each) => /^(?:@[^/]+\/)?[^/]+/.exec(each)?.[0] ?? "");
        expect(packages.filter((each) => !(each in mayImport))).toEqual([]);
      }
    }
  });

  it("holds what its exports name, and no more than is needed", async () => {
    const { exports, main, types } = JSON.parse(await readFile(join(CHECKOUT, "package.json"), "utf8"));
    const named = JSON.stringify([exports, main, types]).match(/\.\/dist\/[^"]*/g) ?? [];
    const { stdout } = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      cwd: CHECKOUT,
      shell: process.platform === "win32",
    });
    const packed: string[] = JSON.parse(stdout)[0].files.map(({ path }: { path: string }) => `./${path}`);
    expect(packed).toEqual(expect.arrayContaining([...named, "./README.md", "./LICENSE"]));
    expect(packed.filter((path) => /^\.\/(test|bench|build|examples)\//.test(path))).toEqual([]);
    // Modules are in the bundles only.
    expect(
      packed.filter((path) => /\.c?js$/.test(path) && !/^\.\/dist\/(esm|cjs|browser)\//.test(path)),
    ).toEqual([]);
  });
});
