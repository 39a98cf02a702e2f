import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import { beforeAll, describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/nodeDisk.js";
import { allTypesSpec, makeIpc, makeTable, NULL_PATTERNS, SHAPES } from "../support/generators.js";
import { compareTables, reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";
import { swapDataFile } from "./swapDataFile.js";

describe.each(["2.1", "2.2"] as const)("the reference reads data files of version %s", (version) => {
  let uri = "";
  const disk = new NodeDisk({ durability: "none" });
  beforeAll(async () => {
    uri = await makeTempDir();
  });

  for (const shape of SHAPES) {
    for (const nulls of NULL_PATTERNS) {
      it(`with ${shape} values of every type, nulls: ${nulls}`, async () => {
        const name = `${shape}_${nulls}`;
        const rowCount = 3001;
        // The reference writes other values first, so that what it reads can only come from our file.
        const ours = allTypesSpec(rowCount, nulls, { shape, seed: 5 });
        const theirs = allTypesSpec(rowCount, nulls, { shape: "random", seed: 6 });
        await reference.createTable(uri, name, makeIpc(theirs), { dataStorageVersion: version });
        await swapDataFile(disk, join(uri, `${name}.lance`), makeTable(ours), version);
        const expected = tableFromIPC(makeIpc(ours));
        compareTables(expected, await reference.readTable(uri, name), { metadata: false });
        const offsets = [0, 1, 1023, 1024, 2999, 3000];
        const taken = tableFromIPC(await reference.takeRows(uri, name, offsets));
        expect(taken.numRows).toBe(offsets.length);
        for (const [index, offset] of offsets.entries()) {
          compareTables(expected.slice(offset, offset + 1), taken.slice(index, index + 1), {
            metadata: false,
          });
        }
        compareTables(
          expected.slice(1500, 1600),
          await reference.readTable(uri, name, { offset: 1500, limit: 100 }),
          {
            metadata: false,
          },
        );
      });
    }
  }
});
