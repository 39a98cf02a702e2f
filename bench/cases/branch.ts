/**
 * Making and deleting a branch of a table of many fragments, whose first version names the files of all of
 * them; and cleaning up beside many branches.
 */

import { cp } from "node:fs/promises";
import { join } from "node:path";
import type { BenchCase, PreparedCase, Side } from "../case.js";
import { makeRows } from "../data.js";
import { openReference, openTiltyard, tiltyardTable } from "../sides.js";

const id = ["t"];
const NAME = "bench/branch";
const FRAGMENTS = 100;

/** Work of each side on its own table. */
interface Branches {
  create(): Promise<unknown>;
  delete(): Promise<unknown>;
  close(): Promise<void>;
}

async function openOurs(root: string, durability: "none" | "fsync"): Promise<Branches> {
  const ns = openTiltyard(root, durability);
  return {
    create: () => ns.createTableBranch({ id, name: NAME }),
    delete: () => ns.deleteTableBranch({ id, name: NAME }),
    close: () => ns.close(),
  };
}

async function openTheirs(root: string): Promise<Branches> {
  const connection = await openReference(root);
  const table = await connection.openTable("t");
  const branches = await table.branches();
  return {
    create: async () => (await branches.create(NAME)).close(),
    delete: () => branches.delete(NAME),
    async close() {
      table.close();
      connection.close();
    },
  };
}

/** Every run finds the table as the one before found it. */
function branchCase(name: string, sideOf: (branches: Branches) => Omit<Side, "name">): BenchCase {
  return {
    area: "catalog",
    name: `${name}, ${FRAGMENTS} fragments`,
    rounds: { small: 2, large: 200 },
    async prepare(directory, size): Promise<PreparedCase> {
      const template = join(directory, "template");
      const ns = openTiltyard(template);
      const rows = tiltyardTable(makeRows(1, 1, ["id", "score"]));
      await ns.createTable({ id }, rows);
      for (let fragment = 1; fragment < (size === "large" ? FRAGMENTS : 3); fragment++) {
        await ns.insertIntoTable({ id }, rows);
      }
      await ns.close();
      const rootOf = async (root: string) => {
        await cp(template, join(directory, root), { recursive: true });
        return join(directory, root);
      };
      const plain = await openOurs(await rootOf("none"), "none");
      const synced = await openOurs(await rootOf("fsync"), "fsync");
      const reference = await openTheirs(await rootOf("reference"));
      return {
        work: { amount: 1, unit: "calls" },
        sides: [
          { name: "tiltyard", ...sideOf(plain) },
          { name: "tiltyard, fsync", ...sideOf(synced) },
          { name: "reference", ...sideOf(reference) },
        ],
        async close() {
          for (const side of [plain, synced, reference]) await side.close();
        },
      };
    },
  };
}

const create = branchCase("create a branch", (branches) => {
  let isThere = false;
  return {
    async reset() {
      if (isThere) await branches.delete();
    },
    async run() {
      await branches.create();
      isThere = true;
    },
  };
});

const remove = branchCase("delete a branch", (branches) => ({
  async reset() {
    await branches.create();
  },
  async run() {
    await branches.delete();
  },
}));

const BRANCHES = 1000;

/** Cleanup of a table that has nothing to remove, but many branches and tags that name its files. */
const cleanup: BenchCase = {
  area: "catalog",
  name: `cleanup beside ${BRANCHES.toLocaleString("en")} branches and tags`,
  rounds: { small: 2, large: 10 },
  async prepare(directory, size): Promise<PreparedCase> {
    const root = join(directory, "tables");
    const ns = openTiltyard(root);
    await ns.createTable({ id }, tiltyardTable(makeRows(1, 1, ["id", "score"])));
    for (let index = 0; index < (size === "large" ? BRANCHES : 5); index++) {
      await ns.createTableBranch({ id, name: `branch${index}` });
      await ns.createTableTag({ id, tag: `tag${index}`, version: 1 });
    }
    const connection = await openReference(root);
    const table = await connection.openTable("t");
    return {
      work: { amount: 1, unit: "calls" },
      sides: [
        {
          name: "tiltyard",
          async run() {
            await ns.cleanupTable({ id });
          },
        },
        {
          name: "reference",
          async run() {
            // The epoch: no version is old enough to be removed.
            await table.optimize({ cleanupOlderThan: new Date(0) });
          },
        },
      ],
      async close() {
        await ns.close();
        connection.close();
      },
    };
  },
};

export const branchCases: readonly BenchCase[] = [create, remove, cleanup];
