/**
 * Electron of the registry runs the package in its Node.js, which is the main process's. Its package on npm has no binary: an
 * install script gets that from GitHub's releases. Where these can't be reached, the test is skipped and says so.
 */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folderOf, makeRegistryProject, needRegistry } from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";
import { PROGRAM, PROGRAM_MAIN, PROGRAM_PRINTS, PROGRAM_REQUIRES } from "../support/strangersProgram.js";

const RELEASES = "https://github.com/electron/electron/releases/latest";

it("Electron, with ES modules and CommonJS", async (context) => {
  await needRegistry(context);
  const answer = await fetch(RELEASES, { method: "HEAD", signal: AbortSignal.timeout(15_000) }).catch(
    (error: Error) => error,
  );
  if (answer instanceof Error || !answer.ok) {
    context.skip(`not shown here: Electron's binary comes from ${RELEASES}, which can't be reached`);
  }
  const project = await makeRegistryProject(["electron"]);
  const electron = await printedBy(
    process.execPath,
    ["-e", `console.log(require("electron"))`],
    project.directory,
  );
  const directory = await folderOf(project, "programs");
  await writeFile(join(directory, "app.mjs"), PROGRAM);
  await writeFile(join(directory, "app.cjs"), PROGRAM_REQUIRES + PROGRAM_MAIN);
  for (const file of ["app.mjs", "app.cjs"]) {
    const printed = await printedBy(electron, [file], directory, { ELECTRON_RUN_AS_NODE: "1" });
    expect([file, printed]).toEqual([file, PROGRAM_PRINTS]);
  }
});
