/** Bundles the package for browsers, with apache-arrow in files of its own. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type OutputChunk, rolldown } from "rolldown";
import { browserModules } from "../../../.config/browserModules.mjs";

const SOURCE = fileURLToPath(new URL("../../../src", import.meta.url));
const require = createRequire(import.meta.url);

/** A file of the bundle by its name. */
export type Bundle = ReadonlyMap<string, OutputChunk>;

/** Bundles the entries; all modules of apache-arrow are imported from `/arrow.js`. */
export async function bundleForBrowsers(): Promise<Bundle> {
  const build = await rolldown({
    input: {
      index: join(SOURCE, "index.ts"),
      disks: join(SOURCE, "disks.ts"),
      opfs: join(SOURCE, "disks/handles/opfsDisk.ts"),
      conformance: join(SOURCE, "disks/conformance.ts"),
      arrow: require.resolve("apache-arrow").replace("Arrow.node.js", "Arrow.dom.mjs"),
    },
    platform: "browser",
    logLevel: "silent",
    plugins: [browserModules(SOURCE, ".ts")],
    moduleTypes: { ".ts": "ts" },
  });
  const { output } = await build.generate({
    ...{ format: "esm", minify: true, entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js" },
    codeSplitting: {
      groups: [
        { name: "arrowModules", test: /node_modules[\\/](apache-arrow|flatbuffers|tslib)/, priority: 1 },
      ],
    },
  });
  await build.close();
  return new Map(output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file]] : [])));
}

export const readGolden = (path: string): Promise<Uint8Array> =>
  readFile(fileURLToPath(new URL(`../../golden/${path}`, import.meta.url)));
