/** Programs to bundle, and their bundles in a directory without modules. */

import { realpath, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { folderOf, type RegistryProject } from "./registryProject.js";
import { printedBy } from "./runFiles.js";
import { PROGRAM_IMPORTS, PROGRAM_MAIN, PROGRAM_REQUIRES } from "./strangersProgram.js";
import { makeTempDir } from "./tempDir.js";

/** Returns the output of a bundle that runs far from any module. */
export async function printedAlone(directory: string, file: string): Promise<string> {
  const alone = await realpath(await makeTempDir());
  await rename(join(directory, file), join(alone, file));
  return printedBy(process.execPath, [join(alone, file)], alone);
}

/** Returns a folder with the program as `app.mjs` and `app.cjs`. */
export async function withEntries(project: RegistryProject, name: string): Promise<string> {
  const directory = await folderOf(project, name);
  await writeFile(join(directory, "app.mjs"), PROGRAM_IMPORTS + PROGRAM_MAIN);
  await writeFile(join(directory, "app.cjs"), PROGRAM_REQUIRES + PROGRAM_MAIN);
  return directory;
}
