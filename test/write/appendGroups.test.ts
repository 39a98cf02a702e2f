/** Appends of one process that wait for each other become one version. */

import { copyFile, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { ConcurrentModificationError } from "../../src/errors.js";
import { type OperationContext, openContext } from "../../src/operations/context.js";
import { readTransaction } from "../../src/table/commit/transaction.js";
import { anchorOf } from "../../src/table/versions/identity.js";
import { findLatestVersion } from "../../src/table/versions/latestVersion.js";
import { openVersion } from "../../src/table/versions/openVersion.js";
import { tableAt } from "../../src/table/versions/tableAt.js";
import { AppendGroups, type CommittedAppend, type PendingAppend } from "../../src/write/appendGroups.js";
import { type InsertedRows, insertRows } from "../../src/write/insert.js";
import { it as test } from "../support/fixtures.js";
import { rowsOf } from "../support/intRows.js";

/** Groups that receive all appends before the first of them commits. */
class GatheredAppends extends AppendGroups {
  readonly appends: PendingAppend[] = [];
  readonly #releases: (() => void)[] = [];

  override commit(append: PendingAppend): Promise<CommittedAppend> {
    this.appends.push(append);
    return new Promise((resolve, reject) => {
      this.#releases.push(() => void super.commit(append).then(resolve, reject));
    });
  }

  /** Waits until a number of appends have arrived. */
  async arrived(count: number): Promise<void> {
    while (this.appends.length < count) await new Promise((resolve) => setTimeout(resolve, 2));
  }

  /** Commits the appends. The first of them does not wait, and all others wait for it. */
  release(order = this.#releases.map((_, index) => index)): void {
    for (const index of order) this.#releases[index]();
  }
}

function contextOf(root: string): OperationContext {
  const context = openContext({ root, durability: "none" });
  onTestFinished(() => context.close());
  return context;
}

/** Inserts into the current version of the table `t`. */
async function insert(
  context: OperationContext,
  groups: AppendGroups,
  values: readonly number[],
  signal?: AbortSignal,
): Promise<InsertedRows | null> {
  const table = tableAt(context, join(context.root, "t.lance"));
  const latest = await findLatestVersion(table);
  const base = latest && (await openVersion(table, latest));
  if (base === null) throw new Error("there is no table");
  return insertRows(table, anchorOf(base), rowsOf(...values), {
    mode: "Append",
    newTable: { version: "2.2", naming: "V2" },
    onCreated: "append",
    groups,
    signal,
  });
}

const dataFiles = (root: string) => readdir(join(root, "t.lance", "data"));

test("inserts that wait become one version, and LanceDB reads the rows of each", async ({
  root,
  ns,
  theirs,
}) => {
  await ns.createTable({ id: ["t"] }, rowsOf(0));
  const context = contextOf(root);
  const groups = new GatheredAppends();
  const inserts = [[1], [2, 2], [3, 3, 3], [4, 4, 4, 4]].map((values) => insert(context, groups, values));
  await groups.arrived(4);
  const sizes = groups.appends.map(({ fragments }) => fragments[0].physicalRows);
  groups.release();

  const inserted = await Promise.all(inserts);
  expect(inserted.map((each) => each?.rowCount)).toEqual([1, 2, 3, 4]);
  expect(inserted.map((each) => each?.committed.version).sort()).toEqual([2, 3, 3, 3]);
  expect(new Set(inserted.map((each) => each?.transactionId)).size).toBe(2);

  const last = inserted.find((each) => each?.committed.version === 3)?.committed;
  const transaction = last && (await readTransaction(last.table, last.file));
  expect(transaction?.append?.fragments.map(({ physicalRows }) => physicalRows)).toEqual(sizes.slice(1));

  const table = await theirs.openTable("t");
  expect((await table.listVersions()).map(({ version }) => version)).toEqual([1, 2, 3]);
  for (const value of [1, 2, 3, 4]) expect(await table.countRows(`v = ${value}`)).toBe(value);
  await table.add([{ v: 5 }]);
  expect(await ns.countTableRows({ id: ["t"] })).toBe(12);
});

test("an insert that fails, or is aborted, fails no other insert of its group", async ({ root, ns }) => {
  await ns.createTable({ id: ["t"] }, rowsOf(0));
  const context = contextOf(root);
  const groups = new GatheredAppends();
  const abort = new AbortController();
  const inserts: Promise<unknown>[] = [];
  for (const values of [[1], [2], [3], [4]]) {
    inserts.push(insert(context, groups, values, values[0] === 4 ? abort.signal : undefined));
    await groups.arrived(inserts.length);
  }
  const [lost] = groups.appends[2].fragments[0].files;
  await rm(join(root, "t.lance", "data", lost.path));
  groups.release();
  abort.abort(new Error("no longer wanted"));

  const outcomes = await Promise.allSettled(inserts);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "rejected"]);
  expect(outcomes[2]).toMatchObject({ reason: expect.any(ConcurrentModificationError) });
  expect(outcomes[3]).toMatchObject({ reason: new Error("no longer wanted") });
  for (const [value, count] of [1, 1, 0, 0].entries()) {
    expect(await ns.countTableRows({ id: ["t"], predicate: `v = ${value + 1}` })).toBe(count);
  }
  // The rows of the failed inserts are removed.
  expect(await dataFiles(root)).toHaveLength(3);
});

test("rows of a table that was replaced do not reach the new table with a group", async ({ root, ns }) => {
  await ns.createTable({ id: ["t"] }, rowsOf(0));
  const context = contextOf(root);
  const groups = new GatheredAppends();
  const late = insert(context, groups, [1]);
  await groups.arrived(1);
  const [{ path }] = groups.appends[0].fragments[0].files;
  const aside = join(root, "aside");
  await copyFile(join(root, "t.lance", "data", path), aside);
  await ns.dropTable({ id: ["t"] });
  await ns.createTable({ id: ["t"] }, rowsOf(0));
  await mkdir(join(root, "t.lance", "data"), { recursive: true });
  await copyFile(aside, join(root, "t.lance", "data", path));
  const others = [insert(context, groups, [2]), insert(context, groups, [3])];
  await groups.arrived(3);
  groups.release([2, 1, 0]);

  await expect(late).rejects.toThrow(ConcurrentModificationError);
  await Promise.all(others);
  expect(await ns.countTableRows({ id: ["t"], predicate: "v = 1" })).toBe(0);
  expect(await ns.countTableRows({ id: ["t"] })).toBe(3);
});

test("groupInserts makes few versions of many inserts, and one of each with a message", async ({ open }) => {
  const ns = open({ groupInserts: true });
  await ns.createTable({ id: ["t"] }, rowsOf(0));
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) => ns.insertIntoTable({ id: ["t"] }, rowsOf(index, index))),
  );
  expect(answers.every(({ numInsertedRows }) => numInsertedRows === 2)).toBe(true);
  expect(await ns.countTableRows({ id: ["t"] })).toBe(81);
  expect(new Set(answers.map(({ version }) => version)).size).toBeLessThan(20);

  const messages = ["first", "second", "third"];
  const told = await Promise.all(
    messages.map((message) => ns.insertIntoTable({ id: ["t"], message }, rowsOf(1))),
  );
  expect(new Set(told.map(({ version }) => version)).size).toBe(3);
});
