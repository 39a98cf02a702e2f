/** Other callers drop, replace or create a table while an insert reads its stream. */

import { rename, rm } from "node:fs/promises";
import type { RecordBatch } from "apache-arrow";
import {
  ConcurrentModificationError,
  DirectoryNamespace,
  NamespaceError,
  TableNotFoundError,
  TableVersionNotFoundError,
} from "tiltyard";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { copyTree } from "../support/copyTree.js";
import { directorySnapshot, tablesSnapshot } from "../support/directorySnapshot.js";
import { rowsOf } from "../support/intRows.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];

let root: string;
let ours: DirectoryNamespace;
let others: DirectoryNamespace;

beforeEach(async () => {
  root = await makeTempDir();
  ours = new DirectoryNamespace({ root, durability: "none" });
  others = new DirectoryNamespace({ root, durability: "none" });
});
afterEach(async () => {
  await ours.close();
  await others.close();
});

/** Yields batches 1, 2 and 3, and runs a function before one of them. */
async function* rowsAround(happens: () => Promise<unknown>, before: number): AsyncGenerator<RecordBatch> {
  for (let number = 1; number <= 3; number++) {
    if (number === before) await happens();
    yield rowsOf(number).batches[0];
  }
}
const read = async (): Promise<number[]> =>
  Array.from((await others.table(id).scan().toArrow()).getChild("v")?.toArray() ?? []);

describe.each([1, 3])("a change before batch %i", (before) => {
  const insertModes = ["append", "overwrite"] as const;
  it.each(insertModes)("a table made anew does not get the rows of an %s", async (mode) => {
    await ours.createTable({ id }, rowsOf(0));
    let made: Record<string, string> = {};
    const remake = async () => {
      await others.dropTable({ id });
      await others.createTable({ id }, rowsOf(9));
      made = await directorySnapshot(root);
    };
    await expect(ours.insertIntoTable({ id, mode }, rowsAround(remake, before))).rejects.toBeInstanceOf(
      ConcurrentModificationError,
    );
    expect(await directorySnapshot(root)).toEqual(made);
    expect(await read()).toEqual([9]);
  });

  it.each([
    "append",
    "overwrite",
  ] as const)("a table that is dropped stays so, whatever an %s writes", async (mode) => {
    await ours.createTable({ id }, rowsOf(0));
    const rows = rowsAround(() => others.dropTable({ id }), before);
    await expect(ours.insertIntoTable({ id, mode }, rows)).rejects.toBeInstanceOf(TableNotFoundError);
    expect(await tablesSnapshot(root)).toEqual({});
  });
});

it("a declared table that is dropped during its first insert stays dropped", async () => {
  await ours.declareTable({ id });
  const rows = rowsAround(() => others.dropTable({ id }), 3);
  await expect(ours.insertIntoTable({ id }, rows)).rejects.toBeInstanceOf(ConcurrentModificationError);
  expect(await tablesSnapshot(root)).toEqual({});
});

describe.each([1, 3])("a table that is restored from a copy before batch %i", (before) => {
  it.each(["append", "overwrite"] as const)("holds all rows of an acknowledged %s, or none", async (mode) => {
    const { location } = await ours.createTable({ id }, rowsOf(0));
    const putBack = async () => {
      // The copy has the data written so far, without the end of the file.
      await copyTree(location, `${location}.copy`);
      await rm(location, { recursive: true });
      await rename(`${location}.copy`, location);
    };
    const insertion = ours.insertIntoTable({ id, mode }, rowsAround(putBack, before));
    const outcome = await insertion.then(
      () => "done",
      (error) => {
        expect(error).toBeInstanceOf(ConcurrentModificationError);
        return "refused";
      },
    );
    const added = mode === "append" ? [0, 1, 2, 3] : [1, 2, 3];
    expect(await read()).toEqual(outcome === "done" ? added : [0]);
    expect(outcome).toBe(before === 1 ? "done" : "refused");
    await others.insertIntoTable({ id }, rowsOf(4));
    expect(await read()).toEqual([...(outcome === "done" ? added : [0]), 4]);
  });
});

describe("a table that another caller creates first", () => {
  const create = () => others.createTable({ id }, rowsOf(8, 9));

  it("mode ExistOk leaves the other table unchanged", async () => {
    expect(await ours.createTable({ id, mode: "ExistOk" }, rowsAround(create, 3))).toMatchObject({
      version: 1,
      numInsertedRows: 0,
    });
    expect(await read()).toEqual([8, 9]);
  });

  it("mode Overwrite replaces the rows of the other table", async () => {
    expect(await ours.createTable({ id, mode: "Overwrite" }, rowsAround(create, 3))).toMatchObject({
      version: 2,
      numInsertedRows: 3,
    });
    expect(await read()).toEqual([1, 2, 3]);
  });

  it.each([
    ["append", [8, 9, 1, 2, 3]],
    ["overwrite", [1, 2, 3]],
  ] as const)("after it was declared is what an %s finds", async (mode, expected) => {
    await ours.declareTable({ id });
    await ours.insertIntoTable({ id, mode }, rowsAround(create, 3));
    expect(await read()).toEqual(expected);
  });
});

describe("calls during a drop", () => {
  it("calls fail with a missing table, and never with a corrupt one", async () => {
    const calls = [
      () => ours.dropTable({ id }),
      () => others.dropTable({ id }),
      () => ours.createTable({ id }, rowsOf(1)),
      () => others.createTable({ id, mode: "Overwrite" }, rowsOf(2)),
      () => ours.insertIntoTable({ id }, rowsOf(3)),
      () => others.getTableStats({ id }),
      () => ours.describeTable({ id }),
      () => others.table(id).scan().toArrow(),
    ];
    for (let round = 0; round < 40; round++) {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) => calls[(index * 3 + round) % calls.length]()),
      );
      for (const outcome of outcomes) {
        if (outcome.status === "fulfilled") continue;
        expect(outcome.reason).toBeInstanceOf(NamespaceError);
        expect([
          "TableNotFound",
          "TableVersionNotFound",
          "TableAlreadyExists",
          "ConcurrentModification",
        ]).toContain(outcome.reason.type);
        expect(outcome.reason.message).not.toContain("undefined");
      }
    }
  });

  it("an open query fails with a missing version", async () => {
    await ours.createTable({ id }, rowsOf(1));
    const query = await ours.queryTable({ id });
    await others.dropTable({ id });
    await others.createTable({ id }, rowsOf(2));
    await expect(query.toArrow()).rejects.toBeInstanceOf(TableVersionNotFoundError);
    expect(await read()).toEqual([2]);
  });
});
