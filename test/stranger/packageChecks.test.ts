/** Checkers of packages find no fault in the package. */

import { join } from "node:path";
import { expect, it } from "vitest";
import { commandOf, makeRegistryProject, needRegistry, packedFile } from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";

it("publint and arethetypeswrong find nothing, for any kind of resolution", async (context) => {
  await needRegistry(context);
  const project = await makeRegistryProject(["publint", "@arethetypeswrong/cli"]);
  const publint = commandOf(project, "publint/src/cli.js");
  const packed = await packedFile();
  const said = await printedBy(process.execPath, [publint, packed, "--strict"], project.directory);
  expect(said).toMatch(/All good!$/);
  const attw = commandOf(project, "@arethetypeswrong/cli/dist/index.js");
  const { analysis, problems } = JSON.parse(
    await printedBy(process.execPath, [attw, packed, "--format=json"], project.directory),
  );
  expect(problems ?? {}).toEqual({});
  expect(Object.keys(analysis.entrypoints).map((entry) => join("tiltyard", entry))).toEqual([
    "tiltyard",
    "tiltyard/rest",
    "tiltyard/ray",
    "tiltyard/files",
    "tiltyard/package.json",
  ]);
});
