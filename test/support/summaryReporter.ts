/**
 * Ends a run with one plain line, `N passed, N failed`, after the failures. On CI it also reports progress.
 */
import { relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

/** Maximum number of named failures. */
const MAX_NAMED = 40;
/** Maximum number for one file, where failures often have one cause. */
const MAX_NAMED_OF_FILE = 5;
/** Maximum characters of a message and stack, which may contain a whole array. */
const MAX_SHOWN = 1200;
/** Files between two reports of progress. */
const FILES_PER_LINE = 20;

export interface SummaryOptions {
  readonly progress?: boolean;
}

interface Failure {
  readonly message: string;
  readonly stack?: string;
}

function shown(where: string, failure: Failure | undefined): string {
  const text = failure?.stack?.includes(failure.message)
    ? failure.stack
    : `${failure?.message}\n${failure?.stack ?? ""}`;
  const ours = text.split("\n").filter((line) => !line.includes("/node_modules/"));
  return `${where}: ${ours.join("\n").slice(0, MAX_SHOWN).trimEnd()}`;
}

const nameOf = (module: TestModule): string => relative(process.cwd(), module.moduleId);

export default class SummaryReporter implements Reporter {
  readonly #options: SummaryOptions;
  #files = 0;
  #ended = 0;
  #started = 0;

  constructor(options: SummaryOptions = {}) {
    this.#options = options;
  }

  onTestRunStart(files: ReadonlyArray<unknown>): void {
    this.#files = files.length;
    this.#started = performance.now();
  }

  onTestModuleEnd(): void {
    this.#ended++;
    if (this.#options.progress && (this.#ended % FILES_PER_LINE === 0 || this.#ended === this.#files)) {
      const seconds = Math.round((performance.now() - this.#started) / 1000);
      process.stdout.write(`${this.#ended} of ${this.#files} files after ${seconds} s\n`);
    }
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<Failure>): void {
    let passed = 0;
    let skipped = 0;
    const failures = errors.map((error) => shown("outside of any test", error));
    for (const module of modules) {
      failures.push(...module.errors().map((error) => shown(nameOf(module), error)));
      // Errors of `beforeAll` and `afterAll` belong to no test, but fail the run.
      for (const suite of module.children.allSuites()) {
        failures.push(
          ...suite.errors().map((error) => shown(`${nameOf(module)} > ${suite.fullName}`, error)),
        );
      }
      for (const test of module.children.allTests()) {
        const { state, errors: reasons } = test.result();
        if (state === "passed") passed++;
        else if (state !== "failed") skipped++;
        else failures.push(shown(`${nameOf(module)} > ${test.fullName}`, reasons[0]));
      }
    }
    const ofFile = new Map<string, number>();
    const isNamed = (failure: string): boolean => {
      const [file] = failure.split(/ > |: /, 1);
      ofFile.set(file, (ofFile.get(file) ?? 0) + 1);
      return (ofFile.get(file) ?? 0) <= MAX_NAMED_OF_FILE;
    };
    const named = failures
      .filter(isNamed)
      .slice(0, MAX_NAMED)
      .map((failure) => `failed: ${failure}\n`);
    const tail = skipped > 0 ? `, ${skipped} skipped` : "";
    process.on("exit", () =>
      process.stdout.write(`\n${named.join("")}${passed} passed, ${failures.length} failed${tail}\n`),
    );
  }
}
