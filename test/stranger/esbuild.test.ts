/** esbuild of the registry takes the package as it is, and its bundles run where no module can be found. */

import { join } from "node:path";
import { expect, it } from "vitest";
import { printedAlone, withEntries } from "../support/bundledPrograms.js";
import { commandOf, makeRegistryProject, needRegistry } from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";
import { PROGRAM_PRINTS } from "../support/strangersProgram.js";

it("bundles import and require, as either kind of module", async (context) => {
  await needRegistry(context);
  const project = await makeRegistryProject(["esbuild"]);
  const esbuild = commandOf(project, "esbuild/bin/esbuild");
  for (const [format, from] of [
    ["esm", "app.mjs"],
    ["cjs", "app.mjs"],
    ["cjs", "app.cjs"],
  ]) {
    const directory = await withEntries(project, `${format} of ${from}`);
    const output = format === "esm" ? "bundle.mjs" : "bundle.cjs";
    const options = ["--bundle", "--platform=node", `--format=${format}`, "--log-level=error"];
    await printedBy(esbuild, [join(directory, from), ...options, `--outfile=${output}`], directory);
    expect([format, from, await printedAlone(directory, output)]).toEqual([format, from, PROGRAM_PRINTS]);
  }
});
