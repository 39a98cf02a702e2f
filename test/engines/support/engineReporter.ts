/** Prints the results as a table: a line per engine and operation. A test's first group is its engine. */

import type { Reporter, TestCase, TestModule } from "vitest/node";

interface Line {
  readonly engine: string;
  readonly operation: string;
  readonly result: string;
}

const firstLine = (text: string | undefined): string => (text ?? "").split("\n", 1)[0].slice(0, 200);

function lineOf(test: TestCase): Line {
  const names = [test.name];
  let group = test.parent;
  while (group.type === "suite") {
    names.unshift(group.name);
    group = group.parent;
  }
  const result = test.result();
  const [engine, ...operation] = names;
  return {
    engine,
    operation: operation.join(", "),
    result:
      result.state === "skipped"
        ? `not run: ${result.note ?? "skipped"}`
        : result.state === "failed"
          ? `failed: ${firstLine(result.errors[0]?.message)}`
          : [
              result.state,
              ...test.annotations().map(({ type, message }) => `${type}: ${firstLine(message)}`),
            ].join("; "),
  };
}

const cell = (text: string): string => text.replaceAll("|", "\\|");

export default class EngineReporter implements Reporter {
  #startedMs = 0;

  onTestRunStart(): void {
    this.#startedMs = performance.now();
  }

  onTestCaseResult(test: TestCase): void {
    const { engine, operation, result } = lineOf(test);
    if (result !== "passed") process.stdout.write(`${engine}, ${operation}: ${result}\n`);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = modules.flatMap((module) => [...module.children.allTests()].map(lineOf));
    lines.sort((one, two) => one.engine.localeCompare(two.engine, "en", { numeric: true }));
    const rows = lines.map(
      (line) => `| ${cell(line.engine)} | ${cell(line.operation)} | ${cell(line.result)} |`,
    );
    const minutes = ((performance.now() - this.#startedMs) / 60_000).toFixed(1);
    process.stdout.write(
      `\n| engine | operation | result |\n|---|---|---|\n${rows.join("\n")}\n\nAfter ${minutes} minutes, installs included.\n`,
    );
  }
}
