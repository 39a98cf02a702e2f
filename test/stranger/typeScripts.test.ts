/**
 * The declarations compile with TypeScript 5.4 to 6, for each kind of resolution and both kinds of modules.
 * `test/handleTypes.test.ts` compiles the same program with the current release.
 */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { commandOf, makeRegistryProject, needRegistry } from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";
import { TYPES_PROGRAM } from "../support/typesProgram.js";

const RELEASES = ["5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "6.0"];
const RESOLUTIONS = [
  ["node16", "node16"],
  ["nodenext", "nodenext"],
  ["esnext", "bundler"],
];
const OPTIONS = [
  ...["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"],
  ...["--skipLibCheck", "false", "--target", "es2022", "--types", "node"],
  ...["--lib", "es2022,dom,dom.iterable,dom.asynciterable,esnext.disposable"],
];

it("TypeScript from 5.4 to 6, strict", async (context) => {
  await needRegistry(context);
  const aliases = RELEASES.map((release) => `typescript-${release}@npm:typescript@${release}`);
  const project = await makeRegistryProject(["@types/node@20", ...aliases]);
  for (const name of ["uses.mts", "uses.cts"]) await writeFile(join(project.directory, name), TYPES_PROGRAM);
  for (const release of RELEASES) {
    for (const [module, resolution] of RESOLUTIONS) {
      const kind = ["--module", module, "--moduleResolution", resolution];
      const tsc = commandOf(project, `typescript-${release}/bin/tsc`);
      const said = await printedBy(
        process.execPath,
        [tsc, ...OPTIONS, ...kind, "uses.mts", "uses.cts"],
        project.directory,
      ).catch((error: Error) => error.message);
      // flatbuffers, which apache-arrow brings, has declarations that releases before 5.7 don't understand.
      const ours = said.split("\n").filter((line) => /^(uses\.|node_modules\/tiltyard\/)/.test(line));
      expect([release, resolution, ours]).toEqual([release, resolution, []]);
      if (Number(release) >= 5.7) expect([release, resolution, said]).toEqual([release, resolution, ""]);
    }
  }
});
