/**
 * Bundlers and test runners with the drop-in: without configuration where it is installed in LanceDB's place, and by the
 * aliases of `docs/lancedb.md` where it is installed under its own name.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { beforeAll, describe, expect, it } from "vitest";
import { printedAlone } from "../support/bundledPrograms.js";
import { needRegistry, whyUnreachable } from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";
import { copyPrograms, makeClientProject, writeFiles } from "./support/clientProject.js";

const PRINTED = "2 1 1 function";
const TOOLS = [
  "esbuild@^0.28",
  "webpack@5",
  "vite@8",
  "next@16",
  "react@19",
  "react-dom@19",
  "jest@30",
  "vitest@4",
];

/** How programs get the drop-in: the project has it under LanceDB's name, or an alias names it. */
const WAYS = ["without configuration", "by an alias"] as const;
type Way = (typeof WAYS)[number];

let project: string;
const command = (path: string): string => join(project, "node_modules", path);

beforeAll(async () => {
  if ((await whyUnreachable()) !== null) return;
  project = await makeClientProject({ packages: TOOLS, release: "0.39.0", arrow: "18.1.0" });
});

/** Returns a folder of the project with the programs, in which LanceDB's name is found or not. */
async function folderFor(way: Way, name: string): Promise<string> {
  const [placed, named] = ["@lancedb/lancedb", "tiltyard-lancedb"].map(command);
  await rename(way === "by an alias" ? placed : named, way === "by an alias" ? named : placed).catch(
    (error) => {
      if (error.code !== "ENOENT") throw error;
    },
  );
  const directory = join(project, `${name} ${way}`);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory);
  await copyPrograms(directory);
  return directory;
}

describe.each(WAYS)("%s", (way) => {
  const aliases = way === "by an alias" ? { "@lancedb/lancedb": "tiltyard-lancedb" } : {};

  it("esbuild bundles import and require", async (context) => {
    await needRegistry(context);
    const directory = await folderFor(way, "esbuild");
    for (const [format, program] of [
      ["esm", "recipe.mjs"],
      ["cjs", "recipe.cjs"],
    ]) {
      const output = `bundle.${format === "esm" ? "mjs" : "cjs"}`;
      const options = ["--bundle", "--platform=node", `--format=${format}`, `--outfile=${output}`];
      for (const [from, to] of Object.entries(aliases)) options.push(`--alias:${from}=${to}`);
      await printedBy(command("esbuild/bin/esbuild"), [program, ...options, "--log-level=error"], directory);
      expect(await printedAlone(directory, output)).toBe(PRINTED);
    }
  });

  it("webpack bundles it, and warns of nothing but packages of embedding functions", async (context) => {
    await needRegistry(context);
    const directory = await folderFor(way, "webpack");
    const options = {
      ...{ mode: "production", target: "node20", context: directory, entry: "./recipe.cjs" },
      output: { path: directory, filename: "bundle.cjs", asyncChunks: false },
      resolve: { alias: aliases },
      // Minifying takes most of the time, and shows nothing of the package.
      optimization: { minimize: false },
    };
    await writeFiles(directory, {
      "build.mjs": `import webpack from "webpack";
        webpack(${JSON.stringify(options)}, (error, stats) => {
          if (error) throw error;
          console.log(stats.toString({ all: false, errors: true, warnings: true }));
        });`,
    });
    const told = await printedBy(process.execPath, ["build.mjs"], directory);
    const missing = [...told.matchAll(/Can't resolve '([^']+)'/g)].map(([, name]) => name);
    expect(missing.sort()).toEqual(["@huggingface/transformers", "openai"]);
    expect(told.match(/^(WARNING|ERROR)/gm)).toEqual(["WARNING", "WARNING"]);
    expect(await printedAlone(directory, "bundle.cjs")).toBe(PRINTED);
  });

  it("vite bundles it for a server", async (context) => {
    await needRegistry(context);
    const directory = await folderFor(way, "vite");
    const configuration = {
      ...{ root: directory, logLevel: "error", resolve: { alias: aliases }, ssr: { noExternal: true } },
      build: { ssr: "recipe.mjs", outDir: directory, emptyOutDir: false },
    };
    const output = { entryFileNames: "bundle.mjs", codeSplitting: false };
    Object.assign(configuration.build, { rollupOptions: { output } });
    await writeFiles(directory, {
      "build.mjs": `import { build } from "vite"; await build(${JSON.stringify(configuration)});`,
    });
    await printedBy(process.execPath, ["build.mjs"], directory);
    expect(await printedAlone(directory, "bundle.mjs")).toBe(PRINTED);
  });

  it.for([
    "--turbopack",
    "--webpack",
  ])("Next.js builds and serves pages with %s", async (bundler, context) => {
    await needRegistry(context);
    const directory = await folderFor(way, `next${bundler}`);
    await rm(join(directory, "recipe.mjs"));
    await writeFiles(directory, {
      ...PAGES,
      "package.json": JSON.stringify({ name: "pages", private: true }),
      "next.config.mjs": `const aliases = ${JSON.stringify(aliases)};
        export default {
          outputFileTracingRoot: ${JSON.stringify(project)},
          turbopack: { root: ${JSON.stringify(project)}, resolveAlias: aliases },
          webpack(config) {
            Object.assign(config.resolve.alias, aliases);
            return config;
          },
        };`,
    });
    const next = command("next/dist/bin/next");
    await printedBy(process.execPath, [next, "build", bundler], directory, ENVIRONMENT);
    const { url, stop } = await served(next, directory);
    try {
      expect(await (await fetch(`${url}/`)).text()).toContain("built: 2");
      expect(await (await fetch(`${url}/now`)).text()).toContain("now: 2");
    } finally {
      await stop();
    }
  });

  it("vitest runs tests of it", async (context) => {
    await needRegistry(context);
    const directory = await folderFor(way, "vitest");
    await writeFiles(directory, {
      "rows.test.mjs": `import { expect, test, vi } from "vitest";\n${TEST.replace("SPIES", "vi")}`,
      "vitest.config.mjs": `export default { test: { alias: ${JSON.stringify(aliases)} } };`,
    });
    const options = ["run", "--reporter=json", "rows.test.mjs"];
    const report = await printedBy(process.execPath, [command("vitest/vitest.mjs"), ...options], directory);
    expect(JSON.parse(report.slice(report.indexOf("{"))).numPassedTests).toBe(1);
  });

  it("Jest runs tests of it", async (context) => {
    await needRegistry(context);
    const directory = await folderFor(way, "jest");
    await writeFiles(directory, {
      "rows.test.cjs": REQUIRED + TEST.replace(/^import.*\n/gm, "").replace("SPIES", "jest"),
    });
    const moduleNameMapper = Object.fromEntries(
      Object.entries(aliases).map(([from, to]) => [`^${from}(.*)$`, `${to}$1`]),
    );
    const configuration = {
      rootDir: directory,
      testMatch: ["**/*.test.cjs"],
      transform: {},
      moduleNameMapper,
    };
    const options = ["--ci", "--runInBand", "--json", `--config=${JSON.stringify(configuration)}`];
    const report = await printedBy(process.execPath, [command("jest/bin/jest.js"), ...options], directory, {
      JEST_WORKER_ID: undefined,
      NODE_ENV: "test",
    });
    expect(JSON.parse(report).numPassedTests).toBe(1);
  });
});

const ENVIRONMENT = { NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" };

const REQUIRED = `const lancedb = require("@lancedb/lancedb");\n`;
const TEST = `import * as lancedb from "@lancedb/lancedb";
test("rows are found", async () => {
  const db = await lancedb.connect("./test-data");
  const table = await db.createTable("t", [{ id: 1, vector: [1, 0] }, { id: 2, vector: [0, 1] }], { mode: "overwrite" });
  const spied = SPIES.spyOn(Object.getPrototypeOf(table), "countRows");
  expect((await table.vectorSearch([0, 1]).limit(1).toArray())[0].id).toBe(2);
  expect(await table.countRows()).toBe(2);
  expect(spied).toHaveBeenCalledTimes(1);
  await expect(db.openTable("none")).rejects.toThrow("was not found");
  await expect(db.openTable("none")).rejects.toBeInstanceOf(Error);
});
`;

const PAGES: Readonly<Record<string, string>> = {
  "app/table.js": `import { connect } from "@lancedb/lancedb";
export async function openRows(name) {
  const db = await connect("./tables");
  return db.createTable(name, [{ id: 1, vector: [1, 0] }, { id: 2, vector: [0, 1] }], { mode: "overwrite" });
}
`,
  "app/layout.jsx": `export default ({ children }) => <html><body>{children}</body></html>;\n`,
  // Rendered when the application is built.
  "app/page.jsx": `import { openRows } from "./table.js";
export default async function Page() {
  return <p>{"built: " + (await (await openRows("built")).countRows())}</p>;
}
`,
  // Rendered for each request.
  "app/now/page.jsx": `import { openRows } from "../table.js";
export const dynamic = "force-dynamic";
export default async function Page() {
  const table = await openRows("now");
  return <p>{"now: " + (await table.vectorSearch([0, 1]).limit(1).toArray())[0].id}</p>;
}
`,
};

/** Starts the application's server; resolves once it listens. */
async function served(next: string, directory: string) {
  const options = ["start", "--port", "0", "--hostname", "127.0.0.1"];
  const child = spawn(process.execPath, [next, ...options], {
    cwd: directory,
    env: { ...process.env, ...ENVIRONMENT },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stop = async (): Promise<void> => {
    child.kill();
    await once(child, "exit");
  };
  for await (const line of createInterface(child.stdout)) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url !== undefined) return { url, stop };
  }
  throw new Error("the server of Next.js ended");
}
