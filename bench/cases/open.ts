/** Existence, description, and finding the latest of many versions. */

import { join } from "node:path";
import type { BenchCase } from "../case.js";
import { makeRows } from "../data.js";
import { makeFragments } from "../fragments.js";
import { openReference, openTiltyard, tiltyardTable } from "../sides.js";

const TABLE = { id: ["t"] };

const exists: BenchCase = {
  area: "open",
  name: "table exists",
  rounds: { small: 5, large: 300 },
  async prepare(directory) {
    const root = join(directory, "tables");
    const ns = openTiltyard(root);
    await ns.createTable(TABLE, tiltyardTable(makeRows(100, 1)));
    const reference = await openReference(root);
    return {
      work: { amount: 1, unit: "calls" },
      sides: [
        { name: "tiltyard", run: () => ns.tableExists(TABLE) },
        {
          name: "reference",
          async run() {
            (await reference.openTable("t")).close();
          },
        },
      ],
      async close() {
        await ns.close();
        reference.close();
      },
    };
  },
};

const describe: BenchCase = {
  area: "open",
  name: "describe (version, schema)",
  rounds: { small: 5, large: 300 },
  async prepare(directory) {
    const root = join(directory, "tables");
    const ns = openTiltyard(root);
    await ns.createTable(TABLE, tiltyardTable(makeRows(100, 1)));
    const reference = await openReference(root);
    return {
      work: { amount: 1, unit: "calls" },
      sides: [
        {
          name: "tiltyard",
          async run() {
            await ns.describeTable(TABLE);
          },
        },
        {
          name: "reference",
          async run() {
            const table = await reference.openTable("t");
            await table.version();
            await table.schema();
            table.close();
          },
        },
      ],
      async close() {
        await ns.close();
        reference.close();
      },
    };
  },
};

/**
 * The version number of a table with many versions, by an engine (a connection) that never saw the table, and
 * by one that did. All versions have the same content, so that their number is all that grows.
 */
function latestVersion(versionCount: number): BenchCase {
  return {
    area: "open",
    name: `latest of ${versionCount.toLocaleString("en")} versions`,
    rounds: { small: 3, large: 60 },
    async prepare(directory, size) {
      const root = join(directory, "tables");
      const count = size === "large" ? versionCount : Math.min(40, versionCount);
      const ns = openTiltyard(root);
      await ns.createTable(TABLE, tiltyardTable(makeRows(100, 1)));
      for (let version = 2; version <= count; version++) await ns.restoreTable({ ...TABLE, version: 1 });
      return {
        work: { amount: 1, unit: "calls" },
        sides: [
          {
            name: "tiltyard",
            async run() {
              const fresh = openTiltyard(root);
              expectVersion((await fresh.describeTable(TABLE)).version, count);
              await fresh.close();
            },
          },
          {
            name: "tiltyard, warm",
            async run() {
              expectVersion((await ns.describeTable(TABLE)).version, count);
            },
          },
          {
            name: "reference",
            async run() {
              const reference = await openReference(root);
              const table = await reference.openTable("t");
              expectVersion(await table.version(), count);
              table.close();
              reference.close();
            },
          },
        ],
        close: () => ns.close(),
      };
    },
  };
}

const FRAGMENTS = 2000;

/** Version and schema of a table of many fragments, by engines (connections) that never saw it. */
const manyFragments: BenchCase = {
  area: "open",
  name: `describe a table of ${FRAGMENTS.toLocaleString("en")} fragments, opened anew`,
  rounds: { small: 3, large: 100 },
  async prepare(directory, size) {
    const root = join(directory, "tables");
    await makeFragments(root, size === "large" ? FRAGMENTS : 5, 1, ["id", "score"]);
    return {
      work: { amount: 1, unit: "calls" },
      sides: [
        {
          name: "tiltyard",
          async run() {
            const fresh = openTiltyard(root);
            await fresh.describeTable(TABLE);
            await fresh.close();
          },
        },
        {
          name: "reference",
          async run() {
            const reference = await openReference(root);
            const table = await reference.openTable("t");
            await table.version();
            await table.schema();
            table.close();
            reference.close();
          },
        },
      ],
      async close() {},
    };
  },
};

function expectVersion(actual: number | undefined, expected: number): void {
  if (actual !== expected) throw new Error(`the latest version is ${actual} instead of ${expected}`);
}

export const openCases: readonly BenchCase[] = [
  exists,
  describe,
  latestVersion(10),
  latestVersion(1_000),
  latestVersion(10_000),
  manyFragments,
];
