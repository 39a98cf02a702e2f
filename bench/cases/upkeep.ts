/**
 * Compaction of many small fragments, and the removal of old versions that the reference's goes along with.
 */

import { cp, link, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { BenchCase, Side } from "../case.js";
import { type ColumnName, makeRows } from "../data.js";
import { makeFragments } from "../fragments.js";
import { openReference, openTiltyard, tiltyardTable } from "../sides.js";

function compaction(fragmentRows: number, label: string, columns: readonly ColumnName[]): BenchCase {
  return {
    area: "write",
    name: `compaction of 500 fragments of ${fragmentRows} rows: ${label}`,
    // Nothing is collected first: a run takes 0.2 s, and a collection drops compiled code that each run would
    // then make again.
    rounds: { small: 1, large: 9 },
    async prepare(directory, size) {
      const [fragments, rowCount] = size === "large" ? [500, fragmentRows] : [5, 10];
      const template = join(directory, "template");
      await makeFragments(template, fragments, rowCount, columns);
      const rows = fragments * rowCount;
      return {
        work: { amount: rows, unit: "rows" },
        sides: [
          tiltyardSide("tiltyard", directory, "none", rows),
          tiltyardSide("tiltyard, fsync", directory, "fsync", rows),
          referenceSide(directory, rows),
        ],
        async close() {},
      };
    },
  };
}

/** A table of its own for each run. */
async function resetTable(directory: string, root: string): Promise<void> {
  await rm(root, { recursive: true, force: true });
  await cp(join(directory, "template"), root, { recursive: true });
}

function tiltyardSide(
  name: Side["name"],
  directory: string,
  durability: "fsync" | "none",
  rows: number,
): Side {
  const root = join(directory, durability);
  return {
    name,
    reset: () => resetTable(directory, root),
    async run() {
      const ns = openTiltyard(root, durability);
      const { fragmentsAdded } = await ns.optimizeTable({ id: ["t"] });
      await ns.cleanupTable({ id: ["t"] });
      expectCompacted(fragmentsAdded, await ns.countTableRows({ id: ["t"] }), rows);
      await ns.close();
    },
  };
}

function referenceSide(directory: string, rows: number): Side {
  const root = join(directory, "reference");
  return {
    name: "reference",
    reset: () => resetTable(directory, root),
    async run() {
      const connection = await openReference(root);
      const table = await connection.openTable("t");
      const { compaction } = await table.optimize();
      expectCompacted(compaction.fragmentsAdded, await table.countRows(), rows);
      connection.close();
    },
  };
}

function expectCompacted(fragmentsAdded: number, actual: number, expected: number): void {
  if (fragmentsAdded !== 1) throw new Error(`${fragmentsAdded} fragments instead of one`);
  if (actual !== expected) throw new Error(`${actual} rows after the compaction instead of ${expected}`);
}

/** Appends between two compactions of a table that is to be cleaned up. */
const COMPACTION_STRIDE = 100;

/**
 * Removal of many versions that each append made, behind a compaction, so that the reference has none to do.
 * Each side is handed names of the same files: none of them is written to, and that takes less than to make
 * them again.
 */
const cleanup: BenchCase = {
  area: "write",
  name: "cleanup of 10,000 versions of a row each",
  rounds: { small: 1, large: 1 },
  collectFirst: true,
  async prepare(directory, size) {
    const versions = size === "large" ? 10_000 : 20;
    const template = join(directory, "template");
    const ns = openTiltyard(template);
    const rows = tiltyardTable(makeRows(1, 0, ["id", "score"]));
    await ns.createTable({ id: ["t"] }, rows);
    for (let version = 1; version < versions; version++) {
      await ns.insertIntoTable({ id: ["t"] }, rows);
      // As tables are that get so many: manifests of thousands of fragments each would take hours to make.
      if (version % COMPACTION_STRIDE === 0) await ns.optimizeTable({ id: ["t"] });
    }
    await ns.optimizeTable({ id: ["t"] });
    await ns.close();
    const ours = (name: Side["name"], durability: "fsync" | "none"): Side => {
      const root = join(directory, durability);
      return {
        name,
        reset: () => linkTree(template, root),
        async run() {
          const side = openTiltyard(root, durability);
          const { versionsRemoved } = await side.cleanupTable({ id: ["t"], olderThanMs: 0 });
          await side.close();
          // A compaction reserves ids by a version of its own.
          if (versionsRemoved < versions) throw new Error(`only ${versionsRemoved} versions were removed`);
        },
      };
    };
    const root = join(directory, "reference");
    const reference: Side = {
      name: "reference",
      reset: () => linkTree(template, root),
      async run() {
        const connection = await openReference(root);
        const table = await connection.openTable("t");
        const { prune } = await table.optimize({ cleanupOlderThan: new Date(), deleteUnverified: true });
        connection.close();
        if (prune.oldVersionsRemoved < versions) {
          throw new Error(`only ${prune.oldVersionsRemoved} versions were removed`);
        }
      },
    };
    return {
      work: { amount: versions, unit: "commits" },
      sides: [ours("tiltyard", "none"), ours("tiltyard, fsync", "fsync"), reference],
      async close() {},
    };
  },
};

/** Lays a directory out once more, of the same files. */
async function linkTree(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await mkdir(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    await (entry.isDirectory() ? linkTree(source, target) : link(source, target));
  }
}

export const upkeepCases: readonly BenchCase[] = [
  compaction(1000, "id, score, label", ["id", "score", "label"]),
  compaction(200, "four columns", ["id", "score", "label", "embedding"]),
  cleanup,
];
