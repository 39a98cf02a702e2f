/** Compiles programs against the built declarations, with two strict options of programs. */

import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { makeLinkedProject } from "./support/packedProject.js";
import { TYPES_PROGRAM } from "./support/typesProgram.js";
import { WRONG_NAMES_PROGRAM } from "./support/wrongNamesProgram.js";

const CHECKOUT = fileURLToPath(new URL("..", import.meta.url));

/** Returns what `tsc --noEmit` prints about a program, in a process of its own. */
async function compile(program: string): Promise<string> {
  const project = await makeLinkedProject();
  const file = join(project, "program.mts");
  await writeFile(file, program);
  const compiler = join(CHECKOUT, "node_modules", "typescript", "bin", "tsc");
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];
  const options = ["--noEmit", ...strict, "--skipLibCheck", "--pretty", "false"];
  const target = ["--target", "es2022", "--module", "node16", "--types", "node"];
  const compiled = promisify(execFile)(process.execPath, [compiler, ...options, ...target, file], {
    cwd: project,
  });
  return compiled.then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}

it("the types of rows compile as a program expects", async () => {
  expect(await compile(TYPES_PROGRAM)).toBe("");
});

it("the compiler refuses one wrong column name per method, and points at each", async () => {
  const lines = WRONG_NAMES_PROGRAM.split("\n");
  const wanted = lines.flatMap((line, index) =>
    line.includes("cty") ? [`${index + 1}: ${line.trim()}`] : [],
  );
  const told = await compile(WRONG_NAMES_PROGRAM);
  const errors = [...told.matchAll(/^program\.mts\((\d+),(\d+)\): error/gm)].map(([, line, column]) => ({
    line: Number(line),
    text: lines[Number(line) - 1].slice(Number(column) - 1),
  }));
  expect(errors.map(({ line }) => `${line}: ${lines[line - 1].trim()}`)).toEqual(wanted);
  // A name alone in its option is reported at the option.
  for (const { text } of errors) {
    expect(text).toMatch(/^("-?cty"|cty|\w+: ("cty"|"max\(cty\)"|\{ columnName: "cty"))/);
  }
});
