/** Jest runs tests that use the package, of either kind of modules; test/runtimes.test.ts covers vitest. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { commandOf, folderOf, makeRegistryProject, needRegistry } from "../support/registryProject.js";
import { printedBy } from "../support/runFiles.js";
import {
  PROGRAM_IMPORTS,
  PROGRAM_PRINTS,
  PROGRAM_REQUIRES,
  PROGRAM_STEPS,
} from "../support/strangersProgram.js";

const STEPS = PROGRAM_STEPS.replace("console.log(", "const seen = [").replace(/length\);\n/, "length];\n");
const TEST = `
test("works", async () => {
  process.chdir(__DIRECTORY__);
  ${STEPS}
  expect(seen.join(" ")).toBe("${PROGRAM_PRINTS}");
  const again = new DirectoryNamespace({ root: process.cwd() + "/tables" });
  await expect(again.table("u").countRows()).rejects.toBeInstanceOf(NamespaceError);
  // Errors and values are those of the realm of the test.
  const failure = await again.createTable({ id: ["t"] }, [{ id: 1 }]).catch((error) => error);
  expect(failure).toBeInstanceOf(Error);
  expect(await again.table("t").scan({ columns: ["id"], limit: 1 }).toArray()).toEqual([{ id: 1 }]);
  await again.close();
});
`;

it("Jest, classic and with ES modules", async (context) => {
  await needRegistry(context);
  const project = await makeRegistryProject(["jest"], "commonjs");
  const jest = commandOf(project, "jest/bin/jest.js");
  for (const [kind, file, imports, flags] of [
    ["classic", "rows.test.cjs", PROGRAM_REQUIRES, []],
    ["ES modules", "rows.test.mjs", PROGRAM_IMPORTS, ["--experimental-vm-modules"]],
  ] as const) {
    const directory = await folderOf(project, kind);
    const named = imports.replace("{ DirectoryNamespace }", "{ DirectoryNamespace, NamespaceError }");
    await writeFile(join(directory, file), named + TEST.replace("__DIRECTORY__", JSON.stringify(directory)));
    const configuration = { rootDir: directory, testMatch: ["**/*.test.?js"], transform: {} };
    const options = ["--ci", "--runInBand", "--json", `--config=${JSON.stringify(configuration)}`];
    const report = await printedBy(process.execPath, [...flags, jest, ...options], directory, {
      JEST_WORKER_ID: undefined,
      NODE_ENV: "test",
    });
    expect([kind, JSON.parse(report).numPassedTests]).toEqual([kind, 1]);
  }
});
