/** Bundles the package for browsers, with apache-arrow in files of its own. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";
import { browserModules, browserPaths } from "../../../.config/browserModules.mjs";
import { moduleGroups } from "../../../.config/moduleGroups.mjs";

const SOURCE = fileURLToPath(new URL("../../../src", import.meta.url));
const require = createRequire(import.meta.url);

/** A file of the bundle by its name. */
export type Bundle = ReadonlyMap<string, OutputChunk>;

const ENTRIES = {
  index: join(SOURCE, "index.ts"),
  disks: join(SOURCE, "disks.ts"),
  opfs: join(SOURCE, "disks/handles/opfsDisk.ts"),
  worker: join(SOURCE, "tiltyardWorker.ts"),
  conformance: join(SOURCE, "disks/conformance.ts"),
  arrow: require.resolve("apache-arrow").replace("Arrow.node.js", "Arrow.dom.mjs"),
};

/** Bundles the entries; all modules of apache-arrow are imported from `/arrow.js`. */
export const bundleForBrowsers = (): Promise<Bundle> => bundle(ENTRIES, []);

/**
 * Bundles a program, as a user of the package does. Parts that it never imports are left out.
 * @param code of a module that imports `tiltyard` and `tiltyard/disks`
 */
export const bundleProgram = (code: string): Promise<Bundle> =>
  bundle({ program: PROGRAM }, [
    {
      name: "program",
      resolveId: (source) =>
        source === PROGRAM
          ? PROGRAM
          : source === "tiltyard"
            ? ENTRIES.index
            : source === "tiltyard/disks"
              ? ENTRIES.disks
              : null,
      load: (id) => (id === PROGRAM ? code : null),
    },
  ]);

const PROGRAM = "\0program";

async function bundle(input: Readonly<Record<string, string>>, plugins: readonly Plugin[]): Promise<Bundle> {
  const build = await rolldown({
    input,
    platform: "browser",
    logLevel: "silent",
    plugins: [...plugins, browserModules(SOURCE, ".ts")],
    moduleTypes: { ".ts": "ts" },
    treeshake: { moduleSideEffects: false },
  });
  const { output } = await build.generate({
    ...{ format: "esm", minify: true, entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" },
    codeSplitting: {
      groups: [
        { name: "arrowModules", test: /node_modules[\\/](apache-arrow|flatbuffers|tslib)/, priority: 11 },
        ...(await moduleGroups(SOURCE, ".ts", browserPaths(SOURCE, ".ts"))),
      ],
    },
  });
  await build.close();
  return new Map(output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file]] : [])));
}

export const readGolden = (path: string): Promise<Uint8Array> =>
  readFile(fileURLToPath(new URL(`../../golden/${path}`, import.meta.url)));
