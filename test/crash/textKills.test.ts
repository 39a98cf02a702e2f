/** Kills a process that builds or updates a text index, while another resumes; searches must stay right. */

import { Table, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { runsOf } from "../support/effort.js";
import { withReference } from "../support/indexedTable.js";
import { killIndexWork } from "./indexKillLoop.js";

const KILLS = runsOf("TEXT_KILLS", 6);
const ROWS = 8000;
const id = ["t"];

/** Returns texts with a unique word, a word of every seventh text, and a word of all texts. */
const rowsFrom = (first: number) =>
  new Table({
    t: vectorFromArray(
      Array.from({ length: ROWS }, (_, index) => {
        const row = first + index;
        return `own${row} kind${row % 7} every ${"filler ".repeat(row % 30)} end${row % 100}`;
      }),
      new Utf8(),
    ),
  });

async function check(root: string, _: object, rowCount: number, where: string): Promise<void> {
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  const table = ns.table(id);
  expect(await table.countRows(), where).toBe(rowCount);
  const count = async (text: string): Promise<number> =>
    (await table.search({ fullTextQuery: { stringQuery: { query: text, columns: ["t"] } } }).toArrow())
      .numRows;
  expect(await count("own17"), where).toBe(1);
  expect(await count(`own${rowCount - 1}`), where).toBe(1);
  expect(await count("kind3"), where).toBe(
    Array.from({ length: rowCount }, (_, row) => row).filter((row) => row % 7 === 3).length,
  );
  expect(await count("every"), where).toBe(rowCount);
}

it(`builds of indexes of words resume after ${KILLS} kills`, async () => {
  await killIndexWork({
    kills: KILLS,
    killsOfTable: 3,
    maxDelayMs: 250,
    rows: ROWS,
    rowsFrom,
    kinds: [{ column: "t", indexType: "FTS", stem: false, withPosition: true }],
    check,
    async checkReference(root) {
      const seen = await withReference(root, "t", (table) =>
        table
          .query()
          .fullTextSearch("own4711", { columns: ["t"] })
          .limit(5)
          .toArray(),
      );
      expect(seen).toHaveLength(1);
    },
  });
});
