/** A process that is suspended before it removes orphans leaves newer files of the same names. */

import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ConcurrentModificationError } from "tiltyard";
import { beforeEach, describe, expect, it } from "vitest";
import { manifestName } from "../../src/table/versions/paths.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { ipcOf, rowsOf } from "../support/intRows.js";
import { refusingDisk } from "../support/leftBatches.js";
import { overruledStage } from "../support/overruled.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";

const stage = overruledStage();
const { disk, open, meanwhile } = stage;
let root: string;

beforeEach(() => {
  root = stage.root;
});

describe("a cleanup", () => {
  it("leaves a new branch in the directory of an old unregistered one", async () => {
    const t = join(root, "t.lance");
    const ns = open();
    await ns.createTable({ id: ["t"] }, rowsOf(1));
    await ns.createTableBranch({ id: ["t"], name: "dev" });
    await ns.insertIntoTable({ id: ["t"], branch: "dev" }, rowsOf(2));
    await ns.close();
    // A crash during the creation leaves the branch without its ref.
    await rename(join(t, "_refs/branches/dev.json"), join(await makeTempDir(), "dev.json"));
    const paused = interruptedDisk(
      disk,
      (verb, path) => (verb === "removeTree" || verb === "rename") && path === join(t, "tree/dev/_versions"),
      () =>
        meanwhile(
          ["createTableBranch", { id: ["t"], name: "dev" }],
          ["insertIntoTable", { id: ["t"], branch: "dev" }, ipcOf(42)],
        ),
    );
    const victim = open(paused);
    await expect(victim.cleanupTable({ id: ["t"], deleteUnverified: true })).rejects.toBeInstanceOf(
      ConcurrentModificationError,
    );
    expect(paused.interrupted).toBe(true);
    await victim.close();
    await using after = open();
    expect(await after.countTableRows({ id: ["t"], branch: "dev" })).toBe(2);
  });

  it("leaves the record of a version that was published since", async () => {
    const t = join(root, "t.lance");
    const ns = open();
    await ns.createTable({ id: ["t"] }, rowsOf(1));
    await ns.close();
    const record = join(t, "_tiltyard/versions/2.json");
    await mkdir(join(t, "_tiltyard/versions"), { recursive: true });
    await writeFile(record, "{}");
    const manifestPath = await stageDoubled(t, 2);
    const paused = interruptedDisk(
      disk,
      (verb, path) => (verb === "remove" || verb === "rename") && path === record,
      () =>
        meanwhile([
          "createTableVersion",
          { id: ["t"], version: 2, manifestPath, metadata: { kept: "yes" }, eTag: "mine" },
        ]),
    );
    const victim = open(paused);
    await expect(victim.cleanupTable({ id: ["t"], olderThanMs: 0 })).rejects.toBeInstanceOf(
      ConcurrentModificationError,
    );
    expect(paused.interrupted).toBe(true);
    await victim.close();
    await using after = open();
    const { version } = await after.describeTableVersion({ id: ["t"], version: 2 });
    expect(version).toMatchObject({ metadata: { kept: "yes" }, eTag: "mine" });
  });
});

describe("a failed creation of a branch", () => {
  it("leaves the branch that was made with that name since", async () => {
    const t = join(root, "t.lance");
    const ns = open();
    await ns.createTable({ id: ["t"] }, rowsOf(1));
    await ns.close();
    let isRefused = false;
    const faulty = refusingDisk(disk, (verb, paths) => {
      if (isRefused || verb !== "link" || !paths[1].endsWith("dev.json")) return undefined;
      isRefused = true;
      return "EIO";
    });
    const first = join(t, "tree/dev/_versions", manifestName(1, "V2"));
    const paused = interruptedDisk(
      faulty,
      (verb, path) => (verb === "remove" || verb === "rename") && path === first,
      () =>
        meanwhile(
          ["createTableBranch", { id: ["t"], name: "dev" }],
          ["insertIntoTable", { id: ["t"], branch: "dev" }, ipcOf(42)],
        ),
    );
    const victim = open(paused);
    await expect(victim.createTableBranch({ id: ["t"], name: "dev" })).rejects.toThrow(/EIO/);
    expect([isRefused, paused.interrupted]).toEqual([true, true]);
    await victim.close();
    await using after = open();
    expect(await after.countTableRows({ id: ["t"], branch: "dev" })).toBe(2);
    const { versions } = await after.listTableVersions({ id: ["t"], branch: "dev" });
    expect(versions.map(({ version }) => version)).toEqual([1, 2]);
  });
});
