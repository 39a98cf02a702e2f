/** The first expression with a function loads the functions, whichever call of the built package has it. */

import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { nextMessage, startProcess } from "../support/childProcess.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];

it.each([
  ["filter", 1],
  ["column", ["AB", "C", null]],
  ["take by text", ["AB"]],
  ["take by expression", ["AB"]],
  ["count", 1],
  ["delete", 2],
  ["update where", 1],
  ["updated value", 1],
  ["merge", 1],
  ["new column", ["AB", "C", null]],
  ["new constant", ["C", "C", "C"]],
  ["computed column", [null, null, null]],
  ["backfill", ["ab", null, null]],
  ["explain", true],
  ["analyze", true],
  ["no such function", ["UnsupportedError", expect.stringContaining("nonesuch")]],
])("%s", async (location, expected) => {
  const root = await makeTempDir();
  const ns = new DirectoryNamespace({ root, durability: "none" });
  const rows = ["Ab", "c", null].map((s, index) => ({ i: index + 1, s }));
  await ns.createTable({ id }, rows);
  await ns.alterTableAddColumns({ id, newColumns: [{ name: "later", computed: "lower(s)" }] });
  await ns.close();
  const child = startProcess("lateFunctions.mjs", [root, location]);
  expect(await nextMessage(child)).toEqual({ told: expected });
});
