/**
 * Small tables that released versions of LanceDB wrote (test/support/releases/writeGoldens.mjs), with old
 * encodings of some values, are read as the reference reads them.
 */

import { cp, readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { tableFromIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compareTables, reference } from "./support/reference.js";
import { makeTempDir } from "./support/tempDir.js";

const GOLDENS = fileURLToPath(new URL("./releases", import.meta.url));
const RELEASES = await readdir(GOLDENS);

describe.each(RELEASES)("a table of LanceDB %s", (release) => {
  let root: string;
  let ns: DirectoryNamespace;
  let names: string[];

  beforeAll(async () => {
    root = await makeTempDir();
    await cp(join(GOLDENS, release), root, { recursive: true });
    names = (await readdir(root)).map((directory) => basename(directory, ".lance"));
    ns = new DirectoryNamespace({ root, durability: "none" });
  });
  afterAll(() => ns.close());

  it("has the rows that the reference reads, whole, in part and filtered", async () => {
    for (const name of names) {
      const expected = tableFromIPC(await reference.readTable(root, name));
      const table = ns.table([name]);
      compareTables(expected, await table.scan().toArrow());
      for (const start of [0, 61, 118]) {
        const offsets = Array.from({ length: 2 }, (_, row) => start + row);
        compareTables(expected.slice(start, start + 2), await table.take(offsets));
      }
      for (const { name: column } of expected.schema.fields) {
        const nulls = expected.getChild(column)?.nullCount;
        expect(await table.countRows(`${column} IS NULL`), column).toBe(nulls);
      }
    }
  });

  it("keeps its rows when they are copied, added to and compacted", async () => {
    for (const name of names) {
      const table = ns.table([name]);
      const before = await table.scan().toArrow();
      await ns.createTable({ id: [`${name}_copy`] }, before);
      compareTables(
        before,
        await ns
          .table([`${name}_copy`])
          .scan()
          .toArrow(),
        { metadata: false },
      );
      await table.insert(before);
      await table.optimize();
      compareTables(before.concat(before), await table.scan().toArrow());
      compareTables(await reference.readTable(root, name), await table.scan().toArrow());
    }
  });
});
