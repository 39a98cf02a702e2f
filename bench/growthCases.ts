/** Operations whose time grows with something, and the sizes at which it is measured. */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Float64, Table, Vector } from "apache-arrow";
import type { DirectoryNamespace, TableHandle } from "tiltyard";
import { type ColumnName, makeRows } from "./data.js";
import { openTiltyard, tiltyardTable } from "./sides.js";
import { textRows } from "./textData.js";
import { rowsFrom as vectorRows } from "./vectorData.js";

export const AXES = ["rows", "fragments", "versions", "tables", "columns", "branches", "processes"] as const;
type GrowthAxis = (typeof AXES)[number];

/** Work that other processes did for an operation. */
export class OtherProcesses {
  constructor(readonly cpuMilliseconds: number) {}
}

/** Work of a program on table `t`, or on the namespace around it. */
type Operation = (table: TableHandle, ns: DirectoryNamespace, size: number) => Promise<unknown>;

/** An operation that changes the table, which is brought back to where it was before each run. */
interface Changing {
  readonly change: Operation;
  /** Untimed. Default: the version that was made is restored. */
  readonly undo?: Operation;
}

/** Operations on the same data. */
export interface GrowthGroup {
  readonly axis: GrowthAxis;
  readonly sizes: readonly number[];
  /** Makes table `t`. */
  make(table: TableHandle, size: number, ns: DirectoryNamespace): Promise<unknown>;
  readonly operations: Readonly<Record<string, Operation | Changing>>;
}

const built = async (table: TableHandle, job: Promise<{ jobId: string }>): Promise<void> => {
  const { state, error } = await table.waitForJob(await job);
  if (state !== "Succeeded") throw new Error(`a build ended as ${state}`, { cause: error });
};
const withoutIndexes: Operation = async (table) => {
  for (const { indexName } of await table.indexes()) await table.dropIndex(indexName);
};
const drained = async (batches: AsyncIterable<{ readonly numRows: number }>): Promise<void> => {
  for await (const { numRows } of batches) if (numRows < 0) throw new Error("a batch of fewer than no rows");
};
const openAndDescribe: Operation = async (_, ns) => {
  const fresh = openTiltyard(ns.root);
  await fresh.describeTable({ id: ["t"] });
  await fresh.close();
};
const rowsOf = (count: number, columns: readonly ColumnName[] = ["id", "score", "label"], seed = 1): Table =>
  tiltyardTable(makeRows(count, seed, columns));
/** Fragments of the tables whose rows grow, so that a compaction has some to merge. */
const FRAGMENTS = 8;
const ROWS = [10_000, 100_000, 1_000_000, 4_000_000];
const rows: GrowthGroup = {
  axis: "rows",
  sizes: ROWS,
  async make(table, size) {
    await table.create(rowsOf(Math.ceil(size / FRAGMENTS)));
    for (let seed = 2; seed <= FRAGMENTS; seed++) {
      await table.insert(rowsOf(Math.ceil(size / FRAGMENTS), undefined, seed));
    }
  },
  operations: {
    "full scan": (table) => drained(table.scan()),
    filter: (table) => drained(table.scan({ filter: "score < 0.01" })),
    "sort of all rows": (table) => drained(table.scan({ columns: ["score"], orderBy: "score" })),
    "build of a BTREE": {
      change: (table) => built(table, table.createIndex("id", { indexType: "BTREE" })),
      undo: withoutIndexes,
    },
    "delete of 1 %": { change: (table) => table.delete("score < 0.01") },
    "update of 1 %": { change: (table) => table.update({ where: "score < 0.01", values: { score: 0 } }) },
    compaction: { change: (table) => table.optimize() },
  },
};

const lookups: GrowthGroup = {
  axis: "rows",
  sizes: ROWS,
  async make(table, size) {
    await table.create(rowsOf(size));
    await built(table, table.createIndex("id", { indexType: "BTREE" }));
  },
  operations: {
    "upsert of 1 row by key": {
      // The row has the id of the table's first.
      change: (table) =>
        table.mergeInsert("id", rowsOf(1), { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true }),
    },
  },
};

const texts: GrowthGroup = {
  axis: "rows",
  sizes: [5_000, 20_000, 80_000, 320_000],
  make: (table, size) => table.create(textRows(0, size)),
  operations: {
    "build of a text index": {
      change: (table) => built(table, table.createIndex("text", { indexType: "FTS" })),
      undo: withoutIndexes,
    },
  },
};

const vectors: GrowthGroup = {
  axis: "rows",
  sizes: [5_000, 20_000, 80_000],
  make: (table, size) => table.create(vectorRows(0, size)),
  operations: {
    "build of IVF_HNSW_SQ": {
      change: (table) => built(table, table.createIndex("v", { indexType: "IVF_HNSW_SQ", numPartitions: 1 })),
      undo: withoutIndexes,
    },
  },
};

const fragments: GrowthGroup = {
  axis: "fragments",
  sizes: [100, 400, 1_600, 6_400],
  async make(table, size, ns) {
    await table.create(rowsOf(10));
    for (let made = 1; made < size; made++) await table.insert(rowsOf(10, undefined, made + 1));
    await ns.cleanupTable({ id: ["t"], olderThanMs: 0 });
  },
  operations: {
    "open and describe": openAndDescribe,
    "full scan": (table) => drained(table.scan()),
    count: (table) => table.countRows("score < 0.5"),
    "append 1 row": { change: (table) => table.insert(rowsOf(1)) },
    "delete of 10 %": { change: (table) => table.delete("score < 0.1") },
    compaction: { change: (table) => table.optimize() },
  },
};

const versions: GrowthGroup = {
  axis: "versions",
  sizes: [100, 400, 1_600, 6_400],
  async make(table, size) {
    await table.create(rowsOf(10));
    for (let version = 1; version < size; version++) await table.restore(1);
  },
  operations: {
    "open and describe": openAndDescribe,
    "list of versions": (table) => table.versions(),
    // Each run leaves a version more, which is few beside those that there are.
    "append 1 row": (table) => table.insert(rowsOf(1)),
  },
};

const columnsOf = (count: number): Table =>
  new Table(
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`c${index}`, new Vector([...vectorOfFloats(index).data])]),
    ),
  );
const vectorOfFloats = (seed: number): Vector<Float64> =>
  tiltyardTable(makeRows(100, seed + 1, ["score"])).getChildAt(0) as Vector<Float64>;

const columns: GrowthGroup = {
  axis: "columns",
  sizes: [30, 120, 480, 1_920],
  make: (table, size) => table.create(columnsOf(size)),
  operations: {
    "full scan": (table) => drained(table.scan()),
    "open and describe": openAndDescribe,
    "add a column by SQL": { change: (table) => table.addColumns([{ name: "twice", expression: "c0 * 2" }]) },
  },
};

const branches: GrowthGroup = {
  axis: "branches",
  sizes: [50, 200, 800, 3_200],
  async make(table, size) {
    await table.create(rowsOf(10));
    for (let made = 0; made < size; made++) await table.createBranch(`b${made}`);
  },
  operations: {
    "list of branches": (table) => table.branches(),
    "create and delete a branch": async (table) => {
      await table.createBranch("more");
      await table.deleteBranch("more");
    },
    cleanup: (table) => table.cleanup({ olderThanMs: 0 }),
  },
};

const tables: GrowthGroup = {
  axis: "tables",
  sizes: [50, 200, 800, 3_200],
  async make(table, size, ns) {
    await table.create(rowsOf(1));
    await ns.createNamespace({ id: ["n"] });
    for (let made = 0; made < size; made++) await ns.createTable({ id: ["n", `t${made}`] }, rowsOf(1));
  },
  operations: {
    "list of tables": (_, ns) => ns.listTables({ id: ["n"] }),
    "describe a table": (_, ns) => ns.describeTable({ id: ["n", "t1"] }),
    "create and drop a table": async (_, ns) => {
      await ns.createTable({ id: ["n", "more"] }, rowsOf(1));
      await ns.dropTable({ id: ["n", "more"] });
    },
  },
};

const COMMITTER = fileURLToPath(new URL("./committer.js", import.meta.url));
const COMMITS = 40;
let committers: ChildProcess[] = [];
const processes: GrowthGroup = {
  axis: "processes",
  sizes: [1, 2, 4, 8],
  make: (table) => table.create(rowsOf(1, ["id", "score"])),
  operations: {
    [`${COMMITS} appends of each`]: {
      async undo(table, ns, size) {
        await table.create(rowsOf(1, ["id", "score"]), { mode: "Overwrite" });
        committers = Array.from({ length: size }, () => fork(COMMITTER, ["none", ns.root, String(COMMITS)]));
        await Promise.all(committers.map((committer) => once(committer, "message")));
        // The last ones are never told to go, and must not keep this process.
        for (const committer of committers) {
          committer.unref();
          committer.channel?.unref();
        }
      },
      async change() {
        const ends = committers.map((committer) => once(committer, "message"));
        for (const committer of committers) {
          committer.channel?.ref();
          committer.send("go");
        }
        const reports = (await Promise.all(ends)) as [{ cpuMilliseconds: number }][];
        return new OtherProcesses(reports.reduce((sum, [{ cpuMilliseconds }]) => sum + cpuMilliseconds, 0));
      },
    },
  },
};

export const GROWTH_GROUPS: readonly GrowthGroup[] = [
  rows,
  lookups,
  texts,
  vectors,
  fragments,
  versions,
  tables,
  columns,
  branches,
  processes,
];
