/** Compiles the types of handles, against the built declarations, with two strict options of programs. */

import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { makeLinkedProject } from "./support/packedProject.js";
import { TYPES_PROGRAM } from "./support/typesProgram.js";

const CHECKOUT = fileURLToPath(new URL("..", import.meta.url));

it("the types of rows compile as a program expects", async () => {
  const project = await makeLinkedProject();
  const file = join(project, "program.mts");
  await writeFile(file, TYPES_PROGRAM);
  const compiler = join(CHECKOUT, "node_modules", "typescript", "bin", "tsc");
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];
  const options = ["--noEmit", ...strict, "--skipLibCheck"];
  const target = ["--target", "es2022", "--module", "node16", "--types", "node"];
  const compiled = promisify(execFile)(process.execPath, [compiler, ...options, ...target, file], {
    cwd: project,
  });
  const told = await compiled.then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
  expect(told).toBe("");
});
