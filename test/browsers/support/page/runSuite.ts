/** Runs test files in a page with vitest's runner. */

import { afterAll, startTests, type TaskResult, type VitestRunner } from "@vitest/runner";
import { getTests } from "@vitest/runner/utils";
import "../../../support/fixedSeed.js";
import "../../../support/poisonScratch.js";
import { removeTempDirs } from "./tempDir.js";

/** Outcome of a test. */
export interface Outcome {
  readonly name: string;
  readonly state: "pass" | "fail" | "skip" | "todo";
  /** Messages of the failures, or the reason of the skip. */
  readonly note: string;
}

const PATIENCE_MS = 600_000;

/** @param load imports a test file */
export async function runSuite(path: string, load: () => Promise<unknown>): Promise<Outcome[]> {
  const runner: VitestRunner = {
    config: {
      root: "/",
      setupFiles: [],
      name: undefined,
      passWithNoTests: false,
      testNamePattern: undefined,
      allowOnly: false,
      sequence: { seed: 0, hooks: "stack", setupFiles: "list" },
      chaiConfig: undefined,
      maxConcurrency: 1,
      testTimeout: PATIENCE_MS,
      hookTimeout: PATIENCE_MS,
      retry: 0,
      includeTaskLocation: false,
      tags: [],
      tagsFilter: undefined,
      strictTags: false,
    },
    async importFile() {
      afterAll(removeTempDirs);
      await load();
    },
  };
  const files = await startTests([path], runner);
  const failures = files.flatMap(({ result }) => result?.errors ?? []);
  const outcomes = getTests(files).map((test): Outcome => {
    // The runner adds the reason of a skip, which its declarations lack.
    const result = (test.result ?? {}) as TaskResult & { readonly note?: string };
    const { state = test.mode === "run" ? "fail" : "skip", errors = [], note = "" } = result;
    return {
      name: test.fullTestName ?? test.name,
      state: state as Outcome["state"],
      note: errors.map((error) => error.stack ?? error.message).join("\n") || note,
    };
  });
  for (const { message, stack } of failures) {
    outcomes.push({ name: path, state: "fail", note: stack ?? message });
  }
  return outcomes;
}
