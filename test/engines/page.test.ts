/** The Python of the page about other engines runs as printed, and prints what its comments say. */

import { type ExecFileException, execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHECKOUT } from "../support/packedProject.js";
import { makeTempDir } from "../support/tempDir.js";
import { environment } from "./support/environments.js";
import { type Handler, startHandler } from "./support/handler.js";

const ENVIRONMENTS: Readonly<Record<string, string>> = {
  Python: "lancedb",
  DuckDB: "duckdb",
  "Polars and DataFusion": "dataframes",
  Daft: "daft",
  Ray: "ray",
  "Python over HTTP": "lancedb",
  "Ray over HTTP": "ray",
};
const SECTION =
  /^### (.+)\n(?:(?!^#)[\s\S])*?^<!-- run by test\/engines\/page\.test\.ts -->\n```python\n([\s\S]*?)^```$/gm;

const page = await readFile(join(CHECKOUT, "docs/recipes/past-one-machine.md"), "utf8");
const sections = [...page.matchAll(SECTION)].map(([, heading, program]) => [heading, program] as const);

let directory: string;
let handler: Handler;
beforeAll(async () => {
  directory = await makeTempDir();
  const root = join(directory, "data");
  const namespace = new DirectoryNamespace({ root });
  await namespace.createTable({ id: ["trips"] }, [
    { id: 1, km: 3.5 },
    { id: 2, km: 8 },
  ]);
  await namespace.close();
  handler = await startHandler(root, { auth: { apiKeys: ["a key"] }, managedVersioning: true });
});
afterAll(() => handler[Symbol.asyncDispose]());

describe("the page", () => {
  it.each(sections)("%s", async (heading, program) => {
    const python = await environment(ENVIRONMENTS[heading]);
    const script = join(directory, `${heading.replaceAll(" ", "_")}.py`);
    await writeFile(script, program.replaceAll("http://127.0.0.1:8080", handler.url));
    const stdout = await outputOf(python, script, directory);
    const wanted = [...program.matchAll(/^print\(.*\) {2}# (.*)$/gm)].map(([, printed]) => printed);
    expect(wanted.length).toBeGreaterThan(0);
    expect(stdout.trimEnd().split("\n")).toEqual(wanted);
  });
});

/**
 * Returns a program's output. Runs it again once if native code ended its process.
 * @throws an error that tells how the program ended and what it wrote
 */
async function outputOf(python: string, script: string, directory: string, mayCrash = true): Promise<string> {
  try {
    return (await promisify(execFile)(python, [script], { cwd: directory, timeout: 300_000 })).stdout;
  } catch (error) {
    const { code, signal, stdout, stderr } = error as ExecFileException & { stdout: string; stderr: string };
    // Daft ends its process now and then, once in about 80 runs: without a word, or by SIGABRT after the output.
    const isNativeCrash = (stdout === "" || signal === "SIGABRT") && !stderr.includes("Traceback");
    if (mayCrash && isNativeCrash) return outputOf(python, script, directory, false);
    throw new Error(`${script} ended with ${signal ?? code}\n${stderr}\n${stdout}`, { cause: error });
  }
}

it("the page has a program for each engine of the table", () => {
  expect(sections.map(([heading]) => heading)).toEqual(Object.keys(ENVIRONMENTS));
});
