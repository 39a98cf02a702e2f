/** Bundles the namespace suite for a page: the test files as they are, with other modules for those of Node.js. */

import { fileURLToPath } from "node:url";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";
import { browserModules } from "../../../.config/browserModules.mjs";
import { SUITE_FILES } from "../../support/suite/suiteFiles.js";

const pathOf = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const inPage = (name: string): string => pathOf(`test/browsers/support/page/${name}.ts`);

const ENTRY = "suite-entry";
const EMPTY = "\0empty";

/** Modules by what imports say. The first that matches counts. */
const REPLACED: readonly (readonly [RegExp, string])[] = [
  [/^vitest$/, inPage("vitest")],
  [/^tiltyard$/, pathOf("test/support/suite/namespaceOnDisk.ts")],
  [/^tiltyard\/(disks|rest)$/, pathOf("src/$1.ts")],
  [/(^tiltyard-reference(\/.*)?|\/reference\.js|\/mirror\.js)$/, inPage("reference")],
  [/\/frameworks\.js$/, inPage("frameworks")],
  [/\/tempDir\.js$/, inPage("tempDir")],
  [/^node:path$/, "pathe"],
  [/^node:events$/, inPage("events")],
  [/^node:/, EMPTY],
];

function pageModules(): Plugin {
  return {
    name: "page-modules",
    async resolveId(source, importer) {
      if (source === ENTRY) return `\0${ENTRY}`;
      for (const [pattern, path] of REPLACED) {
        if (!pattern.test(source)) continue;
        const replacement = path.includes("$1") ? source.replace(pattern, path) : path;
        return path === "pathe" ? this.resolve(path, importer) : replacement;
      }
      return null;
    },
    load(id) {
      if (id === EMPTY) return "export default {};";
      if (id !== `\0${ENTRY}`) return null;
      const loaders = SUITE_FILES.map(
        (path) => `${JSON.stringify(path)}: () => import(${JSON.stringify(pathOf(path))})`,
      );
      return `import { runSuite } from ${JSON.stringify(inPage("runSuite"))};
        const loaders = { ${loaders.join(", ")} };
        globalThis.runFile = (path) => runSuite(path, loaders[path]);`;
    },
  };
}

/** Returns the files of the bundle by name. The entry, `suite.js`, sets the function `runFile`. */
export async function bundleSuite(): Promise<ReadonlyMap<string, OutputChunk>> {
  const build = await rolldown({
    input: { suite: ENTRY },
    platform: "browser",
    logLevel: "silent",
    shimMissingExports: true,
    // The package says that its modules have no effects. Test files have.
    treeshake: false,
    plugins: [pageModules(), browserModules(pathOf("src"), ".ts")],
    moduleTypes: { ".ts": "ts" },
  });
  const { output } = await build.generate({
    ...{ format: "esm", entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" },
  });
  await build.close();
  return new Map(output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file]] : [])));
}
