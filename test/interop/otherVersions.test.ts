import { Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import { CorruptFileError, UnsupportedError } from "tiltyard";
import { describe, expect, it } from "vitest";
import { int32s, listOf, utf8s } from "../support/arrowColumns.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { errorOf } from "../support/outcomes.js";
import { compareTables, reference } from "../support/reference.js";

const root = sharedDirectory();
const namespace = sharedNamespace({ root });
const rows = new Table({ i: int32s([1, 2, null]) });

async function failure(work: Promise<unknown>): Promise<UnsupportedError> {
  const error = await errorOf(work);
  expect(error).toBeInstanceOf(UnsupportedError);
  expect(error).not.toBeInstanceOf(CorruptFileError);
  return error as UnsupportedError;
}

describe("a table of version 2.3", () => {
  const create = (name: string, table: Table) =>
    reference.createTable(root, name, tableToIPC(table), { dataStorageVersion: "2.3" });

  it("is read where its pages are as those of 2.2, and not written", async () => {
    const numbers = Array.from({ length: 3_000 }, (_, row) => (row % 3 === 1 ? null : row % 97));
    const texts = numbers.map((number) => (number === null ? null : `text ${number % 5}`));
    const expected = new Table({
      numbers: int32s(numbers),
      texts: utf8s(texts),
    });
    await create("v2_3", expected);
    const table = namespace.table(["v2_3"]);
    compareTables(expected, await table.scan().toArrow());
    compareTables(expected.slice(2_000, 2_003), await table.take([2_000, 2_001, 2_002]));
    const { message } = await failure(namespace.insertIntoTable({ id: ["v2_3"] }, expected));
    expect(message).toMatch(/version 2\.3: newer than this release.*data storage version 2\.2/);
    expect(await reference.countRows(root, "v2_3")).toBe(3_000);
  });

  it("is read where runs are longer than those of 2.2", async () => {
    const runs = Array.from({ length: 100_000 }, (_, row) => (row < 90_000 ? row >> 10 : 1));
    const rare = runs.map((_, row) => (row % 5_000 < 2_500 ? null : row & 1));
    const expected = new Table({
      runs: int32s(runs),
      rare: int32s(rare),
    });
    await create("v2_3_runs", expected);
    compareTables(expected, await namespace.table(["v2_3_runs"]).scan().toArrow());
  });

  it("is refused where it has pages of the layout that is new in it", async () => {
    const items = Array.from({ length: 70_000 }, (_, item) => item);
    const type = listOf(new Int32());
    await create("v2_3_sparse", new Table({ lists: vectorFromArray([items, null, [1]], type) }));
    const { message } = await failure(namespace.table(["v2_3_sparse"]).scan().toArrow());
    expect(message).toMatch(/a layout that files have from version 2\.3 on/);
  });
});

describe("a table of version 0.1", () => {
  const says = /version 0\.1: the legacy format, which is read and not written/;

  it("is read, and refused by writes of rows", async () => {
    const name = "v0_1";
    await reference.createTable(root, name, tableToIPC(rows), { dataStorageVersion: "0.1" });
    const table = namespace.table([name]);
    expect((await table.scan().toArrow()).numRows).toBe(3);
    expect((await table.take([0])).numRows).toBe(1);
    expect((await failure(namespace.insertIntoTable({ id: [name] }, rows))).message).toMatch(says);
    expect(await reference.countRows(root, name)).toBe(3);
  });
});
