import { accessSync, constants, statfsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import type { SuiteDiskName } from "./test/support/suite/diskLimits.js";
import { SUITE_FILES } from "./test/support/suite/suiteFiles.js";

const TESTS = ["test/**/*.test.ts"];

/**
 * Those of these folders that mock a module, measure memory, change a codec, listen to their process, or see what is not
 * loaded yet.
 */
export const NOT_SHARING = [
  "test/arrow/inputBounds.test.ts",
  "test/arrow/objects/objectBatches.test.ts",
  "test/async/webThread.test.ts",
  "test/catalog/unfinishedBatches.test.ts",
  "test/crash/kills.test.ts",
  "test/crash/mixedKills.test.ts",
  "test/expression/functions/functionTable.test.ts",
  "test/io/memory/spareScratch.test.ts",
  "test/jobs/workerPool.test.ts",
  "test/operations/swappedDirectories.test.ts",
  "test/query/arbitraryTables.test.ts",
  "test/rest/bounds.test.ts",
  "test/rest/frameworkSuites.test.ts",
  "test/rest/hostile.test.ts",
  "test/rest/http/body.test.ts",
  "test/rest/http/nodeListener.test.ts",
  "test/rest/model.test.ts",
  "test/rest/sharedMemory.test.ts",
  "test/rest/suites.test.ts",
  "test/rest/tableSuites.test.ts",
  "test/rows/readAhead.test.ts",
  "test/write/memory.test.ts",
  "test/write/merge/memory.test.ts",
];

/**
 * Folders of files that leave nothing behind in the process that runs them, so that the next of them may use it as it is,
 * with all modules loaded.
 */
export const SHARING_FOLDERS = [
  "arrow",
  "async",
  "bytes",
  "catalog",
  "corruption",
  "crash",
  "expression",
  "file",
  "files",
  "format",
  "indexes",
  "interop",
  "io",
  "jobs",
  "model",
  "operations",
  "pause",
  "query",
  "race",
  "rest",
  "rows",
  "schema",
  "table",
  "write",
];
const SHARING = SHARING_FOLDERS.map((folder) => `test/${folder}/**/*.test.ts`);

/** They install hundreds of megabytes, or are slow: `npm run soak` has them. */
const SOAK_ONLY = [
  "bundlers",
  "electron",
  "lancedbReleases",
  "next",
  "otherRuntimes",
  "packageChecks",
  "testRunners",
  "typeScripts",
].map((name) => `test/stranger/${name}.test.ts`);

/**
 * They install gigabytes of Python, clients of LanceDB, servers or runtimes, or need a browser: `npm run test:engines`,
 * `test:clients`, `test:stores`, `test:runtimes` and `test:browsers` have them.
 */
const OF_OTHERS = [
  "test/engines/**",
  "test/clients/**",
  "test/stores/**",
  "test/browsers/**",
  "test/runtimes/**",
];

const PATIENCE_MS = 600_000;
const WATCHED = process.env.CI === undefined;
const SUMMARY = "./test/support/summaryReporter.ts";

/** Where Linux keeps files in memory, and how much has to be free there. */
const MEMORY = { directory: "/dev/shm", bytes: 4 * 2 ** 30 };

/**
 * The environment of tests that make many small tables: they need not wait for a disk to say that it has them, which is
 * a seventh of their time. Wherever `TMPDIR` points they go there; the other projects are on the disk in any case.
 */
export function besideTheDisk(): Record<string, string> {
  if (process.env.TMPDIR !== undefined) return {};
  try {
    accessSync(MEMORY.directory, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY.directory);
    return bavail * bsize < MEMORY.bytes ? {} : { TMPDIR: MEMORY.directory };
  } catch {
    return {}; // There is none: not Linux, or a container without it.
  }
}

/** What all runs have in common. */
export const settings = defineConfig({
  resolve: {
    alias: [
      { find: /^tiltyard$/, replacement: fileURLToPath(new URL("./src/index.ts", import.meta.url)) },
      { find: /^tiltyard\/rest$/, replacement: fileURLToPath(new URL("./src/rest.ts", import.meta.url)) },
      { find: /^tiltyard\/ray$/, replacement: fileURLToPath(new URL("./src/ray.ts", import.meta.url)) },
      { find: /^tiltyard\/files$/, replacement: fileURLToPath(new URL("./src/files.ts", import.meta.url)) },
      { find: /^tiltyard\/client$/, replacement: fileURLToPath(new URL("./src/client.ts", import.meta.url)) },
      {
        find: /^tiltyard\/disks\/conformance$/,
        replacement: fileURLToPath(new URL("./src/disks/conformance.ts", import.meta.url)),
      },
      { find: /^tiltyard\/disks$/, replacement: fileURLToPath(new URL("./src/disks.ts", import.meta.url)) },
      {
        find: /^tiltyard\/inspector$/,
        replacement: fileURLToPath(new URL("./src/inspector.ts", import.meta.url)),
      },
      {
        find: /^tiltyard\/(lancedb(?:\/embedding)?)$/,
        replacement: `${fileURLToPath(new URL("./src", import.meta.url))}/$1/index.ts`,
      },
      {
        find: /^tiltyard\/(lancedb\/embedding\/\w+)$/,
        replacement: `${fileURLToPath(new URL("./src", import.meta.url))}/$1.ts`,
      },
    ],
  },
  test: {
    pool: "forks",
    // Tests wait a good deal, for disks, locks and other processes: one more than the processors of the smallest machine.
    maxWorkers: 3,
    // A hang is found all the same; a processor that others have for minutes is no failure.
    testTimeout: PATIENCE_MS,
    hookTimeout: PATIENCE_MS,
    expect: { poll: { timeout: PATIENCE_MS / 5 } },
    // A failure that nobody can repeat at once has to tell all it knows.
    chaiConfig: { truncateThreshold: 2000 },
    setupFiles: [
      "test/support/fixedSeed.ts",
      "test/support/poisonScratch.ts",
      "test/support/removeTempDirs.ts",
    ],
    // The reference tells on its standard error of what the tests make it refuse; whoever looks for errors there finds these.
    env: { LANCEDB_LOG: process.env.LANCEDB_LOG ?? "off", RUST_BACKTRACE: process.env.RUST_BACKTRACE ?? "0" },
    // Code that runs in threads and child processes is not counted.
    // One failed test of thousands changes nothing in the figure.
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      reporter: ["text-summary", "html"],
      reportOnFailure: true,
    },
    // On CI only failures are printed: the log may be cut.
    silent: WATCHED ? "passed-only" : true,
    reporters: WATCHED ? ["default", SUMMARY] : [[SUMMARY, { progress: true }]],
  },
});

export const project = (name: string, test: object): TestProjectInlineConfiguration => ({
  extends: true,
  test: { name, ...test },
});

/** The namespace suite on a disk other than a directory. */
export const suiteOn = (disk: SuiteDiskName): TestProjectInlineConfiguration =>
  project(`namespaces on ${disk}`, {
    include: [...SUITE_FILES],
    isolate: false,
    env: { ...besideTheDisk(), TILTYARD_TEST_DISK: disk },
    alias: [
      {
        find: /^tiltyard$/,
        replacement: fileURLToPath(new URL("./test/support/suite/namespaceOnDisk.ts", import.meta.url)),
      },
    ],
  });

export default defineConfig({
  ...settings,
  test: {
    ...settings.test,
    projects: [
      suiteOn("memory"),
      suiteOn("store"),
      project("sharing", { include: SHARING, exclude: NOT_SHARING, isolate: false, env: besideTheDisk() }),
      project("alone beside them", { include: NOT_SHARING }),
      project("alone", {
        include: TESTS,
        exclude: [...configDefaults.exclude, ...SHARING, ...SOAK_ONLY, ...OF_OTHERS],
      }),
    ],
  },
});
