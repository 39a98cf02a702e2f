/** Few rows of pages that hold many rows in few bytes: the rows that reading everything gives. */

import { Bool, Dictionary, Float64, Int8, Int32, Table, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "../../support/fixtures.js";
import { Random } from "../../support/generators.js";

const COUNT = 50_000;
const numbers = <Value>(of: (row: number) => Value): Value[] =>
  Array.from({ length: COUNT }, (_, row) => of(row));

const rows = new Table({
  kind: vectorFromArray(
    numbers((row) => `kind ${row % 20}`),
    new Utf8(),
  ),
  maybe: vectorFromArray(
    numbers((row) => (row % 7 === 0 ? null : `some ${row % 3}`)),
    new Utf8(),
  ),
  flag: vectorFromArray(
    numbers((row) => row % 3 === 0),
    new Bool(),
  ),
  small: vectorFromArray(
    numbers((row) => row % 5),
    new Int8(),
  ),
  few: vectorFromArray(
    numbers((row) => (row % 11 === 0 ? null : (row % 4) * 1e9)),
    new Float64(),
  ),
  coded: vectorFromArray(
    numbers((row) => `code ${row % 6}`),
    new Dictionary(new Utf8(), new Int32()),
  ),
});

describe.each(["2.0", "2.1", "2.2"] as const)("pages of %s", (dataStorageVersion) => {
  it("few rows at any offset equal those of the whole table", async ({ root }) => {
    await using ns = new DirectoryNamespace({ root, durability: "none", dataStorageVersion });
    const id = ["t"];
    await ns.createTable({ id }, rows);
    const all = (await (await ns.queryTable({ id })).toArray()).map((row) => ({ ...row }));
    expect(all.length).toBe(COUNT);
    const random = new Random(5);
    for (const offset of [
      0,
      1,
      4095,
      4096,
      40_000,
      COUNT - 3,
      random.below(COUNT),
      random.below(COUNT),
      random.below(COUNT),
    ]) {
      const limit = 1 + (offset % 13);
      const some = await (await ns.queryTable({ id, offset, limit })).toArray();
      expect(some.map((row) => ({ ...row }))).toEqual(all.slice(offset, offset + limit));
      const offsets = [offset, (offset * 7) % COUNT, (offset + 20_000) % COUNT].sort((a, b) => a - b);
      const taken = await (await ns.takeTableRows({ id, offsets })).toArray();
      expect(taken.map((row) => ({ ...row }))).toEqual(offsets.map((row) => all[row]));
    }
    const filtered = await (await ns.queryTable({ id, filter: "_rowoffset IN (5, 30000)" })).toArray();
    expect(filtered.map((row) => ({ ...row }))).toEqual([all[5], all[30_000]]);
  });
});
