/** Every kind of publication works on file systems without hard links, which report it in different ways. */

import { readdir } from "node:fs/promises";
import { makeVector, Table } from "apache-arrow";
import { DirectoryNamespace, TableAlreadyExistsError, TableNotFoundError } from "tiltyard";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { expect, it } from "../support/fixtures.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";

class LinklessDisk extends NodeDisk {
  readonly #code: string;

  constructor(code: string) {
    super({ durability: "none" });
    this.#code = code;
  }

  override async link(): Promise<void> {
    throw Object.assign(new Error(`${this.#code}: link`), { code: this.#code });
  }
}

const rows = new Table({ v: makeVector(Int32Array.of(1, 2)) });

it.each([
  ["EISDIR", "exFAT on Windows"],
  ["EACCES", "Android"],
  ["EINVAL", "some network mounts"],
  ["EPERM", "exFAT and FAT on Linux"],
])("all is published where a link fails with %s (%s)", async (code) => {
  const root = await makeTempDir();
  const disk = new LinklessDisk(code);
  await using ns = new DirectoryNamespace({ root, disk });
  const id = ["t"];
  await ns.createTable({ id }, rows);
  await expect(ns.createTable({ id }, rows)).rejects.toBeInstanceOf(TableAlreadyExistsError);
  await Promise.all([1, 2, 3, 4].map(() => ns.insertIntoTable({ id }, rows)));
  expect(await ns.countTableRows({ id })).toBe(10);
  await ns.createTableTag({ id, tag: "first", version: 1 });
  await ns.createTableBranch({ id, name: "b" });
  await ns.insertIntoTable({ id, branch: "b" }, rows);
  expect(await ns.countTableRows({ id, branch: "b" })).toBe(12);
  const { version } = await ns.describeTable({ id });
  const manifestPath = await stageDoubled(`${root}/t.lance`, version! + 1);
  await ns.createTableVersion({ id, version: version! + 1, manifestPath });
  expect(await ns.countTableRows({ id })).toBe(20);

  // No lock protects the publication of markers and batches.
  await ns.createNamespace({ id: ["n"] });
  const declared = [["d"], ["n", "d"]];
  for (const table of declared) {
    await ns.declareTable({ id: table });
    await expect(ns.declareTable({ id: table })).rejects.toBeInstanceOf(TableAlreadyExistsError);
  }
  await ns.batchCommitTables({
    operations: [{ declareTable: { id: ["e"] } }, { declareTable: { id: ["n", "e"] } }],
  });
  expect((await ns.listTables()).tables).toEqual(["d", "e", "t"]);
  await ns.deregisterTable({ id });
  await expect(ns.describeTable({ id })).rejects.toBeInstanceOf(TableNotFoundError);
  await ns.registerTable({ id, location: "t.lance" });
  expect(await ns.countTableRows({ id })).toBe(20);
  expect((await readdir(root)).filter((name) => name.startsWith(".tiltyard"))).toEqual([]);
});

it("one of many concurrent declarations of a table succeeds", async ({ root }) => {
  const all = Array.from({ length: 8 }, () => {
    const ns = new DirectoryNamespace({ root, disk: new LinklessDisk("EISDIR") });
    return ns.declareTable({ id: ["t"] }).finally(() => ns.close());
  });
  const outcomes = await Promise.allSettled(all);
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const outcome of outcomes) {
    if (outcome.status === "rejected") expect(outcome.reason).toBeInstanceOf(TableAlreadyExistsError);
  }
});
