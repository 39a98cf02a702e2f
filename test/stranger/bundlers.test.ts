/**
 * Other bundlers take the package as it is, and their bundles run without modules. esbuild has a file of its
 * own; `test/runtimes.test.ts` and `test/docs.test.ts` cover rolldown and vite.
 */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { printedAlone, withEntries } from "../support/bundledPrograms.js";
import { makeRegistryProject, needRegistry } from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";
import { PROGRAM_PRINTS } from "../support/strangersProgram.js";

describe("rollup", () => {
  it("bundles as either kind of module, with its plugins for Node", async (context) => {
    await needRegistry(context);
    const plugins = ["@rollup/plugin-node-resolve", "@rollup/plugin-commonjs", "@rollup/plugin-json"];
    const project = await makeRegistryProject(["rollup", ...plugins]);
    for (const [format, file] of [
      ["es", "bundle.mjs"],
      ["cjs", "bundle.cjs"],
    ]) {
      const directory = await withEntries(project, format);
      await writeFile(
        join(directory, "build.mjs"),
        `import commonjs from "@rollup/plugin-commonjs";
         import json from "@rollup/plugin-json";
         import resolve from "@rollup/plugin-node-resolve";
         import { rollup } from "rollup";
         const plugins = [resolve({ exportConditions: ["node"] }), commonjs(), json()];
         const build = await rollup({ input: "app.mjs", plugins, logLevel: "silent" });
         await build.write({ file: "${file}", format: "${format}", inlineDynamicImports: true });
         await build.close();`,
      );
      await printedBy(process.execPath, ["build.mjs"], directory);
      expect([format, await printedAlone(directory, file)]).toEqual([format, PROGRAM_PRINTS]);
    }
  });
});

describe("webpack", () => {
  it("bundles import and require, as either kind of module", async (context) => {
    await needRegistry(context);
    const project = await makeRegistryProject(["webpack"]);
    for (const [kind, from] of [
      ["commonjs", "app.cjs"],
      ["commonjs", "app.mjs"],
      ["module", "app.mjs"],
    ]) {
      const directory = await withEntries(project, `${kind} of ${from}`);
      const file = kind === "module" ? "bundle.mjs" : "bundle.cjs";
      const options = {
        mode: "production",
        target: "node20",
        context: directory,
        entry: join(directory, from),
        output: {
          ...{ path: directory, filename: file, module: kind === "module", chunkFormat: kind },
          // One file, whatever is imported later.
          asyncChunks: false,
        },
        experiments: { outputModule: kind === "module" },
        // Minifying takes most of the time, and shows nothing of the package.
        optimization: { minimize: false },
      };
      await writeFile(
        join(directory, "build.mjs"),
        `import webpack from "webpack";
         webpack(${JSON.stringify(options)}, (error, stats) => {
           if (error) throw error;
           console.log(stats.toString({ all: false, errors: true, warnings: true }));
           process.exitCode = stats.hasErrors() ? 1 : 0;
         });`,
      );
      // A warning about a request that is an expression would mean a missing module at run time.
      expect(await printedBy(process.execPath, ["build.mjs"], directory)).toBe("");
      expect([kind, from, await printedAlone(directory, file)]).toEqual([kind, from, PROGRAM_PRINTS]);
    }
  });
});
