/** Merges while others change the table: the outcome equals that of the changes in some order. */

import { Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import { ConcurrentModificationError, DirectoryNamespace } from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { runsOf } from "../support/effort.js";
import { type EngineStep, raceEngines } from "../support/engineWorker.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";
import { wrapDisk } from "../support/wrappedDisk.js";

const tableOf = (ids: readonly number[], n: (id: number) => number = () => 0): Table =>
  new Table({ id: vectorFromArray(ids, new Int32()), n: vectorFromArray(ids.map(n), new Int32()) });

const bytesOf = (ids: readonly number[], n?: (id: number) => number): Uint8Array =>
  tableToIPC(tableOf(ids, n));

const id = ["t"];
const UPSERT = { id, on: "id", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };

let root: string;
let namespace: DirectoryNamespace;
beforeEach(async () => {
  root = await makeTempDir();
  namespace = new DirectoryNamespace({ root, durability: "none" });
  await namespace.createTable({ id }, tableOf([0, 1, 2]));
  await namespace.insertIntoTable({ id }, tableOf([3, 4, 5]));
});
afterEach(() => namespace.close());

async function contentOf(): Promise<Map<number, number>> {
  const rows = (await namespace.table("t").scan().toArrow()).toArray();
  const content = new Map(rows.map((row) => [row.id as number, row.n as number] as const));
  expect(content.size).toBe(rows.length);
  return new Map([...content].sort(([a], [b]) => a - b));
}

describe("a merge whose source waits while another writer commits", () => {
  /** Updates 1 and 4, and adds 7. */
  const merge = (meanwhile: () => Promise<unknown>) =>
    namespace.mergeInsertIntoTable(
      UPSERT,
      (async function* () {
        yield tableOf([1, 7], () => 10).batches[0];
        await meanwhile();
        yield tableOf([4], () => 10).batches[0];
      })(),
    );

  const clauses = { ...UPSERT, whenNotMatchedBySourceDelete: false };
  /** Title, change, and the rows after it and the merge as `id:n`; null if the merge is refused. */
  const cases: readonly (readonly [string, () => Promise<unknown>, string | null])[] = [
    ["appends", () => namespace.insertIntoTable({ id }, tableOf([8])), "0:0 1:10 2:0 3:0 4:10 5:0 7:10 8:0"],
    [
      "deletes a row that it updates",
      () => namespace.deleteFromTable({ id, predicate: "id = 1" }),
      "0:0 1:10 2:0 3:0 4:10 5:0 7:10",
    ],
    [
      "deletes another row",
      () => namespace.deleteFromTable({ id, predicate: "id = 5" }),
      "0:0 1:10 2:0 3:0 4:10 7:10",
    ],
    [
      "updates rows",
      () => namespace.updateTable({ id, updates: [["n", "n + 1"]] }),
      "0:1 1:10 2:1 3:1 4:10 5:1 7:10",
    ],
    [
      "adds the same row",
      () =>
        namespace.mergeInsertIntoTable(
          clauses,
          tableOf([7], () => 5),
        ),
      "0:0 1:10 2:0 3:0 4:10 5:0 7:10",
    ],
    [
      "is the reference",
      () => reference.updateRows(root, "t", { n: "n + 1" }, "id > 0"),
      "0:0 1:10 2:1 3:1 4:10 5:1 7:10",
    ],
    ["compacts", () => namespace.optimizeTable({ id }), "0:0 1:10 2:0 3:0 4:10 5:0 7:10"],
    [
      "replaces all rows",
      () => namespace.insertIntoTable({ id, mode: "overwrite" }, tableOf([9])),
      "1:10 4:10 7:10 9:0",
    ],
    [
      "adds a column",
      () =>
        namespace.alterTableAddColumns({ id, newColumns: [{ name: "x", expression: "CAST(NULL AS INT)" }] }),
      null,
    ],
    [
      "drops the table and makes another",
      async () => {
        await namespace.dropTable({ id });
        await namespace.createTable({ id }, tableOf([9]));
      },
      null,
    ],
  ];

  it.each(cases)("%s", async (_, meanwhile, expected) => {
    let before = new Map<number, number>();
    const merged = merge(async () => {
      await meanwhile();
      before = await contentOf();
    });
    if (expected === null) {
      await expect(merged).rejects.toBeInstanceOf(ConcurrentModificationError);
      expect(await contentOf()).toEqual(before);
      return;
    }
    const expectRows = async () =>
      expect(Array.from(await contentOf(), ([row, n]) => `${row}:${n}`).join(" ")).toBe(expected);
    await merged;
    await expectRows();
    await namespace.cleanupTable({ id, olderThanMs: 0 });
    await expectRows();
  });
});

describe("a merge that is planned again", () => {
  /** Merges a source of two parts, while another writer updates rows between them. */
  async function mergedAgain(
    stableRowIds: boolean,
    names: readonly ("id" | "n" | "x")[],
  ): Promise<Map<number, string>> {
    const table = ["again"];
    const three = (n: number, x: number) =>
      new Table({
        id: vectorFromArray([1, 2, 3], new Int32()),
        n: vectorFromArray([n, n, n], new Int32()),
        x: vectorFromArray([x, x, x], new Int32()),
      });
    await namespace.createTable({ id: table, stableRowIds }, three(0, 0));
    const source = three(10, 10).select([...names]);
    await namespace.mergeInsertIntoTable(
      { id: table, on: "id", whenMatchedUpdateAll: true },
      (async function* () {
        yield source.slice(0, 1).batches[0];
        await namespace.updateTable({ id: table, updates: [["x", "x + 1"]] });
        yield source.slice(1).batches[0];
      })(),
    );
    const rows = (await namespace.table("again").scan().toArrow()).toArray();
    return new Map(rows.map(({ id, n, x }) => [id as number, `${n} ${x}`]));
  }

  it.each([false, true])("has the values of its source, with stable row ids: %s", async (stableRowIds) => {
    expect(new Set((await mergedAgain(stableRowIds, ["id", "n", "x"])).values())).toEqual(new Set(["10 10"]));
  });

  it.each([false, true])("keeps other columns as they are, with stable row ids: %s", async (stableRowIds) => {
    expect(new Set((await mergedAgain(stableRowIds, ["id", "n"])).values())).toEqual(new Set(["10 1"]));
  });
});

it("an update sees the rows of a merge that missed an append, if it saw that append", async () => {
  let reach = (): void => undefined;
  let release = (): void => undefined;
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const merged = new Promise<void>((resolve) => {
    release = resolve;
  });
  const disk = wrapDisk(new NodeDisk({ durability: "none" }), async ({ verb, path, make }) => {
    if (verb === "create" && path.includes("data")) {
      reach();
      await merged;
    }
    return make();
  });
  await using held = new DirectoryNamespace({ root, disk });
  let updating: Promise<unknown> = Promise.resolve();
  await namespace.mergeInsertIntoTable(
    UPSERT,
    (async function* () {
      yield tableOf([9], () => 10).batches[0];
      await namespace.insertIntoTable({ id }, tableOf([9]));
      updating = held.updateTable({ id, predicate: "id = 9", updates: [["n", "n + 1"]] });
      await Promise.race([reached, updating]);
    })(),
  );
  release();
  await updating;
  const rows = (await namespace.table("t").scan({ filter: "id = 9" }).toArrow()).toArray();
  // The merge, the append, the update: in this order only, both rows can be there.
  expect(rows.map(({ n }) => n as number).sort((a, b) => a - b)).toEqual([1, 11]);
});

const PROCESSES = 3;
const MERGES = runsOf("RACE_MERGES", 12);

describe("processes that merge at once", () => {
  it("win each number of a counter once", async () => {
    const steps = Array.from({ length: MERGES }, (_, index): EngineStep => {
      const isNext = { ...UPSERT, whenMatchedUpdateAllFilt: "target.n = source.n - 1" };
      return ["mergeInsertIntoTable", isNext, bytesOf([1], () => index + 1)];
    });
    const outcomes = await raceEngines(Array.from({ length: PROCESSES }, () => ({ root, steps })));
    const won: number[] = [];
    for (const process of outcomes) {
      for (const [index, outcome] of process.entries()) {
        if ("type" in outcome) expect(outcome.type, outcome.message).toBe("ConcurrentModification");
        if (!("ok" in outcome)) continue;
        const { numUpdatedRows, numInsertedRows } = outcome.ok as Record<string, number>;
        expect(numInsertedRows).toBe(0);
        if (numUpdatedRows === 1) won.push(index + 1);
      }
    }
    expect(won.sort((a, b) => a - b)).toEqual(Array.from({ length: won.length }, (_, index) => index + 1));
    expect((await contentOf()).get(1)).toBe(won.length);
  }, 120_000);

  it("add each row once", async () => {
    const steps = Array.from(
      { length: MERGES },
      (_, index): EngineStep => ["mergeInsertIntoTable", UPSERT, bytesOf([100 + index, 1])],
    );
    const outcomes = await raceEngines(Array.from({ length: PROCESSES }, () => ({ root, steps })));
    let inserted = 0;
    for (const outcome of outcomes.flat()) {
      if ("type" in outcome) expect(outcome.type, outcome.message).toBe("ConcurrentModification");
      if ("ok" in outcome) inserted += (outcome.ok as Record<string, number>).numInsertedRows;
    }
    // `contentOf` distinguishes rows by their id.
    expect((await contentOf()).size).toBe(6 + inserted);
  }, 120_000);
});
