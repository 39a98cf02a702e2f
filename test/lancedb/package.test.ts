/** The package `tiltyard-lancedb` as the build writes it: what it holds, imports and declares. */

import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { CHECKOUT } from "../support/packedProject.js";

const run = promisify(execFile);
const PACKAGE = join(CHECKOUT, "build", "tiltyard-lancedb");

const manifest = async () => JSON.parse(await readFile(join(PACKAGE, "package.json"), "utf8"));

/** Imports of modules of other packages, by the kind of the package's module. */
const IMPORTS = {
  esm: /(?:\bfrom\s*|\bimport\s*\(?\s*)(["'`])([@\w][\w./:-]*)\1/g,
  cjs: /\b(?:require|import)\s*\(\s*(["'`])([@\w][\w./:-]*)\1\s*\)/g,
};

describe("tiltyard-lancedb", () => {
  it("depends on nothing but the program's copy of apache-arrow", async () => {
    const { dependencies, peerDependencies, peerDependenciesMeta } = await manifest();
    expect(dependencies).toBeUndefined();
    const needed = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
    expect(needed).toEqual(["apache-arrow"]);
    for (const kind of ["esm", "cjs"] as const) {
      const directory = join(PACKAGE, "dist", kind);
      const files = await readdir(directory, { recursive: true });
      const imported = new Map<string, Set<string>>();
      for (const name of files.filter((each) => /\.c?js$/.test(each))) {
        for (const [, , specifier] of (await readFile(join(directory, name), "utf8")).matchAll(
          IMPORTS[kind],
        )) {
          if (isBuiltin(specifier) || specifier.startsWith(".")) continue;
          imported.set(specifier, (imported.get(specifier) ?? new Set()).add(name));
        }
      }
      expect([...imported.keys()].filter((name) => !(name in peerDependencies))).toEqual([]);
      // The engine has a copy of its own; only the drop-in takes the program's.
      expect([...(imported.get("apache-arrow") ?? [])].filter((name) => !/dropIn/.test(name))).toEqual([]);
    }
  });

  it("imports names only that apache-arrow 18 has", async () => {
    const { createRequire } = await import("node:module");
    const require = createRequire(join(CHECKOUT, "test/reference/index.js"));
    const names = Object.keys(require("apache-arrow"));
    const directory = join(PACKAGE, "dist", "esm");
    for (const file of (await readdir(directory, { recursive: true })).filter((each) =>
      each.endsWith(".js"),
    )) {
      const code = await readFile(join(directory, file), "utf8");
      for (const [, list] of code.matchAll(/\bimport\s*\{([^}]*)\}\s*from\s*["'`]apache-arrow["'`]/g)) {
        const imported = list.split(",").map((each) => each.trim().split(" ")[0]);
        expect(imported.filter((each) => !names.includes(each))).toEqual([]);
      }
    }
  });

  it("has LanceDB's entries, with types for both kinds of modules", async () => {
    const { exports, main, types } = await manifest();
    const reference = JSON.parse(
      await readFile(join(CHECKOUT, "test/reference/node_modules/@lancedb/lancedb/package.json"), "utf8"),
    );
    expect(Object.keys(exports)).toEqual([...Object.keys(reference.exports), "./package.json"]);
    const { stdout } = await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      cwd: PACKAGE,
      shell: process.platform === "win32",
    });
    const packed: string[] = JSON.parse(stdout)[0].files.map(({ path }: { path: string }) => `./${path}`);
    const named = JSON.stringify([exports, main, types]).match(/\.\/dist\/[^"]*/g) ?? [];
    expect(packed).toEqual(expect.arrayContaining([...named, "./README.md", "./LICENSE"]));
  });

  it("has LanceDB's version but for the last number, so that ranges match", async () => {
    const { devDependencies, dependencies } = JSON.parse(
      await readFile(join(CHECKOUT, "test/reference/package.json"), "utf8"),
    );
    const release = { ...devDependencies, ...dependencies }["@lancedb/lancedb"];
    const minor = (version: string) => version.split(".").slice(0, 2).join(".");
    expect(minor((await manifest()).version)).toBe(minor(release));
  });
});
