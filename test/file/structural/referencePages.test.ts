/** Pages that the reference writes, by its own choice of encodings, decode to the rows it reads itself. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { allTypesSpec, makeIpc, NULL_PATTERNS, SHAPES } from "../../support/generators.js";
import { compareTables, reference } from "../../support/reference.js";
import { dataFilePaths, readDataFile, schemaOfIpc } from "./referencePages.js";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tiltyard-pages-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Has the reference write `ipc` as one data file, and compares what we and it read of it. */
async function expectSameRows(name: string, ipc: Uint8Array, dataStorageVersion: string): Promise<void> {
  await reference.createTable(directory, name, ipc, { dataStorageVersion });
  const expected = await reference.readTable(directory, name);
  const [path, ...more] = dataFilePaths(directory, name);
  if (path === undefined || more.length > 0) throw new Error("the table is not one data file");
  const actual = await readDataFile(path, schemaOfIpc(expected));
  compareTables(expected, actual);
}

describe.each(["2.1", "2.2"])("pages of version %s", (version) => {
  for (const shape of SHAPES) {
    for (const nulls of NULL_PATTERNS) {
      it(`${shape} values, ${nulls} null`, async () => {
        const name = `t${version.replace(".", "_")}_${shape}_${nulls}`;
        const ipc = makeIpc(allTypesSpec(3000, nulls, { shape }));
        await expectSameRows(name, ipc, version);
      });
    }
  }
});
