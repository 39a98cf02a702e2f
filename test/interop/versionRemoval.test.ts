import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tableFromIPC } from "apache-arrow";
import {
  ConcurrentModificationError,
  DirectoryNamespace,
  InvalidInputError,
  TableBranchNotFoundError,
  TableNotFoundError,
  TableVersionNotFoundError,
} from "tiltyard";
import { describe, expect, it } from "vitest";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { ipcOf, rowsOf, valuesOf } from "../support/intRows.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];

interface Tested {
  readonly root: string;
  readonly ns: DirectoryNamespace;
}

/** Versions 1 to 7: rows 0 to 2, then one more each; version 5 replaces all by 50. */
async function makeTable(maker: "us" | "them", scheme?: "V1"): Promise<Tested> {
  const root = await makeTempDir();
  const ns = new DirectoryNamespace({ root, durability: "none", manifestNaming: scheme });
  if (maker === "us") await ns.createTable({ id }, rowsOf(0, 1, 2));
  else await reference.createTable(root, "t", ipcOf(0, 1, 2), { v1Paths: scheme === "V1" });
  for (const version of [2, 3, 4, 5, 6, 7]) {
    const mode = version === 5 ? "Overwrite" : "Append";
    if (maker === "us") await ns.insertIntoTable({ id, mode }, rowsOf(version * 10));
    else if (version === 5) await reference.overwriteTable(root, "t", ipcOf(50));
    else await reference.appendTable(root, "t", ipcOf(version * 10));
  }
  return { root, ns };
}

const HISTORY: Readonly<Record<number, number[]>> = {
  1: [0, 1, 2],
  2: [0, 1, 2, 20],
  3: [0, 1, 2, 20, 30],
  4: [0, 1, 2, 20, 30, 40],
  5: [50],
  6: [50, 60],
  7: [50, 60, 70],
};

const versionsOf = async ({ ns }: Tested, branch?: string): Promise<number[]> =>
  (await ns.listTableVersions({ id, branch })).versions.map(({ version }) => version);

/** Both engines list exactly these versions, with their rows. */
async function expectVersions(tested: Tested, expected: readonly number[]): Promise<void> {
  const { root, ns } = tested;
  expect(await versionsOf(tested)).toEqual(expected);
  const theirs = (await reference.listVersions(root, "t")).map(({ version }) => version);
  expect(theirs.sort((a, b) => a - b)).toEqual(expected);
  for (const version of expected) {
    expect(valuesOf(await ns.table(id, { version }).scan().toArrow())).toEqual(HISTORY[version]);
    const there = tableFromIPC(await reference.readTable(root, "t", { version }));
    expect(valuesOf(there)).toEqual(HISTORY[version]);
  }
}

const filesIn = async ({ root }: Tested, part: string): Promise<number> =>
  (await readdir(join(root, "t.lance", part))).filter((name) => !name.endsWith(".json")).length;

describe.each(["us", "them"] as const)("of a table made by %s", (maker) => {
  it("versions go with the files that only they have", async () => {
    const tested = await makeTable(maker);
    const { ns, root } = tested;
    expect(await ns.batchDeleteTableVersions({ id, ranges: [{ startVersion: 2, endVersion: 4 }] })).toEqual({
      deletedCount: 2,
    });
    await expectVersions(tested, [1, 4, 5, 6, 7]);
    // Version 4 has all rows of the two.
    expect(await filesIn(tested, "data")).toBe(7);
    expect(await filesIn(tested, "_transactions")).toBe(5);
    await expect(ns.describeTableVersion({ id, version: 3 })).rejects.toThrow(TableVersionNotFoundError);
    await expect(ns.restoreTable({ id, version: 2 })).rejects.toThrow(TableVersionNotFoundError);

    const ranges = [
      { startVersion: 6, endVersion: 7 },
      // Overlapping ranges with deleted numbers.
      { startVersion: 0, endVersion: 5 },
      { startVersion: 1, endVersion: 2 },
      { startVersion: 5, endVersion: 5 },
      { startVersion: 100, endVersion: -1 },
    ];
    expect(await ns.batchDeleteTableVersions({ id, ranges })).toEqual({ deletedCount: 3 });
    await expectVersions(tested, [5, 7]);
    expect(await filesIn(tested, "data")).toBe(3);
    expect(await filesIn(tested, "_transactions")).toBe(2);
    const before = await directorySnapshot(root);
    expect(await ns.batchDeleteTableVersions({ id, ranges })).toEqual({ deletedCount: 0 });
    expect(await directorySnapshot(root)).toEqual(before);

    expect(await ns.insertIntoTable({ id }, rowsOf(80))).toMatchObject({ version: 8 });
    expect(await reference.appendTable(root, "t", ipcOf(90))).toMatchObject({ version: 9 });
    expect(valuesOf(await ns.table(id).scan().toArrow())).toEqual([50, 60, 70, 80, 90]);
    expect(await ns.restoreTable({ id, version: 5 })).toMatchObject({ version: 10 });
    expect(await reference.countRows(root, "t")).toBe(1);
    await ns.close();
  });

  it("none goes where one of them is needed, by whomever", async () => {
    const tested = await makeTable(maker);
    const { ns, root } = tested;
    await reference.createTag(root, "t", "theirs", 2);
    await ns.createTableTag({ id, tag: "ours", version: 3 });
    await reference.createBranch(root, "t", "dev", { fromVersion: 4 });
    await ns.createTableBranch({ id, name: "x/y", fromVersion: 5 });
    const before = await directorySnapshot(root);
    for (const [startVersion, endVersion, needed] of [
      [1, 3, "version 2 of the main branch has the tag theirs"],
      [3, 4, "version 3 of the main branch has the tag ours"],
      [4, 5, "version 4 of the main branch is the source of branch dev"],
      [5, 7, "version 5 of the main branch is the source of branch x/y"],
      [6, 8, "version 7 of the main branch is the latest"],
      [6, -1, "version 7 of the main branch is the latest"],
      [7, 1000, "version 7 of the main branch is the latest"],
    ] as const) {
      const ranges = [
        { startVersion: 1, endVersion: 2 },
        { startVersion, endVersion },
      ];
      const refused = ns.batchDeleteTableVersions({ id, ranges });
      await expect(refused).rejects.toThrow(InvalidInputError);
      await expect(refused).rejects.toThrow(needed);
    }
    expect(await directorySnapshot(root)).toEqual(before);
    const ranges = [
      { startVersion: 1, endVersion: 2 },
      { startVersion: 6, endVersion: 7 },
    ];
    expect(await ns.batchDeleteTableVersions({ id, ranges })).toEqual({ deletedCount: 2 });
    await expectVersions(tested, [2, 3, 4, 5, 7]);
    for (const branch of ["dev", "x/y"]) {
      const there = tableFromIPC(await reference.readTable(root, "t", { branch }));
      expect(valuesOf(there)).toEqual(HISTORY[branch === "dev" ? 4 : 5]);
    }
    await ns.deleteTableTag({ id, tag: "ours" });
    await reference.deleteTag(root, "t", "theirs");
    await reference.deleteBranch(root, "t", "dev");
    await ns.deleteTableBranch({ id, name: "x/y" });
    const rest = [{ startVersion: 0, endVersion: 7 }];
    expect(await ns.batchDeleteTableVersions({ id, ranges: rest })).toEqual({ deletedCount: 4 });
    await expectVersions(tested, [7]);
    expect(await filesIn(tested, "data")).toBe(3);
    await ns.close();
  });

  it("those of a branch go, and main keeps its own, as do branches made from it", async () => {
    const tested = await makeTable(maker);
    const { ns, root } = tested;
    const branch = "dev";
    await reference.createBranch(root, "t", branch, { fromVersion: 4 });
    await ns.insertIntoTable({ id, branch }, rowsOf(500));
    await ns.createTableBranch({ id, name: "sub", fromBranch: branch });
    await ns.insertIntoTable({ id, branch, mode: "Overwrite" }, rowsOf(600));
    await ns.insertIntoTable({ id, branch }, rowsOf(700));
    await ns.createTableTag({ id, tag: "five", version: 5 });
    const remove = (startVersion: number, endVersion: number) =>
      ns.batchDeleteTableVersions({ id, branch, ranges: [{ startVersion, endVersion }] });
    await expect(remove(5, 6)).rejects.toThrow("version 5 of branch dev is the source of branch sub");
    await expect(remove(4, -1)).rejects.toThrow(InvalidInputError);
    expect(await remove(4, 5)).toEqual({ deletedCount: 1 });
    expect(await remove(6, 7)).toEqual({ deletedCount: 1 });
    expect(await versionsOf(tested, branch)).toEqual([5, 7]);
    await expectVersions(tested, [1, 2, 3, 4, 5, 6, 7]);
    const read = async (target: object) =>
      valuesOf(tableFromIPC(await reference.readTable(root, "t", target)));
    expect(await read({ branch })).toEqual([600, 700]);
    expect(await read({ branch, version: 5 })).toEqual([...HISTORY[4], 500]);
    expect(await read({ branch: "sub" })).toEqual([...HISTORY[4], 500]);
    await ns.deleteTableBranch({ id, name: "sub" });
    expect(await remove(0, 7)).toEqual({ deletedCount: 1 });
    expect(await read({ branch })).toEqual([600, 700]);
    expect(await readdir(join(root, "t.lance", "tree", branch, "data"))).toHaveLength(2);
    await expectVersions(tested, [1, 2, 3, 4, 5, 6, 7]);
    await ns.close();
  });

  it("the latest is found whatever hint was left, under either naming scheme", async () => {
    for (const scheme of [undefined, "V1"] as const) {
      const tested = await makeTable(maker, scheme);
      const { ns, root } = tested;
      await ns.batchDeleteTableVersions({ id, ranges: [{ startVersion: 3, endVersion: 7 }] });
      await expectVersions(tested, [1, 2, 7]);
      // From a stalled writer of version 2.
      await writeFile(join(root, "t.lance", "_versions", "latest_version_hint.json"), '{"version":2}');
      expect(await ns.table(id).version()).toBe(7);
      expect(await ns.insertIntoTable({ id }, rowsOf(8))).toMatchObject({ version: 8 });
      expect(await reference.countRows(root, "t")).toBe(4);
      await ns.close();
    }
  });
});

it("what cannot be meant is refused, and changes nothing", async () => {
  const { ns, root } = await makeTable("us");
  await ns.declareTable({ id: ["declared"] });
  const before = await directorySnapshot(root);
  const range = { startVersion: 1, endVersion: 2 };
  for (const ranges of [
    undefined,
    null,
    range,
    [null],
    [{}],
    [{ startVersion: 1 }],
    [{ endVersion: 2 }],
    [{ startVersion: -1, endVersion: 2 }],
    [{ startVersion: 1, endVersion: -2 }],
    [{ startVersion: 3, endVersion: 2 }],
    [{ startVersion: "1", endVersion: 2 }],
    [{ startVersion: 1.5, endVersion: 2 }],
    [range, { startVersion: 1, endVersion: 2 ** 53 }],
  ]) {
    const refused = ns.batchDeleteTableVersions({ id, ranges: ranges as never });
    await expect(refused, JSON.stringify(ranges)).rejects.toThrow(InvalidInputError);
  }
  const ranges = [range];
  await expect(ns.batchDeleteTableVersions({ id: ["none"], ranges })).rejects.toThrow(TableNotFoundError);
  await expect(ns.batchDeleteTableVersions({ id, branch: "none", ranges })).rejects.toThrow(
    TableBranchNotFoundError,
  );
  await expect(ns.batchDeleteTableVersions({ id, branch: "a//b", ranges })).rejects.toThrow(
    InvalidInputError,
  );
  await expect(ns.batchDeleteTableVersions({ id: [], ranges })).rejects.toThrow(InvalidInputError);
  expect(await ns.batchDeleteTableVersions({ id, ranges: [] })).toEqual({ deletedCount: 0 });
  expect(await ns.batchDeleteTableVersions({ id: ["declared"], ranges })).toEqual({ deletedCount: 0 });
  expect(await directorySnapshot(root)).toEqual(before);

  // The parent of an unreadable ref is unknown.
  await ns.createTableTag({ id, tag: "x", version: 7 });
  await writeFile(join(root, "t.lance", "_refs", "tags", "x.json"), "{");
  await expect(ns.batchDeleteTableVersions({ id, ranges })).rejects.toMatchObject({ code: 18 });
  expect(await ns.listTableVersions({ id, limit: 1 })).toMatchObject({ versions: [{ version: 1 }] });
  await ns.close();
});

/** Inserts a row into a table after another writer has changed it and deleted all versions but the latest. */
async function insertOverDeleted(change: (second: DirectoryNamespace) => Promise<unknown>) {
  const { ns, root } = await makeTable("us");
  await using second = new DirectoryNamespace({ root, durability: "none" });
  const slowly = async function* () {
    await second.insertIntoTable({ id }, rowsOf(80));
    await change(second);
    await second.batchDeleteTableVersions({ id, ranges: [{ startVersion: 1, endVersion: 9 }] });
    yield* rowsOf(1000).batches;
  };
  const insert = await ns.insertIntoTable({ id }, slowly()).catch((error: unknown) => error);
  return { ns, root, insert };
}

it("a writer in whose way versions were deleted is told so: what they changed is unknown", async () => {
  const { ns, root, insert } = await insertOverDeleted((second) =>
    second.updateTable({ id, predicate: "v = 50", updates: [["v", "90"]] }),
  );
  expect(insert).toBeInstanceOf(ConcurrentModificationError);
  expect(await ns.insertIntoTable({ id }, rowsOf(1000))).toMatchObject({ version: 10 });
  const there = tableFromIPC(await reference.readTable(root, "t"));
  expect(valuesOf(there)).toEqual([60, 70, 80, 90, 1000]);
  await ns.close();
});

it("an append in whose way versions were deleted goes on if the table only gained fragments", async () => {
  const { ns, root, insert } = await insertOverDeleted((second) =>
    second.insertIntoTable({ id }, rowsOf(90)),
  );
  expect(insert).toMatchObject({ version: 10 });
  const there = tableFromIPC(await reference.readTable(root, "t"));
  expect(valuesOf(there)).toEqual([50, 60, 70, 80, 90, 1000]);
  await ns.close();
});
