/** Uses a table by its new name while the renaming process is suspended. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { ipcOf, rowsOf } from "../support/intRows.js";
import { overruledStage } from "../support/overruled.js";

const stage = overruledStage();
const { disk, open, meanwhile } = stage;
let root: string;

beforeEach(() => {
  root = stage.root;
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
