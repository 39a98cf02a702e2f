/** The package in a program that has another release of apache-arrow than the engine. */

import { execFile } from "node:child_process";
import { cp, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { sharedDirectory } from "../support/fixtures.js";
import { CHECKOUT } from "../support/packedProject.js";

const program = sharedDirectory();

it("gives and takes objects of the program's copy of apache-arrow", async () => {
  const modules = join(program, "node_modules");
  await mkdir(modules, { recursive: true });
  await cp(join(CHECKOUT, "build", "tiltyard-lancedb"), join(modules, "tiltyard-lancedb"), {
    recursive: true,
  });
  await symlink(
    join(CHECKOUT, "test/reference/node_modules/apache-arrow"),
    join(modules, "apache-arrow"),
    "junction",
  );
  const script = join(CHECKOUT, "test/support/programOfOtherArrow.mjs");
  const { stdout } = await promisify(execFile)(process.execPath, [script, program]);
  expect(JSON.parse(stdout)).toEqual({
    ...{ schema: true, table: true, query: true, outputSchema: true, batch: true, cell: true },
    ...{ reranked: true, byProgram: 3, handed: [true, true], field: true, count: 22 },
  });
});
