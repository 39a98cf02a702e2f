/** Undoes batches while other writers get in between: what they made in place of the batch's parts stays. */

import { join } from "node:path";
import { ConcurrentModificationError } from "tiltyard";
import { beforeEach, describe, expect, it } from "vitest";
import { manifestName } from "../../src/table/versions/paths.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { ipcOf, rowsOf } from "../support/intRows.js";
import { overruledStage } from "../support/overruled.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";

const stage = overruledStage();
const { disk, open, meanwhile } = stage;
let root: string;

beforeEach(() => {
  root = stage.root;
});

describe("an undone batch", () => {
  it("leaves the version that another writer has published under its number", async () => {
    const a = join(root, "a.lance");
    const b = join(root, "b.lance");
    const ns = open();
    await ns.createTable({ id: ["a"] }, rowsOf(1));
    await ns.createTable({ id: ["b"] }, rowsOf(1));
    await ns.close();
    const entries = [
      { id: ["a"], version: 2, manifestPath: await stageDoubled(a, 2) },
      { id: ["b"], version: 2, manifestPath: await stageDoubled(b, 2) },
    ];
    // The reference takes the number that the second part needs.
    const raced = interruptedDisk(
      disk,
      (verb, path) => verb === "link" && path.startsWith(join(a, "_versions")),
      () => reference.appendTable(root, "b", ipcOf(7)),
    );
    const paused = interruptedDisk(
      raced,
      (verb, path) =>
        (verb === "remove" || verb === "rename") && path === join(a, "_versions", manifestName(2, "V2")),
      () => meanwhile(["insertIntoTable", { id: ["a"] }, ipcOf(42)]),
    );
    const victim = open(paused);
    await expect(victim.batchCreateTableVersions({ entries })).rejects.toThrow(/undid it/);
    expect(raced.interrupted).toBe(true);
    expect(paused.interrupted).toBe(true);
    await victim.close();
    await using after = open();
    expect((await after.listTableVersions({ id: ["a"] })).versions.map(({ version }) => version)).toEqual([
      1, 2,
    ]);
    expect(await after.countTableRows({ id: ["a"] })).toBe(2);
  });
});

describe("an undone declaration", () => {
  it("leaves a table that another engine has made there", async () => {
    const ns = open();
    await ns.createTable({ id: ["b"] }, rowsOf(1));
    await ns.close();
    const entry = { id: ["b"], version: 2, manifestPath: await stageDoubled(join(root, "b.lance"), 2) };
    const raced = interruptedDisk(
      disk,
      (verb, path) => verb === "link" && path.startsWith(join(root, "b.lance", "_versions")),
      () => reference.appendTable(root, "b", ipcOf(7)),
    );
    const paused = interruptedDisk(
      raced,
      (verb, path) => verb === "rename" && path === join(root, "n.lance"),
      () => reference.createTable(root, "n", ipcOf(5)),
    );
    const victim = open(paused);
    const outcome = victim.batchCommitTables({
      operations: [{ declareTable: { id: ["n"] } }, { createTableVersion: entry }],
    });
    await expect(outcome).rejects.toBeInstanceOf(ConcurrentModificationError);
    expect([raced.interrupted, paused.interrupted]).toEqual([true, true]);
    await victim.close();
    expect(await reference.countRows(root, "n")).toBe(1);
  });
});
