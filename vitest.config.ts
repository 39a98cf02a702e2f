import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

const TESTS = ["test/**/*.test.ts"];

/**
 * Files that leave nothing behind in the process that runs them, so that the next of them may use it as it is, with all
 * modules loaded: none mocks a module, measures memory, or listens to the process.
 */
const SHARING = [
  "test/bytes/**/*.test.ts",
  "test/file/**/*.test.ts",
  "test/format/**/*.test.ts",
  "test/interop/**/*.test.ts",
  "test/operations/**/*.test.ts",
  "test/table/**/*.test.ts",
];

/** What all runs have in common. */
export const settings = defineConfig({
  resolve: {
    alias: [
      { find: /^tiltyard$/, replacement: fileURLToPath(new URL("./src/index.ts", import.meta.url)) },
      { find: /^tiltyard\/rest$/, replacement: fileURLToPath(new URL("./src/rest.ts", import.meta.url)) },
    ],
  },
  test: {
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    setupFiles: ["test/support/poisonScratch.ts", "test/support/removeTempDirs.ts"],
    reporters: ["default", "./test/support/summaryReporter.ts"],
  },
});

const project = (name: string, test: object): TestProjectInlineConfiguration => ({
  extends: true,
  test: { name, ...test },
});

export default defineConfig({
  ...settings,
  test: {
    ...settings.test,
    projects: [
      project("sharing", { include: SHARING, isolate: false }),
      project("alone", { include: TESTS, exclude: [...configDefaults.exclude, ...SHARING] }),
    ],
  },
});
