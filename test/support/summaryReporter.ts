/**
 * Ends a run with one plain line, `N passed, N failed`, whatever else was printed. What failed is named before it, with its
 * message: whoever sees only the end of a long log sees why.
 */
import type { Reporter, TestModule } from "vitest/node";

/** Of those that failed, so many are named. */
const MAX_NAMED = 20;

export default class SummaryReporter implements Reporter {
  onTestRunEnd(
    modules: ReadonlyArray<TestModule>,
    errors: ReadonlyArray<{ readonly message: string }>,
  ): void {
    let passed = 0;
    let skipped = 0;
    const failures = errors.map(({ message }) => `outside of any test: ${message}`);
    for (const module of modules) {
      failures.push(...module.errors().map(({ message }) => `${module.moduleId}: ${message}`));
      for (const test of module.children.allTests()) {
        const { state, errors: reasons } = test.result();
        if (state === "passed") passed++;
        else if (state !== "failed") skipped++;
        else failures.push(`${module.moduleId} > ${test.fullName}: ${reasons[0]?.message}`);
      }
    }
    const named = failures.slice(0, MAX_NAMED).map((failure) => `failed: ${failure}\n`);
    const tail = skipped > 0 ? `, ${skipped} skipped` : "";
    process.on("exit", () =>
      process.stdout.write(`\n${named.join("")}${passed} passed, ${failures.length} failed${tail}\n`),
    );
  }
}
