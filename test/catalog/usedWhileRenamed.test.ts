/**
 * A table is used by its new name while the process that renames it stands still.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeEach, expect, it } from "vitest";
import type { Disk } from "../../src/io/disk.js";
import { NodeDisk } from "../../src/io/nodeDisk.js";
import { ageLocks } from "../pause/world.js";
import type { EngineStep } from "../support/engineWorker.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { RivalEngine } from "../support/rivalEngine.js";
import { makeTempDir } from "../support/tempDir.js";

const rowsOf = (...values: number[]) => new Table({ v: vectorFromArray(values, new Int32()) });
const ipcOf = (...values: number[]) => tableToIPC(rowsOf(...values), "stream");
const disk = new NodeDisk({ durability: "none" });
const rival = new RivalEngine();
let root: string;

beforeEach(async () => {
  root = await makeTempDir();
});
afterAll(() => rival.end());

const open = (other?: Disk) =>
  new DirectoryNamespace({ root, durability: "none", ...(other && { disk: other }) });

/** What another process does while this one stands still and all locks look dead. */
async function meanwhile(...steps: EngineStep[]): Promise<void> {
  await ageLocks(root);
  await rival.open(root);
  for (const step of steps) expect(await rival.call(step)).toHaveProperty("ok");
}

it("a rename stands that others have gone on from", async () => {
  const ns = open();
  await ns.createTable({ id: ["t"] }, rowsOf(1));
  await ns.close();
  const place = join(root, "u.lance");
  const paused = interruptedDisk(
    disk,
    (verb, path) => verb === "stat" && path === place && existsSync(place),
    () => meanwhile(["insertIntoTable", { id: ["u"] }, ipcOf(42)]),
  );
  const victim = open(paused);
  await victim.renameTable({ id: ["t"], newTableName: "u" });
  expect(paused.interrupted).toBe(true);
  await victim.close();
  const after = open();
  expect((await after.listTables({ id: [] })).tables).toEqual(["u"]);
  expect(await after.countTableRows({ id: ["u"] })).toBe(2);
  await after.close();
});
