/** Programs for clusters in the recipe of computed columns, in a project with the packed package. */

import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { programsOf } from "../support/documents.js";
import { makePackedProject } from "../support/packedProject.js";

const [program, ...others] = programsOf("docs/recipes/computed-columns.md", "test/ray/clusterPage.test.ts");

it("the recipe's programs about clusters print what their comments say", async () => {
  expect(others).toEqual([]);
  expect(program.text).toContain("rayCluster");
  const { directory } = await makePackedProject([]);
  const script = join(directory, "cluster.mjs");
  await writeFile(script, program.text);
  const { stdout } = await promisify(execFile)(process.execPath, [script], { cwd: directory });
  expect(stdout.trimEnd().split("\n")).toEqual(program.output);
});
