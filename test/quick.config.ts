/**
 * `npm run test:quick`: tests that run from the sources alone, in under a minute on two cores.
 *
 * A test file belongs to this run if it lies in a folder that is named as a part of `src/`, and is not one of
 * `SLOW`. Neither it nor its imports need an entry point, a build, a process, a thread or the reference.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { besideTheDisk, NOT_SHARING, project, settings } from "../vitest.config.ts";

const CHECKOUT = fileURLToPath(new URL("..", import.meta.url));

/** Imports that need more than a few modules. */
const NEEDS_MORE = [
  /"node:(child_process|worker_threads)"/,
  /"tiltyard(\/\w+)?"|\/src\/(index|rest|ray|files|DirectoryNamespace|TableHandle)\.js"/,
  /tiltyard-reference|@lancedb\/lancedb/,
  /\b(dist|build)[/"]/,
];

/** Files that take longer than three seconds on an idle core. */
const SLOW = [
  "test/arrow/exchange/views.test.ts",
  "test/arrow/inputBounds.test.ts",
  "test/arrow/messageBounds.test.ts",
  "test/expression/functions/itemSets.test.ts",
  "test/expression/functions/steps.test.ts",
  "test/file/events/shredColumn.test.ts",
  "test/file/writing/transientRows.test.ts",
  "test/indexes/vector/codes/kmeans.test.ts",
  "test/indexes/vector/graph/graph.test.ts",
  "test/io/disk/confinement.test.ts",
];

const isFolder = (path: string): boolean =>
  statSync(join(CHECKOUT, path), { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Test files of the parts of `src/`: paths relative to the checkout, with `/` on every platform. */
const testFiles = readdirSync(join(CHECKOUT, "src"))
  .filter((part) => isFolder(`src/${part}`) && isFolder(`test/${part}`))
  .flatMap((part) =>
    readdirSync(join(CHECKOUT, "test", part), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".test.ts"))
      .map((path) => `test/${part}/${path.replaceAll("\\", "/")}`),
  );

function addImports(path: string, files: Map<string, string>): Map<string, string> {
  if (files.has(path) || !existsSync(join(CHECKOUT, path))) return files;
  const text = readFileSync(join(CHECKOUT, path), "utf8");
  files.set(path, text);
  for (const [, specifier] of text.matchAll(/"(\.{1,2}\/[^"]+)\.js"/g)) {
    const target = `${join(dirname(path), specifier)}.ts`.replaceAll("\\", "/");
    if (target.startsWith("test/")) addImports(target, files);
  }
  return files;
}

const testsModules = (path: string): boolean =>
  ![...addImports(path, new Map()).values()].some((text) => NEEDS_MORE.some((pattern) => pattern.test(text)));

const moved = SLOW.filter((path) => !testFiles.includes(path));
if (moved.length > 0) console.warn(`test/quick.config.ts lists files that do not exist: ${moved.join(", ")}`);

const quick = testFiles.filter((path) => !SLOW.includes(path) && testsModules(path));
const isSharing = (path: string): boolean => !NOT_SHARING.includes(path);

export default defineConfig({
  ...settings,
  test: {
    ...settings.test,
    // Property tests run a fifth of the cases of `npm test`.
    env: { ...settings.test?.env, SOAK_SCALE: process.env.SOAK_SCALE ?? "0.05" },
    projects: [
      project("sharing", { include: quick.filter(isSharing), isolate: false, env: besideTheDisk() }),
      project("alone", { include: quick.filter((path) => !isSharing(path)) }),
    ],
  },
});
