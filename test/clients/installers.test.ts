/** Recipes of `docs/lancedb.md` for installers: each puts the drop-in in LanceDB's place, nested dependencies included. */

import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needRegistry } from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";
import { makeTempDir } from "../support/tempDir.js";
import { copyPrograms, nativePackages, writeFiles } from "./support/clientProject.js";
import { type LocalRegistry, startRegistry } from "./support/localRegistry.js";

const DROP_IN = "npm:tiltyard-lancedb@^0.39.0";
const PRINTED = "2 1 1 function";
/** A package that depends on LanceDB itself. */
const NESTED = { "@llm-tools/embedjs-lancedb": "0.1.31", "apache-arrow": "18.1.0" };

interface Recipe {
  /** Command that installs; its first word is a package of npm unless it is npm. */
  readonly command: readonly string[];
  readonly installer?: string;
  readonly manifest: object;
  readonly files?: Readonly<Record<string, string>>;
}

const RECIPES: Readonly<Record<string, Recipe>> = {
  "an alias of npm": {
    command: ["npm", "install"],
    manifest: { dependencies: { "@lancedb/lancedb": DROP_IN, "apache-arrow": "^21.0.0" } },
  },
  "an override of npm": {
    command: ["npm", "install"],
    manifest: { dependencies: NESTED, overrides: { "@lancedb/lancedb": DROP_IN } },
  },
  "an alias of npm with an override for packages that have LanceDB as a peer": {
    command: ["npm", "install"],
    manifest: {
      dependencies: {
        "@langchain/community": "1.1.29",
        "@langchain/core": "^1.1.38",
        "@lancedb/lancedb": DROP_IN,
        "apache-arrow": "18.1.0",
      },
      overrides: { "@lancedb/lancedb": "$@lancedb/lancedb" },
    },
  },
  "an override of pnpm": {
    command: ["pnpm/bin/pnpm.cjs", "install", "--no-frozen-lockfile"],
    installer: "pnpm@10",
    manifest: { dependencies: { ...NESTED, "@lancedb/lancedb": "*" } },
    files: { "pnpm-workspace.yaml": `overrides:\n  "@lancedb/lancedb": ${DROP_IN}\n` },
  },
  "a resolution of Yarn": {
    command: ["@yarnpkg/cli-dist/bin/yarn.js", "install", "--no-immutable"],
    installer: "@yarnpkg/cli-dist@4",
    manifest: {
      dependencies: { ...NESTED, "@lancedb/lancedb": "*" },
      resolutions: { "@lancedb/lancedb": DROP_IN },
    },
    files: { ".yarnrc.yml": "nodeLinker: node-modules\nenableTelemetry: false\n" },
  },
  "a resolution of Yarn 1": {
    command: ["yarn/bin/yarn.js", "install", "--no-lockfile", "--ignore-engines"],
    installer: "yarn@1",
    manifest: {
      dependencies: { ...NESTED, "@lancedb/lancedb": "*" },
      resolutions: { "@lancedb/lancedb": DROP_IN },
    },
  },
  "an override of Bun": {
    command: ["bun/bin/bun.exe", "install"],
    installer: "bun@1",
    manifest: {
      dependencies: { ...NESTED, "@lancedb/lancedb": "*" },
      overrides: { "@lancedb/lancedb": DROP_IN },
    },
  },
};

let registry: LocalRegistry;
let installers: string;

beforeAll(async () => {
  registry = await startRegistry();
  installers = await realpath(await makeTempDir());
});
afterAll(() => registry.close());

describe("the drop-in takes LanceDB's place", () => {
  it.for(Object.entries(RECIPES))("by %s", async ([, recipe], context) => {
    await needRegistry(context);
    const directory = await realpath(await makeTempDir());
    await copyPrograms(directory);
    await writeFiles(directory, {
      "package.json": JSON.stringify({ name: "recipe", private: true, ...recipe.manifest }),
      ...recipe.files,
    });
    await install(recipe, directory);
    expect(await nativePackages(directory)).toEqual([]);
    expect(await printedBy(process.execPath, ["recipe.mjs"], directory)).toBe(PRINTED);
    expect(await printedBy(process.execPath, ["recipe.cjs"], directory)).toBe(PRINTED);
  });
});

async function install({ command, installer }: Recipe, directory: string): Promise<void> {
  const [program, ...args] = command;
  const environment = {
    npm_config_registry: registry.url,
    npm_config_ignore_scripts: "true",
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
    YARN_REGISTRY: registry.url,
    YARN_NPM_REGISTRY_SERVER: registry.url,
    YARN_UNSAFE_HTTP_WHITELIST: "127.0.0.1",
    YARN_ENABLE_SCRIPTS: "false",
    // Bun and Yarn keep caches by the name and release of a package, and the drop-in's release stays while it is built anew.
    BUN_INSTALL_CACHE_DIR: join(installers, "bun-cache"),
    YARN_GLOBAL_FOLDER: join(installers, "yarn"),
    YARN_CACHE_FOLDER: join(installers, "yarn-cache"),
    npm_config_store_dir: join(installers, "pnpm-store"),
  };
  if (installer === undefined) {
    await printedBy(program, [...args, "--no-audit"], directory, environment);
    return;
  }
  await printedBy(
    "npm",
    ["install", "--no-audit", "--no-fund", "--prefix", installers, installer],
    installers,
  );
  const file = join(installers, "node_modules", program);
  if (/\.c?js$/.test(file)) await printedBy(process.execPath, [file, ...args], directory, environment);
  else await printedBy(file, args, directory, environment);
}
