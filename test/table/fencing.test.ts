/**
 * Suspends writers right before their deciding step, while a rival takes the lock over; the step must fail.
 * The rival is another copy of the engine with its own queue of locks.
 */

import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { LOCK_NAME } from "../../src/io/lock/lease.js";
import { UNRESTRICTED } from "../../src/operations/access.js";
import { createTableBranch } from "../../src/operations/branch/createTableBranch.js";
import { deleteTableBranch } from "../../src/operations/branch/deleteTableBranch.js";
import { openContext } from "../../src/operations/context.js";
import { insertIntoTable } from "../../src/operations/rows/insertIntoTable.js";
import { deleteTableTag } from "../../src/operations/tag/deleteTableTag.js";
import { updateTableTag } from "../../src/operations/tag/updateTableTag.js";
import { interruptedDisk } from "../support/interruptedDisk.js";
import { rowsOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";
import { replacedVerbs } from "../support/wrappedDisk.js";

type Rival = import("../../src/DirectoryNamespace.js").DirectoryNamespace;

const id = ["t"];

let root: string;
let table: string;
let rival: Rival;

beforeEach(async () => {
  root = await makeTempDir();
  table = join(root, "t.lance");
  const { DirectoryNamespace } = (await import("../../dist/DirectoryNamespace.js" as string)) as {
    DirectoryNamespace: new (options: object) => Rival;
  };
  rival = new DirectoryNamespace({ root, durability: "none" });
  await rival.createTable({ id }, rowsOf(0));
  await rival.insertIntoTable({ id }, rowsOf(1));
  return () => rival.close();
});

/** Makes the locks of the table and of its branches look as if their holders had died long ago. */
async function age(): Promise<void> {
  const past = new Date(Date.now() - 600_000);
  for (const entry of await readdir(table, { recursive: true })) {
    if (entry.includes(LOCK_NAME)) await utimes(join(table, entry), past, past);
  }
}

/** Returns a context whose process is suspended before a call until the rival has acted. */
function suspended(isMoment: (verb: keyof Disk, path: string) => boolean, act: () => Promise<unknown>) {
  const disk = interruptedDisk(new NodeDisk({ durability: "none" }), isMoment, async () => {
    await age();
    await act();
  });
  return { disk, context: openContext({ root, disk, durability: "none" }) };
}

const withoutLinks = (inner: Disk): Disk =>
  replacedVerbs(inner, {
    link: () => Promise.reject(Object.assign(new Error("no links"), { code: "ENOTSUP" })),
  });

const numbers = async (): Promise<number[]> =>
  (await rival.listTableVersions({ id })).versions.map(({ version }) => version).sort((a, b) => a - b);

const values = async (branch?: string): Promise<unknown[]> =>
  Array.from((await rival.table(id, { branch }).scan().toArrow()).getChild("v") ?? []);

/** Waits until the table has no temporary files and no locks, kept ones included. */
const expectNothingLeft = (): Promise<void> =>
  vi.waitFor(async () => {
    const entries = await readdir(table, { recursive: true });
    expect(entries.filter((entry) => /\.tmp-|\.tiltyard\.lock/.test(entry))).toEqual([]);
  }, 5000);

describe.each(["link", "rename"] as const)("a suspended append that decides by %s", (verb) => {
  it("lands above a version that was published meanwhile, never below it", async () => {
    const { disk, context } = suspended(
      (called, path) => called === verb && /_versions.*\.tmp-/.test(path),
      async () => {
        const manifestPath = await stageDoubled(table, 7);
        await rival.createTableVersion({ id, version: 7, manifestPath });
      },
    );
    const ownContext = verb === "link" ? context : { ...context, disk: withoutLinks(disk) };
    const { version } = await insertIntoTable(ownContext, { id }, UNRESTRICTED, rowsOf(2));
    expect(disk.interrupted).toBe(true);
    expect(version).toBe(8);
    expect(await numbers()).toEqual([1, 2, 7, 8]);
    expect(await values()).toEqual([0, 1, 0, 1, 2]);
    expect(await reference.tableVersion(root, "t")).toBe(8);
    await expectNothingLeft();
    await context.close();
  });

  it("keeps the version that took its number", async () => {
    const { disk, context } = suspended(
      (called, path) => called === verb && /_versions.*\.tmp-/.test(path),
      () => rival.insertIntoTable({ id }, rowsOf(5)),
    );
    const ownContext = verb === "link" ? context : { ...context, disk: withoutLinks(disk) };
    await insertIntoTable(ownContext, { id }, UNRESTRICTED, rowsOf(2));
    expect(await values()).toEqual([0, 1, 5, 2]);
    await context.close();
  });
});

describe("a tag", () => {
  beforeEach(async () => void (await rival.createTableTag({ id, tag: "stable", version: 1 })));
  const versionOf = async (tag: string) => (await rival.getTableTagVersion({ id, tag })).version;

  it("that was recreated is not deleted by the writer that meant the old one, unless the caller is asked again", async () => {
    let acted = 0;
    const { disk, context } = suspended(
      (called, path) => called === "rename" && path.includes("stable"),
      async () => {
        acted++;
        await rival.deleteTableTag({ id, tag: "stable" });
        await rival.createTableTag({ id, tag: "fresh", version: 2 });
      },
    );
    await expect(deleteTableTag(context, { id, tag: "stable" }, UNRESTRICTED, [])).rejects.toMatchObject({
      code: 8,
    });
    expect([disk.interrupted, acted]).toEqual([true, 1]);
    expect(await versionOf("fresh")).toBe(2);
    await expectNothingLeft();
    await context.close();
  });

  it("that was deleted meanwhile is not restored by the writer that moves it", async () => {
    const { context } = suspended(
      (called, path) => called === "rename" && path.includes("_refs"),
      () => rival.deleteTableTag({ id, tag: "stable" }),
    );
    await expect(
      updateTableTag(context, { id, tag: "stable", version: 2 }, UNRESTRICTED, []),
    ).rejects.toMatchObject({
      code: 8,
    });
    await expect(versionOf("stable")).rejects.toMatchObject({ code: 8 });
    await expectNothingLeft();
    await context.close();
  });
});

describe("a branch", () => {
  it("that was recreated is not emptied by the writer that was deleting the old one", async () => {
    await rival.createTableBranch({ id, name: "b", fromVersion: 1 });
    const { disk, context } = suspended(
      (called, path) => called === "rename" && /tree.b$/.test(path),
      async () => {
        await rival.createTableBranch({ id, name: "b", fromVersion: 2 });
        await rival.insertIntoTable({ id, branch: "b" }, rowsOf(9));
      },
    );
    await deleteTableBranch(context, { id, name: "b" }, UNRESTRICTED, []);
    expect(disk.interrupted).toBe(true);
    expect(await values("b")).toEqual([0, 1, 9]);
    await expectNothingLeft();
    await context.close();
  });

  it.each([
    "_versions",
    "_refs",
  ])("that another writer made first keeps its rows: suspended before the link in %s", async (part) => {
    const { disk, context } = suspended(
      (called, path) => called === "link" && path.includes(part),
      async () => {
        await rival.createTableBranch({ id, name: "b", fromVersion: 1 });
        await rival.insertIntoTable({ id, branch: "b" }, rowsOf(9));
      },
    );
    await expect(createTableBranch(context, { id, name: "b" }, UNRESTRICTED, [])).rejects.toMatchObject({
      status: 409,
    });
    expect(disk.interrupted).toBe(true);
    expect(await values("b")).toEqual([0, 9]);
    await expectNothingLeft();
    await context.close();
  });
});
