/**
 * Ends a run with one plain line, `N passed, N failed`, whatever else was printed. What failed is named before it, with its
 * message: whoever sees only the end of a long log sees why. Where it is the only reporter (on CI), it tells how far the run
 * has come, and of nothing that went well.
 */
import { relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

/** Of those that failed, so many are named. */
const MAX_NAMED = 40;
/** Of those of one file, so many: what fails there often fails for one reason. */
const MAX_NAMED_OF_FILE = 5;
/** Of a failure's message and stack, so many characters are shown: an array that differs is printed whole otherwise. */
const MAX_SHOWN = 1200;
/** How far a run has come is told after so many files. */
const FILES_PER_LINE = 20;

export interface SummaryOptions {
  /** Tell how far the run has come. */
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
      // What `beforeAll` and `afterAll` of a group throw belongs to no test, and fails the run all the same.
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
