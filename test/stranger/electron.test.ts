/**
 * Electron runs the package in its main process. Its install script gets the binary from GitHub's releases;
 * if these cannot be reached, the test is skipped with a message.
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
