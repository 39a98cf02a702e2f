/** Suspends a process in the middle of a change of the catalog, while others change the same tables. */

import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { tableToIPC } from "apache-arrow";
import { ConcurrentModificationError } from "tiltyard";
import { beforeEach, describe, expect, it } from "vitest";
import { manifestName } from "../../src/table/versions/paths.js";
import type { EngineStep } from "../support/engineWorker.js";
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

async function deregistered(): Promise<string> {
  const ns = open();
  await ns.createNamespace({ id: ["n"] });
  await ns.createTable({ id: ["n", "t"] }, rowsOf(1));
  await ns.createTable({ id: ["n", "other"] }, rowsOf(2));
  const { location } = await ns.describeTable({ id: ["n", "t"] });
  await ns.deregisterTable({ id: ["n", "t"] });
  await ns.close();
  return location?.slice(root.length + 1) ?? "";
}

async function expectOnlyOther(): Promise<void> {
  await using ns = open();
  expect((await ns.listTables({ id: ["n"] })).tables).toEqual(["other"]);
  expect(await ns.countTableRows({ id: ["n", "other"] })).toBe(1);
}

describe("a registration", () => {
  it("fails if another process has registered the data since, and dropped the table", async () => {
    const location = await deregistered();
    let isSeen = false;
    const paused = interruptedDisk(
      disk,
      (verb, path) => {
        isSeen ||= path.startsWith(join(root, location));
        return isSeen && verb === "stat" && path.endsWith(join("__manifest", "_versions"));
      },
      () =>
        meanwhile(
          ["registerTable", { id: ["n", "u"], location: location }],
          ["dropTable", { id: ["n", "u"] }],
        ),
    );
    const victim = open(paused);
    await expect(victim.registerTable({ id: ["n", "v"], location: location })).rejects.toThrow(
      /there is no table at/,
    );
    await victim.close();
    expect(paused.interrupted).toBe(true);
    await expectOnlyOther();
  });

  it.each([
    { name: "v" },
    { name: "other" },
  ])("leaves $name as it was if the data disappears while its row is written", async ({ name }) => {
    const location = await deregistered();
    const paused = interruptedDisk(
      disk,
      (verb, path) => verb === "link" && path.startsWith(join(root, "__manifest", "_versions")),
      // A process that dropped the table has removed its row, and removes its directory now.
      () => rm(join(root, location), { recursive: true }),
    );
    const victim = open(paused);
    const request = { id: ["n", name], location: location, mode: "Overwrite" } as const;
    await expect(victim.registerTable(request)).rejects.toThrow(/there is no table at/);
    await victim.close();
    expect(paused.interrupted).toBe(true);
    await expectOnlyOther();
  });

  it.each([
    { change: "dropped", steps: [["dropTable", { id: ["n", "v"] }]], tables: [] },
    {
      change: "renamed into the root",
      steps: [["renameTable", { id: ["n", "v"], newTableName: "w", newNamespaceId: [] }]],
      tables: ["w"],
    },
    {
      change: "dropped and made anew",
      steps: [
        ["dropTable", { id: ["n", "v"] }],
        ["createTable", { id: ["n", "v"], properties: { of: "another" } }, tableToIPC(rowsOf(4, 5, 6))],
      ],
      tables: ["n$v"],
    },
  ] as const)("succeeds if its table is $change before it returns", async ({ steps, tables }) => {
    const location = await deregistered();
    let isPublished = false;
    const paused = interruptedDisk(
      disk,
      (verb, path) => {
        const isMoment = isPublished && verb === "remove" && path.includes(join("__manifest", "_versions"));
        isPublished ||= verb === "link" && path.startsWith(join(root, "__manifest", "_versions"));
        return isMoment;
      },
      () => meanwhile(...(steps as unknown as EngineStep[])),
    );
    const victim = open(paused);
    const registered = await victim.registerTable({ id: ["n", "v"], location: location });
    await victim.close();
    expect(registered.location).toBe(join(root, location));
    expect(paused.interrupted).toBe(true);
    await using ns = open();
    const listed = (await ns.listAllTables()).tables.filter((name) => name !== "n$other");
    expect(listed).toEqual(tables);
    if (listed[0] === "n$v") {
      expect((await ns.describeTable({ id: ["n", "v"] })).properties).toEqual({ of: "another" });
      expect(await ns.countTableRows({ id: ["n", "v"] })).toBe(3);
    }
  });

  it.each([
    { change: "dropped", steps: [["dropTable", { id: ["t"] }]], tables: [] },
    { change: "renamed", steps: [["renameTable", { id: ["t"], newTableName: "u" }]], tables: ["u"] },
    {
      change: "dropped and made anew",
      steps: [
        ["dropTable", { id: ["t"] }],
        ["createTable", { id: ["t"], properties: { of: "another" } }, tableToIPC(rowsOf(4, 5, 6))],
      ],
      tables: ["t"],
    },
  ] as const)("in the root succeeds if its table is $change once it is shown", async ({ steps, tables }) => {
    const owner = open();
    await owner.createTable({ id: ["t"] }, rowsOf(1));
    await owner.deregisterTable({ id: ["t"] });
    await owner.close();
    let isShown = false;
    const paused = interruptedDisk(
      disk,
      (verb, path) => {
        const isMoment = isShown && verb === "stat" && path.startsWith(join(root, "t.lance"));
        isShown ||= verb === "rename" && path.startsWith(join(root, "t.lance"));
        return isMoment;
      },
      () => meanwhile(...(steps as unknown as EngineStep[])),
    );
    const victim = open(paused);
    await victim.registerTable({ id: ["t"], location: "t.lance", properties: { of: "ours" } });
    await victim.close();
    expect(paused.interrupted).toBe(true);
    await using ns = open();
    expect((await ns.listAllTables()).tables).toEqual(tables);
    if (tables[0] === "t") {
      expect((await ns.describeTable({ id: ["t"] })).properties).toEqual({ of: "another" });
      expect(await ns.countTableRows({ id: ["t"] })).toBe(3);
    }
  });
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

it("a rename stands if others have continued from it", async () => {
  const ns = open();
  await ns.createTable({ id: ["t"] }, rowsOf(1));
  await ns.close();
  const location = join(root, "u.lance");
  const paused = interruptedDisk(
    disk,
    (verb, path) => verb === "stat" && path === location && existsSync(location),
    () => meanwhile(["insertIntoTable", { id: ["u"] }, ipcOf(42)]),
  );
  const victim = open(paused);
  await victim.renameTable({ id: ["t"], newTableName: "u" });
  expect(paused.interrupted).toBe(true);
  await victim.close();
  await using after = open();
  expect((await after.listTables({ id: [] })).tables).toEqual(["u"]);
  expect(await after.countTableRows({ id: ["u"] })).toBe(2);
});
