/** Rows of computed columns are stale if the reference changes their inputs; a backfill renews them. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { Int32 } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { connect, type Table as ReferenceTable } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { runsOf, seedOf } from "../support/effort.js";
import { Random } from "../support/generators.js";
import { makeTempDir } from "../support/tempDir.js";

const HISTORIES = runsOf("COMPUTED_HISTORIES", 40);

interface Row {
  readonly id: number;
  readonly x: number | null;
  readonly y: number;
  readonly doubled: number | null;
  readonly next: number | null;
}

/** A table with `doubled`, computed from `x`, and `next`, computed from `doubled`. */
async function makeTable(stableRowIds = false, declares: "us" | "the reference" = "us") {
  const root = await makeTempDir();
  const functions = {
    successor: {
      version: "1",
      inputs: ["doubled"],
      output: new Int32(),
      row: ({ doubled }: Record<string, unknown>) => (doubled === null ? null : Number(doubled) + 1),
    },
  };
  const namespace = new DirectoryNamespace({ root, durability: "none", workers: 0, functions });
  const rows = Array.from({ length: 12 }, (_, id) => ({ id, x: id, y: 0 }));
  await namespace.createTable({ id: ["t"], stableRowIds }, rows);
  if (declares === "us") {
    const newColumns = [{ name: "doubled", computed: "x * 2" }];
    await namespace.alterTableAddColumns({ id: ["t"], newColumns });
  } else {
    await theirs(root, (table) =>
      table.addColumns({ computed: [{ name: "doubled", valueSql: "x * 2" }] } as never),
    );
  }
  const newColumns = [{ name: "next", virtualColumn: { udfName: "successor" } }];
  await namespace.alterTableAddColumns({ id: ["t"], newColumns });
  await fill(namespace);
  return { root, namespace };
}

async function theirs<T>(root: string, use: (table: ReferenceTable) => Promise<T>): Promise<T> {
  const connection = await connect(root, { readConsistencyInterval: 0 });
  try {
    return await use(await connection.openTable("t"));
  } finally {
    connection.close();
  }
}

async function fill(namespace: DirectoryNamespace, columns = ["doubled", "next"]): Promise<number[]> {
  const done: number[] = [];
  for (const column of columns) {
    const { jobId } = await namespace.alterTableBackfillColumns({ id: ["t"], column });
    const job = await namespace.waitForJob({ jobId });
    expect(job.state, JSON.stringify(job)).toBe("Succeeded");
    done.push(job.done);
  }
  return done;
}

const stale = async (namespace: DirectoryNamespace): Promise<Record<string, number>> => {
  const { columns } = await namespace.describeComputedColumns({ id: ["t"] });
  return Object.fromEntries(columns.map(({ column, staleRows }) => [column, staleRows]));
};

const rowsOf = async (namespace: DirectoryNamespace): Promise<Row[]> =>
  (await namespace.table(["t"]).scan().toArray()) as unknown as Row[];

const doubledOf = ({ x }: Row): number | null => (x === null ? null : x * 2);

async function expectRight(namespace: DirectoryNamespace): Promise<void> {
  for (const row of await rowsOf(namespace)) {
    const doubled = doubledOf(row);
    expect(row, JSON.stringify(row)).toMatchObject({ doubled, next: doubled === null ? null : doubled + 1 });
  }
}

describe.each(["us", "the reference"] as const)("a computed column declared by %s", (declares) => {
  it("is stale where the reference updates an input, and only there", async () => {
    const { root, namespace } = await makeTable(false, declares);
    expect(await stale(namespace)).toEqual({ doubled: 0, next: 0 });
    await theirs(root, (table) => table.update({ values: { y: 7 }, where: "id < 3" }));
    expect(await stale(namespace)).toEqual({ doubled: 0, next: 0 });
    await theirs(root, (table) => table.update({ values: { x: 50 }, where: "id IN (4, 5)" }));
    expect(await stale(namespace)).toEqual({ doubled: 2, next: 2 });
    const [{ staleFragments }] = (await namespace.describeComputedColumns({ id: ["t"] })).columns;
    expect(staleFragments).toHaveLength(1);
    await fill(namespace);
    await expectRight(namespace);
    expect(await stale(namespace)).toEqual({ doubled: 0, next: 0 });
    expect(await fill(namespace)).toEqual([0, 0]);
    await namespace.close();
  });

  it("keeps its stale rows through a compaction of the reference, and no others", async () => {
    const { root, namespace } = await makeTable(false, declares);
    await namespace.table(["t"]).delete("id = 1");
    await theirs(root, (table) => table.update({ values: { x: 50 }, where: "id IN (4, 5)" }));
    await theirs(root, (table) => table.update({ values: { y: 1 }, where: "id = 9" }));
    await theirs(root, (table) => table.optimize());
    expect(await stale(namespace)).toEqual({ doubled: 2, next: 2 });
    const [done] = await fill(namespace);
    expect(done).toBe(2);
    await expectRight(namespace);
    await namespace.close();
  });

  it("is stale after a refresh of the reference where that left wrong values", async () => {
    const { root, namespace } = await makeTable(false, declares);
    await theirs(root, (table) => table.update({ values: { x: 50 }, where: "id IN (4, 5)" }));
    await theirs(root, (table) =>
      (table as never as { refreshColumn(name: string): Promise<unknown> }).refreshColumn("doubled"),
    );
    // Without its own record of a refresh the reference computes rows without values only.
    const wrong = (await rowsOf(namespace)).filter((row) => row.doubled !== doubledOf(row)).length;
    expect((await stale(namespace)).doubled).toBe(wrong);
    expect((await stale(namespace)).next).toBeGreaterThanOrEqual(2);
    await fill(namespace);
    await expectRight(namespace);
    await namespace.close();
  });
});

describe("a computed column", () => {
  it("follows merges, deletes, appends and restores", async () => {
    const { root, namespace } = await makeTable();
    const table = namespace.table(["t"]);
    const version = (await namespace.describeTable({ id: ["t"] })).version as number;
    await theirs(root, (reference) => reference.delete("id = 2"));
    await theirs(root, (reference) => reference.update({ values: { x: 60 }, where: "id = 3" }));
    const outdated = (await namespace.describeTable({ id: ["t"] })).version as number;
    expect(await stale(namespace)).toEqual({ doubled: 1, next: 1 });
    await namespace.restoreTable({ id: ["t"], version });
    expect(await stale(namespace)).toEqual({ doubled: 0, next: 0 });
    await namespace.restoreTable({ id: ["t"], version: outdated });
    expect(await stale(namespace)).toEqual({ doubled: 1, next: 1 });
    // Moves the outdated row to another fragment.
    await table.update({ values: { y: 3 }, where: "id = 3" });
    expect((await stale(namespace)).doubled).toBe(1);
    await fill(namespace);
    await expectRight(namespace);
    await namespace.close();
  });

  it("is stale on a branch as where it came from", async () => {
    const { root, namespace } = await makeTable();
    await theirs(root, (table) => table.update({ values: { x: 60 }, where: "id = 3" }));
    await namespace.createTableBranch({ id: ["t"], name: "side" });
    const { columns } = await namespace.describeComputedColumns({ id: ["t"], branch: "side" });
    expect(columns.map(({ staleRows }) => staleRows)).toEqual([1, 1]);
    await namespace.close();
  });

  it("is stale where versions that would tell are gone, but in fragments that a backfill has recorded", async () => {
    const { root, namespace } = await makeTable();
    await theirs(root, (table) => table.update({ values: { x: 60 }, where: "id IN (3, 4)" }));
    await theirs(root, (table) => table.update({ values: { y: 60 }, where: "id = 8" }));
    await namespace.table(["t"]).insert([{ id: 20, x: 1, y: 1 }]);
    const { versions } = await namespace.listTableVersions({ id: ["t"] });
    const latest = Math.max(...versions.map((each) => each.version));
    for (const { version, manifestPath } of versions) {
      if (version < latest)
        rmSync(join(root, "t.lance", "_versions", manifestPath.split("/").at(-1) as string));
    }
    // Nothing records the two updates; the new row has no value.
    expect(await stale(namespace)).toEqual({ doubled: 4, next: 4 });
    await fill(namespace);
    await expectRight(namespace);
    expect(await stale(namespace)).toEqual({ doubled: 0, next: 0 });
    await namespace.close();
  });

  it("is right after a backfill, whatever both engines did before", async () => {
    const seed = seedOf(1717);
    for (let history = 0; history < HISTORIES; history++) {
      const random = new Random(seed + history);
      const { root, namespace } = await makeTable(
        history % 2 === 1,
        history % 3 === 0 ? "the reference" : "us",
      );
      const table = namespace.table(["t"]);
      const log: string[] = [];
      const filled = (await namespace.describeTable({ id: ["t"] })).version as number;
      let nextId = 100;
      const where = () => {
        const first = random.below(14);
        return `id >= ${first} AND id < ${first + 1 + random.below(5)}`;
      };
      const steps: Readonly<Record<string, () => Promise<unknown>>> = {
        theirUpdate: () =>
          theirs(root, (reference) =>
            reference.update({ values: { x: random.below(1000) }, where: where() }),
          ),
        theirUnrelatedUpdate: () =>
          theirs(root, (reference) => reference.update({ values: { y: random.below(9) }, where: where() })),
        theirAppend: () =>
          theirs(root, (reference) => reference.add([{ id: nextId++, x: random.below(99), y: 1 }] as never)),
        theirDelete: () => theirs(root, (reference) => reference.delete(`id = ${random.below(14)}`)),
        theirOptimize: () => theirs(root, (reference) => reference.optimize()),
        ourUpdate: () => table.update({ values: { x: random.below(1000) }, where: where() }),
        ourUnrelatedUpdate: () => table.update({ values: { y: random.below(9) }, where: where() }),
        ourCompaction: () => namespace.optimizeTable({ id: ["t"] }),
        ourFill: () => fill(namespace, ["doubled"]),
        ourMerge: () =>
          table.mergeInsert("id", [{ id: random.below(14), x: random.below(999), y: 2 }], {
            whenMatchedUpdateAll: true,
            whenNotMatchedInsertAll: true,
          }),
        ourRestore: async () => {
          const { versions } = await namespace.listTableVersions({ id: ["t"] });
          const since = versions.map((each) => each.version).filter((version) => version >= filled);
          return namespace.restoreTable({ id: ["t"], version: since[random.below(since.length)]! });
        },
      };
      const names = Object.keys(steps);
      try {
        for (let step = 0; step < 8; step++) {
          const name = names[random.below(names.length)]!;
          log.push(name);
          await steps[name]!();
        }
        const rows = await rowsOf(namespace);
        const wrong = rows.filter((row) => row.doubled !== doubledOf(row)).length;
        expect((await stale(namespace)).doubled).toBeGreaterThanOrEqual(wrong);
        await fill(namespace);
        await expectRight(namespace);
        expect(await stale(namespace)).toEqual({ doubled: 0, next: 0 });
      } catch (error) {
        throw new Error(`seed ${seed + history}: ${log.join(", ")}: ${(error as Error).message}`, {
          cause: error,
        });
      } finally {
        await namespace.close();
      }
    }
  });
});
