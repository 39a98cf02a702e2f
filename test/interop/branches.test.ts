import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { tableFromIPC, tableToIPC } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { describe, expect } from "vitest";
import { it } from "../support/fixtures.js";
import { rowsOf, valuesOf } from "../support/intRows.js";
import { typeOf } from "../support/outcomes.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

const id = ["t"];

type Side = "us" | "them";
const SIDES: readonly Side[] = ["us", "them"];

function sidesOf(ns: DirectoryNamespace, root: string) {
  return {
    us: {
      create: (name: string, fromBranch?: string, fromVersion?: number) =>
        ns.createTableBranch({ id, name, fromBranch, fromVersion }),
      delete: (name: string) => ns.deleteTableBranch({ id, name }),
      append: (branch: string | undefined, ...values: number[]) =>
        ns.insertIntoTable({ id, branch }, rowsOf(...values)),
      overwrite: (branch: string | undefined, ...values: number[]) =>
        ns.insertIntoTable({ id, branch, mode: "overwrite" }, rowsOf(...values)),
      restore: (branch: string | undefined, version: number) => ns.restoreTable({ id, branch, version }),
      read: async (branch?: string, version?: number) =>
        valuesOf(await ns.table(id, { branch, version }).scan().toArrow()),
    },
    them: {
      create: (name: string, fromBranch?: string, fromVersion?: number) =>
        reference.createBranch(root, "t", name, { fromBranch, fromVersion }),
      delete: (name: string) => reference.deleteBranch(root, "t", name),
      append: (branch: string | undefined, ...values: number[]) =>
        reference.appendTable(root, "t", tableToIPC(rowsOf(...values)), { branch }),
      overwrite: (branch: string | undefined, ...values: number[]) =>
        reference.overwriteTable(root, "t", tableToIPC(rowsOf(...values)), { branch }),
      restore: (branch: string | undefined, version: number) =>
        reference.restoreTable(root, "t", version, { branch }),
      read: async (branch?: string, version?: number) =>
        valuesOf(tableFromIPC(await reference.readTable(root, "t", { branch, version }))),
    },
  };
}

/** Names, parents and rows of all branches in both engines. */
async function expectSame(ns: DirectoryNamespace, root: string): Promise<Record<string, number[]>> {
  const { us, them } = sidesOf(ns, root);
  const { branches } = await ns.listTableBranches({ id });
  const ours = Object.entries(branches).map(
    ([name, { parentBranch = null, parentVersion, manifestSize }]) => [
      name,
      { parentBranch, parentVersion, manifestSize },
    ],
  );
  expect(Object.fromEntries(ours)).toEqual(await reference.listBranches(root, "t"));
  const rows: Record<string, number[]> = { main: await us.read() };
  expect(await them.read()).toEqual(rows.main);
  for (const name of Object.keys(branches)) {
    rows[name] = await us.read(name);
    expect(await them.read(name), name).toEqual(rows[name]);
    const version = await ns.table(id, { branch: name }).version();
    expect(await reference.tableVersion(root, "t", { branch: name }), name).toBe(version);
  }
  return rows;
}

describe.each(SIDES)("a table and branches made by %s", (maker) => {
  it.each(SIDES)("are written, branched off and deleted by %s", async (writer) => {
    const root = await makeTempDir();
    await using ns = new DirectoryNamespace({ root, durability: "none" });
    const sides = sidesOf(ns, root);
    if (maker === "us") await ns.createTable({ id }, rowsOf(1));
    else await reference.createTable(root, "t", tableToIPC(rowsOf(1)));
    await sides[maker].append(undefined, 2);
    await reference.deleteRows(root, "t", "v = 1");
    await sides[maker].append(undefined, 3);

    await sides[maker].create("dev");
    await sides[maker].create("early", undefined, 2);
    expect(await expectSame(ns, root)).toEqual({ main: [2, 3], dev: [2, 3], early: [1, 2] });

    await sides[writer].append("dev", 10);
    await sides[writer].append("early", 20, 21);
    await sides[writer].append(undefined, 4);
    expect(await expectSame(ns, root)).toEqual({ main: [2, 3, 4], dev: [2, 3, 10], early: [1, 2, 20, 21] });
    await reference.deleteRows(root, "t", "v = 2", { branch: "dev" });
    await sides[maker].append("dev", 11);

    await sides[writer].create("dev/sub", "dev");
    await sides[maker].create("é-1_x.y", "dev/sub");
    await sides[maker].append("dev/sub", 30);
    await sides[writer].append("é-1_x.y", 40);
    await sides[maker].overwrite("early", 50);
    await sides[writer].restore("dev", 4);
    expect(await expectSame(ns, root)).toEqual({
      main: [2, 3, 4],
      dev: [2, 3],
      "dev/sub": [3, 10, 11, 30],
      early: [50],
      "é-1_x.y": [3, 10, 11, 40],
    });
    expect(await sides.us.read("dev", 5)).toEqual([2, 3, 10]);
    expect(await sides.them.read("dev", 5)).toEqual([2, 3, 10]);

    const { us, them } = sides;
    await expect(them.delete("dev")).rejects.toThrow(/referenced/);
    expect(await typeOf(us.delete("dev"))).toBe("InvalidInput");
    expect(await typeOf(us.create("dev"))).toBe("TableBranchAlreadyExists");
    await expect(them.create("dev")).rejects.toThrow();
    await sides[writer].delete("é-1_x.y");
    await sides[writer].delete("dev/sub");
    await sides[maker].delete("dev");
    expect(await expectSame(ns, root)).toEqual({ main: [2, 3, 4], early: [50] });
    expect(await readdir(join(root, "t.lance", "tree"))).toEqual(["early"]);

    for (const side of SIDES) {
      await sides[side].create("dev");
      await sides[side === "us" ? "them" : "us"].append("dev", 60);
      expect((await expectSame(ns, root)).dev).toEqual([2, 3, 4, 60]);
      await sides[side].delete("dev");
    }
  });
});

describe("branches", () => {
  it("are made from tags, and keep their settings", async ({ root, open }) => {
    const ns = open({ manifestNaming: "V1" });
    await ns.createTable({ id }, rowsOf(1));
    await ns.createTableTag({ id, tag: "one", version: 1 });
    await ns.insertIntoTable({ id }, rowsOf(2));
    await ns.createTableBranch({ id, name: "dev", fromTag: "one" });
    await ns.insertIntoTable({ id, branch: "dev" }, rowsOf(3));
    await ns.createTableTag({ id, tag: "dev-2", version: 2, branch: "dev" });
    await ns.createTableBranch({ id, name: "sub", fromTag: "dev-2" });
    expect(await expectSame(ns, root)).toEqual({ main: [1, 2], dev: [1, 3], sub: [1, 3] });
    expect((await ns.listTableBranches({ id })).branches.sub).toMatchObject({
      parentBranch: "dev",
      parentVersion: 2,
    });
    const names = await readdir(join(root, "t.lance", "tree", "sub", "_versions"));
    expect(names.filter((name) => name.endsWith(".manifest"))).toEqual(["2.manifest"]);
  });

  it("of a table with stable row ids go on numbering", async ({ root, ns }) => {
    await reference.createTable(root, "t", tableToIPC(rowsOf(1, 2)), { stableRowIds: true });
    await ns.createTableBranch({ id, name: "dev" });
    await ns.insertIntoTable({ id, branch: "dev" }, rowsOf(3));
    const rows = tableFromIPC(await reference.readTable(root, "t", { branch: "dev", withRowId: true }));
    expect(Array.from(rows.getChild("_rowid") ?? [], Number)).toEqual([0, 1, 2]);
    await expectSame(ns, root);
  });

  it("are listed page by page while others come and go", async ({ ns }) => {
    await ns.createTable({ id }, rowsOf(1));
    expect(await ns.listTableBranches({ id })).toEqual({ branches: {} });
    const names = ["B", "__proto__", "a", "a-b", "a/b", "ab", "é", "𝒳"];
    for (const name of names) await ns.createTableBranch({ id, name });
    const seen: string[] = [];
    for (let pageToken: string | undefined; ; ) {
      const page = await ns.listTableBranches({ id, limit: 3, pageToken });
      const listed = Object.keys(page.branches);
      expect(listed.length).toBeLessThanOrEqual(3);
      seen.push(...listed);
      if (page.pageToken === undefined) break;
      pageToken = page.pageToken;
      // Neither engine's listing moves entries of later pages.
      await ns.createTableBranch({ id, name: `0${seen.length}` });
      await ns.deleteTableBranch({ id, name: seen[0]! }).catch(() => undefined);
    }
    expect(seen).toEqual(names);
    expect(Object.keys((await ns.listTableBranches({ id, limit: 4 })).branches).length).toBe(4);
  });
});
