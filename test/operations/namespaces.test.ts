/** Namespaces and their tables: existence, listings, refusals and drops. */

import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { beforeEach, describe, expect, it } from "vitest";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { rowsOf } from "../support/intRows.js";
import { errorOf } from "../support/outcomes.js";
import { lacks } from "../support/suite/diskLimits.js";
import { mkdir, pathOfLocation, readdir, rename, rm, utimes, writeFile } from "../support/suite/rootFiles.js";
import { makeTempDir } from "../support/tempDir.js";

/** True if the test runs over HTTP, where the engine may already work when it requests rows. */
const overHttp = "overHttp" in DirectoryNamespace;

let root: string;
let ns: DirectoryNamespace;

beforeEach(async () => {
  root = join(await makeTempDir(), "root");
  ns = new DirectoryNamespace({ root, durability: "none" });
  return () => ns.close();
});

const read = async (id: string[]) =>
  Array.from((await ns.table(id).scan().toArrow()).getChild("v") ?? [], Number);
const placeOf = async (id: string[]) =>
  pathOfLocation((await ns.describeTable({ id })).location).slice(root.length + 1);

async function expectRefusal(call: () => Promise<unknown>, type: string): Promise<void> {
  const before = await directorySnapshot(root);
  const error = await errorOf(call());
  expect(error, `the call should have been refused with ${type}`).toBeInstanceOf(NamespaceError);
  expect((error as NamespaceError).type, String(error)).toBe(type);
  // Over HTTP, the engine may still remove files of a call whose client has left.
  if ("overHttp" in DirectoryNamespace) await expect.poll(() => directorySnapshot(root)).toEqual(before);
  else expect(await directorySnapshot(root)).toEqual(before);
}

describe("createNamespace", () => {
  it("createNamespace creates nested namespaces with properties", async () => {
    expect(await ns.createNamespace({ id: ["a"], properties: { k: "v", __proto__x: "" } })).toEqual({
      properties: { k: "v", __proto__x: "" },
    });
    expect(await ns.createNamespace({ id: ["a", "b"] })).toEqual({ properties: {} });
    expect(await ns.describeNamespace({ id: ["a"] })).toEqual({ properties: { k: "v", __proto__x: "" } });
    expect(await ns.describeNamespace({ id: ["a", "b"] })).toEqual({ properties: {} });
    expect(await ns.namespaceExists({ id: ["a", "b"] })).toBeUndefined();
  });
  it("the mode decides about an existing namespace", async () => {
    await ns.createNamespace({ id: ["a"], properties: { k: "v" } });
    await expectRefusal(() => ns.createNamespace({ id: ["a"] }), "NamespaceAlreadyExists");
    await expectRefusal(() => ns.createNamespace({ id: ["a"], mode: "create" }), "NamespaceAlreadyExists");
    expect(await ns.createNamespace({ id: ["a"], mode: "exist_ok", properties: { k: "w" } })).toEqual({
      properties: { k: "v" },
    });
    expect(await ns.createNamespace({ id: ["a"], mode: "Overwrite", properties: { l: "w" } })).toEqual({
      properties: { l: "w" },
    });
    expect(await ns.describeNamespace({ id: ["a"] })).toEqual({ properties: { l: "w" } });
    await ns.createNamespace({ id: ["a", "b"] });
    await expectRefusal(() => ns.createNamespace({ id: ["a"], mode: "Overwrite" }), "NamespaceNotEmpty");
    await expectRefusal(
      () => ns.createNamespace({ id: ["a"], mode: "sometimes" as "create" }),
      "InvalidInput",
    );
  });
  it("createNamespace refuses illegal names and missing parents", async () => {
    await expectRefusal(() => ns.createNamespace({ id: [] }), "NamespaceAlreadyExists");
    await expectRefusal(() => ns.createNamespace({ id: ["x", "y"] }), "NamespaceNotFound");
    for (const name of ["", ".", "..", "a/b", "a\\b", "a$b", "a\nb", "it's", "x".repeat(201), "\ud800"]) {
      await expectRefusal(() => ns.createNamespace({ id: [name] }), "InvalidInput");
    }
    await expectRefusal(
      () => ns.createNamespace({ id: ["a"], properties: { k: 1 } as never }),
      "InvalidInput",
    );
    await ns.createTable({ id: ["t"] }, rowsOf(1));
    await ns.createNamespace({ id: ["a"] });
    await ns.createTable({ id: ["a", "t"] }, rowsOf(1));
    await expectRefusal(() => ns.createNamespace({ id: ["t"] }), "NamespaceAlreadyExists");
    await expectRefusal(() => ns.createNamespace({ id: ["a", "t"] }), "NamespaceAlreadyExists");
    await expectRefusal(() => ns.createTable({ id: ["a"] }, rowsOf(1)), "TableAlreadyExists");
    await expectRefusal(() => ns.declareTable({ id: ["a"] }), "TableAlreadyExists");
    await expectRefusal(() => ns.tableExists({ id: ["a"] }), "TableNotFound");
    await expectRefusal(() => ns.describeNamespace({ id: ["a", "t"] }), "NamespaceNotFound");
  });
});

describe("what does not exist", () => {
  it("operations report a missing namespace and never return an empty success", async () => {
    await ns.createNamespace({ id: ["a"] });
    for (const id of [["x"], ["a", "x"], ["x", "y"]]) {
      await expectRefusal(() => ns.describeNamespace({ id }), "NamespaceNotFound");
      await expectRefusal(() => ns.namespaceExists({ id }), "NamespaceNotFound");
      await expectRefusal(() => ns.listNamespaces({ id }), "NamespaceNotFound");
      await expectRefusal(() => ns.listTables({ id }), "NamespaceNotFound");
      await expectRefusal(() => ns.dropNamespace({ id }), "NamespaceNotFound");
      expect(await ns.dropNamespace({ id, mode: "Skip" })).toEqual({});
      const table = [...id, "t"];
      await expectRefusal(() => ns.createTable({ id: table }, rowsOf(1)), "NamespaceNotFound");
      await expectRefusal(() => ns.declareTable({ id: table }), "NamespaceNotFound");
      await expectRefusal(() => ns.describeTable({ id: table }), "NamespaceNotFound");
      await expectRefusal(() => ns.dropTable({ id: table }), "NamespaceNotFound");
      await expectRefusal(() => ns.deregisterTable({ id: table }), "NamespaceNotFound");
      await expectRefusal(() => ns.registerTable({ id: table, location: "x" }), "NamespaceNotFound");
    }
    for (const call of [
      () => ns.insertIntoTable({ id: ["a", "t"] }, rowsOf(1)),
      () => ns.describeTable({ id: ["a", "t"] }),
      () => ns.dropTable({ id: ["a", "t"] }),
      () => ns.deregisterTable({ id: ["a", "t"] }),
      () => ns.deregisterTable({ id: ["t"] }),
      () => ns.renameTable({ id: ["a", "t"], newTableName: "u" }),
      () => ns.renameTable({ id: ["t"], newTableName: "u" }),
      () => ns.restoreTable({ id: ["a", "t"], version: 1 }),
      () => ns.getTableStats({ id: ["a", "t"] }),
      () => ns.queryTable({ id: ["a", "t"] }),
    ]) {
      await expectRefusal(call, "TableNotFound");
    }
  });
  it("a root that was never written to is empty", async () => {
    expect(await ns.listNamespaces()).toEqual({ namespaces: [] });
    expect(await ns.listAllTables()).toEqual({ tables: [] });
    expect(await ns.describeNamespace()).toEqual({ properties: {} });
    await ns.namespaceExists({ id: [] });
    await expectRefusal(() => ns.listTables({ id: ["a"] }), "NamespaceNotFound");
    await expectRefusal(() => ns.dropNamespace({ id: ["a"] }), "NamespaceNotFound");
    await expectRefusal(() => ns.createNamespace({ id: ["a", "b"] }), "NamespaceNotFound");
    expect(await directorySnapshot(root)).toEqual({});
  });
  it("operations refuse illegal names", async () => {
    await ns.createNamespace({ id: ["a"] });
    for (const name of ["", "..", "a/b", "a\\b", "a$b", "a\0b", "x".repeat(201)]) {
      const id = ["a", name];
      await expectRefusal(() => ns.createTable({ id }, rowsOf(1)), "InvalidInput");
      await expectRefusal(() => ns.declareTable({ id }), "InvalidInput");
      await expectRefusal(() => ns.describeTable({ id }), "InvalidInput");
      await expectRefusal(() => ns.registerTable({ id, location: "x" }), "InvalidInput");
      await expectRefusal(() => ns.createNamespace({ id }), "InvalidInput");
      await expectRefusal(() => ns.namespaceExists({ id }), "InvalidInput");
      await expectRefusal(() => ns.listTables({ id: [name] }), "InvalidInput");
      await expectRefusal(() => ns.createTable({ id: [name, "t"] }, rowsOf(1)), "InvalidInput");
      await expectRefusal(() => ns.dropNamespace({ id, mode: "Skip", behavior: "Cascade" }), "InvalidInput");
    }
    await expectRefusal(() => ns.createTable({ id: ["a", "t"] }, "rows" as never), "InvalidInput");
  });
});

describe("listing", () => {
  it("listings are sorted, page by page, with every name once", async () => {
    const names = ["b", "a", "Z", "é", "😀", "～", "10", "9", "a.b", "a b"];
    for (const name of names) await ns.createNamespace({ id: [name] });
    await ns.createNamespace({ id: ["a", "inner"] });
    for (const name of names) await ns.createTable({ id: ["a", name] }, rowsOf(1));
    await ns.declareTable({ id: ["a", "declared"] });
    await ns.createTable({ id: ["top"] }, rowsOf(1));
    const hexOf = (name: string) =>
      Array.from(new TextEncoder().encode(name), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const byBytes = (list: string[]) => list.sort((left, right) => (hexOf(left) < hexOf(right) ? -1 : 1));
    const all = async (
      page: (pageToken?: string) => Promise<{ names: readonly string[]; pageToken?: string }>,
    ) => {
      const seen: string[] = [];
      for (let token: string | undefined; ; ) {
        const { names, pageToken } = await page(token);
        seen.push(...names);
        if (pageToken === undefined) return seen;
        expect(pageToken).toBe(names.at(-1));
        token = pageToken;
      }
    };
    const expectations: [
      string[],
      (limit?: number) => (pageToken?: string) => Promise<{ names: readonly string[] }>,
    ][] = [
      [
        byBytes([...names]),
        (limit) => async (pageToken) => {
          const { namespaces, ...rest } = await ns.listNamespaces({ limit, pageToken });
          return { names: namespaces, ...rest };
        },
      ],
      [
        byBytes([...names, "declared"]),
        (limit) => async (pageToken) => {
          const { tables, ...rest } = await ns.listTables({ id: ["a"], limit, pageToken });
          return { names: tables, ...rest };
        },
      ],
      [
        byBytes([...names]),
        (limit) => async (pageToken) => {
          const { tables, ...rest } = await ns.listTables({
            id: ["a"],
            limit,
            pageToken,
            includeDeclared: false,
          });
          return { names: tables, ...rest };
        },
      ],
      [
        byBytes([...names.map((name) => `a$${name}`), "a$declared", "top"]),
        (limit) => async (pageToken) => {
          const { tables, ...rest } = await ns.listAllTables({ limit, pageToken });
          return { names: tables, ...rest };
        },
      ],
    ];
    for (const [expected, list] of expectations) {
      expect(await all(list())).toEqual(expected);
      for (const limit of [1, 3, expected.length, expected.length + 1]) {
        expect(await all(list(limit)), `limit ${limit}`).toEqual(expected);
      }
    }
    expect(await ns.listNamespaces({ limit: names.length })).not.toHaveProperty("pageToken");
    expect(await ns.listNamespaces({ pageToken: "zzz" })).toEqual({ namespaces: ["é", "～", "😀"] });
    expect(await ns.listNamespaces({ id: ["a"] })).toEqual({ namespaces: ["inner"] });
    expect(await ns.listTables({ id: ["a", "inner"] })).toEqual({ tables: [] });
    for (const limit of [0, -1, 1.5, "3"]) {
      await expectRefusal(() => ns.listNamespaces({ limit: limit as number }), "InvalidInput");
      await expectRefusal(() => ns.listAllTables({ limit: limit as number }), "InvalidInput");
    }
  });
});

describe("dropNamespace", () => {
  it("dropNamespace refuses a namespace that is not empty, unless it cascades", async () => {
    await ns.createNamespace({ id: ["a"], properties: { k: "v" } });
    await ns.createNamespace({ id: ["ab"] });
    await ns.createNamespace({ id: ["a", "b"] });
    await ns.createTable({ id: ["a", "b", "t"] }, rowsOf(1));
    await ns.declareTable({ id: ["a", "d"] });
    await ns.createTable({ id: ["ab", "t"] }, rowsOf(2));
    await ns.createTable({ id: ["r"] }, rowsOf(3));
    await expectRefusal(() => ns.dropNamespace({ id: ["a"] }), "NamespaceNotEmpty");
    await expectRefusal(() => ns.dropNamespace({ id: ["a"], behavior: "restrict" }), "NamespaceNotEmpty");
    await expectRefusal(() => ns.dropNamespace({ id: ["a"], mode: "Skip" }), "NamespaceNotEmpty");
    await expectRefusal(() => ns.dropNamespace({ id: ["a"], behavior: "all" as "cascade" }), "InvalidInput");
    await expectRefusal(() => ns.dropNamespace({ id: [], behavior: "Cascade" }), "InvalidInput");
    expect(await ns.dropNamespace({ id: ["a"], behavior: "cascade" })).toEqual({ properties: { k: "v" } });
    expect((await ns.listNamespaces()).namespaces).toEqual(["ab"]);
    expect((await ns.listAllTables()).tables).toEqual(["ab$t", "r"]);
    expect((await readdir(root)).sort()).toEqual(
      ["__manifest", await placeOf(["ab", "t"]), "r.lance"].sort(),
    );
    expect(await read(["ab", "t"])).toEqual([2]);
    await ns.createNamespace({ id: ["a"] });
    expect((await ns.listTables({ id: ["a"] })).tables).toEqual([]);
  });
});

describe("tables of a child namespace", () => {
  beforeEach(async () => {
    await ns.createNamespace({ id: ["a"] });
    await ns.createNamespace({ id: ["b"] });
  });

  it("every operation works on tables of a child namespace", async () => {
    const id = ["a", "t"];
    const created = await ns.createTable({ id, properties: { k: "v" } }, rowsOf(1, 2));
    expect(created).toMatchObject({ version: 1, numInsertedRows: 2 });
    expect(await ns.insertIntoTable({ id }, rowsOf(3))).toMatchObject({ version: 2 });
    expect(await ns.describeTable({ id })).toMatchObject({
      table: "t",
      namespace: ["a"],
      version: 2,
      location: created.location,
      properties: { k: "v" },
      isOnlyDeclared: false,
    });
    expect(await ns.countTableRows({ id })).toBe(3);
    expect((await ns.getTableStats({ id })).numRows).toBe(3);
    expect((await ns.listTableVersions({ id })).versions.map(({ version }) => version)).toEqual([1, 2]);
    expect(await ns.restoreTable({ id, version: 1 })).toMatchObject({ version: 3 });
    expect(await read(id)).toEqual([1, 2]);
    await ns.tableExists({ id, version: 2 });
    expect(await ns.dropTable({ id })).toEqual({ id, location: created.location, properties: { k: "v" } });
    await expectRefusal(() => ns.tableExists({ id }), "TableNotFound");
    expect((await readdir(root)).sort()).toEqual(["__manifest"]);
  });

  it("a dropped table of any name leaves nothing", async () => {
    for (const name of ["t.lance", "t.lance.", "__manifest", ".tiltyard-dropped-1", "x".repeat(200), "ü"]) {
      await ns.createTable({ id: ["a", name] }, rowsOf(1));
      expect((await ns.listTables()).tables, name).toEqual([]);
      expect((await ns.listAllTables()).tables, name).toEqual([`a$${name}`]);
      await ns.dropTable({ id: ["a", name] });
      expect(await readdir(root), name).toEqual(["__manifest"]);
    }
  });

  it("the mode decides about an existing table", async () => {
    const id = ["a", "t"];
    await ns.createTable({ id }, rowsOf(1));
    await expectRefusal(() => ns.createTable({ id }, rowsOf(2)), "TableAlreadyExists");
    await expectRefusal(() => ns.declareTable({ id }), "TableAlreadyExists");
    expect(await ns.createTable({ id, mode: "ExistOk" }, rowsOf(2))).toMatchObject({
      version: 1,
      numInsertedRows: 0,
    });
    expect(await ns.createTable({ id, mode: "Overwrite", properties: { n: "1" } }, rowsOf(3))).toMatchObject({
      version: 2,
    });
    expect(await read(id)).toEqual([3]);
    expect((await ns.describeTable({ id })).properties).toEqual({ n: "1" });
    await ns.createTable({ id, mode: "Overwrite" }, rowsOf(4));
    expect((await ns.describeTable({ id })).properties).toEqual({ n: "1" });
  });

  it("failed creations leave nothing", async () => {
    const bad = (async function* () {
      yield* rowsOf(1).batches;
      throw new Error("no more");
    })();
    await expectRefusal(() => ns.createTable({ id: ["a", "t"] }, bad), "InvalidInput");
    const id = ["a", "t"];
    const meanwhile = (async function* () {
      await ns.dropNamespace({ id: ["a"] });
      yield* rowsOf(1).batches;
    })();
    await expect(ns.createTable({ id }, meanwhile)).rejects.toMatchObject({ type: "NamespaceNotFound" });
    expect(await readdir(root)).toEqual(["__manifest"]);
  });

  describe.skipIf(overHttp || lacks("fileTimes"))("creations that died", () => {
    const week = 7 * 24 * 3600;

    /** Creates an abandoned directory with files, untouched for some seconds. */
    async function leave(name: string, files: readonly string[], ageSeconds: number): Promise<void> {
      const location = join(root, name);
      for (const file of files) {
        await mkdir(join(location, file, ".."), { recursive: true });
        await writeFile(join(location, file), "bytes");
      }
      await age(location, ageSeconds);
    }

    async function age(location: string, seconds: number): Promise<void> {
      const then = Date.now() / 1000 - seconds;
      for (const inside of await readdir(location, { recursive: true }))
        await utimes(join(location, inside), then, then);
      await utimes(location, then, then);
    }

    it("a cleanup removes them a week later", async () => {
      await ns.createTable({ id: ["a", "t"] }, rowsOf(1));
      await ns.createTable({ id: ["a", "kept"] }, rowsOf(2));
      const kept = await placeOf(["a", "kept"]);
      await ns.deregisterTable({ id: ["a", "kept"] });
      await age(join(root, kept), 2 * week);
      const directory = await placeOf(["a", "t"]);
      await age(join(root, directory), 2 * week);
      await leave("0123abcd_a$x", ["data/1.lance", "_transactions/0-1.txn", "_versions/.tmp-1"], week + 60);
      const stays = {
        "0123abcd_a$young": ["data/1.lance"],
        "0123abcd_a$declared": [".lance-reserved"],
        "0123abcd_a$version": ["data/1.lance", "_versions/1.manifest"],
        "0123abcd_a$foreign": ["data/1.lance", "notes.txt"],
        other: ["data/1.lance"],
        "other.lance": ["data/1.lance"],
      };
      for (const [name, files] of Object.entries(stays)) {
        await leave(name, files, name.endsWith("young") ? week - 60 : 2 * week);
      }
      await ns.cleanupTable({ id: ["a", "t"] });
      expect((await readdir(root)).sort()).toEqual(
        ["__manifest", kept, directory, ...Object.keys(stays)].sort(),
      );
      await ns.registerTable({ id: ["a", "kept"], location: kept });
      expect(await read(["a", "kept"])).toEqual([2]);
    });

    it.skipIf(lacks("emptyDirectories"))("a creation that goes on after its cleanup fails", async () => {
      await ns.createTable({ id: ["a", "t"] }, rowsOf(1));
      const rows = (async function* () {
        yield* rowsOf(1).batches;
        const [location] = (await readdir(root)).filter((name) => name.endsWith("late"));
        await age(join(root, location), 2 * week);
        await ns.cleanupTable({ id: ["a", "t"] });
        expect(await readdir(root)).not.toContain(location);
      })();
      await expect(ns.createTable({ id: ["a", "late"] }, rows)).rejects.toMatchObject({
        type: "ConcurrentModification",
      });
      await expectRefusal(() => ns.tableExists({ id: ["a", "late"] }), "TableNotFound");
    });
  });

  it.skipIf(overHttp)("a creation leaves a table unchanged that another caller created first", async () => {
    for (const [mode, type] of [
      ["Create", "TableAlreadyExists"],
      ["Overwrite", "ConcurrentModification"],
    ] as const) {
      const id = ["a", mode];
      const rows = (async function* () {
        await ns.createTable({ id }, rowsOf(9));
        yield* rowsOf(1).batches;
      })();
      await expect(ns.createTable({ id, mode }, rows)).rejects.toMatchObject({ type });
      expect(await read(id)).toEqual([9]);
    }
    const id = ["a", "ExistOk"];
    const rows = (async function* () {
      await ns.createTable({ id }, rowsOf(8));
      yield* rowsOf(1).batches;
    })();
    expect(await ns.createTable({ id, mode: "ExistOk" }, rows)).toMatchObject({ version: 1 });
    expect(await read(id)).toEqual([8]);
    expect((await readdir(root)).length).toBe(4);
  });

  it("an insert or a create fills a declared table", async () => {
    for (const id of [["a", "d"], ["d"]]) {
      const { location } = await ns.declareTable({ id, properties: { k: "v" } });
      expect(await ns.describeTable({ id })).toEqual({
        table: "d",
        namespace: id.slice(0, -1),
        location,
        tableUri: expect.stringMatching(/^(file|s3):/),
        properties: { k: "v" },
        managedVersioning: false,
        isOnlyDeclared: true,
      });
      await expectRefusal(() => ns.declareTable({ id }), "TableAlreadyExists");
      await expectRefusal(() => ns.createTable({ id, properties: { l: "w" } }, rowsOf(1)), "InvalidInput");
      expect(await ns.countTableRows({ id })).toBe(0);
      await ns.insertIntoTable({ id }, rowsOf(1));
      expect(await ns.describeTable({ id })).toMatchObject({ location, version: 1, properties: { k: "v" } });
      await ns.dropTable({ id });
      await ns.declareTable({ id });
      await ns.createTable({ id }, rowsOf(2));
      expect(await read(id)).toEqual([2]);
    }
    await expectRefusal(() => ns.declareTable({ id: ["a", "x"], location: "x" }), "InvalidInput");
  });
});

describe("renameTable", () => {
  beforeEach(async () => {
    await ns.createNamespace({ id: ["a"] });
    await ns.createNamespace({ id: ["b"] });
    await ns.createTable({ id: ["a", "t"], properties: { of: "a" } }, rowsOf(1));
    await ns.createTable({ id: ["r"], properties: { of: "r" } }, rowsOf(2));
  });

  it.each([
    [
      ["a", "t"],
      ["a", "u"],
    ],
    [
      ["a", "t"],
      ["b", "t"],
    ],
    [["a", "t"], ["t"]],
    [["r"], ["s"]],
    [["r"], ["b", "r"]],
  ])("from %j to %j and back", async (from, to) => {
    if (lacks("rename") && Math.min(from.length, to.length) === 1) {
      const move = { id: from, newTableName: to.at(-1) as string, newNamespaceId: to.slice(0, -1) };
      return expectRefusal(() => ns.renameTable(move), "Unsupported");
    }
    const rows = await read(from);
    const { properties } = await ns.describeTable({ id: from });
    const there = { newTableName: to.at(-1) as string, newNamespaceId: to.slice(0, -1) };
    expect(await ns.renameTable({ id: from, ...there })).toEqual({});
    await expectRefusal(() => ns.tableExists({ id: from }), "TableNotFound");
    expect(await read(to)).toEqual(rows);
    expect(await ns.describeTable({ id: to })).toMatchObject({ version: 1, properties });
    await ns.insertIntoTable({ id: to }, rowsOf(7));
    const back = { newTableName: from.at(-1) as string, newNamespaceId: from.slice(0, -1) };
    await ns.renameTable({ id: to, ...back });
    expect(await read(from)).toEqual([...rows, 7]);
    expect((await ns.listAllTables()).tables).toEqual(["a$t", "r"]);
    expect((await readdir(root)).length).toBe(3);
    await ns.declareTable({ id: to });
    await expectRefusal(() => ns.renameTable({ id: from, ...there }), "TableAlreadyExists");
  });

  it("renameTable refuses an illegal name, a taken name and a missing namespace", async () => {
    for (const newTableName of ["", "..", "a/b", "a$b", 7 as never, undefined as never]) {
      await expectRefusal(() => ns.renameTable({ id: ["a", "t"], newTableName }), "InvalidInput");
      await expectRefusal(() => ns.renameTable({ id: ["r"], newTableName }), "InvalidInput");
    }
    await expectRefusal(() => ns.renameTable({ id: ["r"], newTableName: "ü" }), "InvalidInput");
    const nowhere = { newTableName: "t", newNamespaceId: ["x"] };
    await expectRefusal(() => ns.renameTable({ id: ["a", "t"], ...nowhere }), "NamespaceNotFound");
    await expectRefusal(() => ns.renameTable({ id: ["r"], ...nowhere }), "NamespaceNotFound");
    await expectRefusal(() => ns.renameTable({ id: ["a", "t"], newTableName: "t" }), "TableAlreadyExists");
    await expectRefusal(() => ns.renameTable({ id: ["r"], newTableName: "r" }), "TableAlreadyExists");
    await expectRefusal(() => ns.renameTable({ id: ["r"], newTableName: "a" }), "TableAlreadyExists");
    const up = { newTableName: "r", newNamespaceId: [] };
    await expectRefusal(() => ns.renameTable({ id: ["a", "t"], ...up }), "TableAlreadyExists");
  });

  describe("a rename to an existing directory", () => {
    const newDirectory = () => join(root, "new.lance");
    const move = () => ns.renameTable({ id: ["r"], newTableName: "new" });

    beforeEach(async () => {
      await mkdir(join(newDirectory(), "data"), { recursive: true });
      await mkdir(join(newDirectory(), "_versions"));
      await writeFile(join(newDirectory(), "data", "rows.lance"), "rows");
      await writeFile(join(newDirectory(), "_versions", ".tmp-manifest"), "");
    });

    /** Sets the modification times of all files to some seconds ago. */
    async function age(seconds: number): Promise<void> {
      const then = Date.now() / 1000 - seconds;
      for (const name of await readdir(newDirectory(), { recursive: true }))
        await utimes(join(newDirectory(), name), then, then);
      await utimes(newDirectory(), then, then);
    }

    it.skipIf(lacks("rename", "fileTimes"))("a rename replaces a creation that died", async () => {
      await age(11);
      await move();
      expect(await read(["new"])).toEqual([2]);
      await expectRefusal(() => ns.tableExists({ id: ["r"] }), "TableNotFound");
      expect((await readdir(root)).filter((name) => name.startsWith("."))).toEqual([]);
      expect(await readdir(join(newDirectory(), "data"))).not.toContain("rows.lance");
    });

    it.skipIf(lacks("rename", "fileTimes"))("a rename is refused if a creation may be running", async () => {
      await age(8);
      await expectRefusal(move, "TableAlreadyExists");
      await age(11);
      await writeFile(join(newDirectory(), "data", "more.lance"), "");
      await expectRefusal(move, "TableAlreadyExists");
    });

    it.skipIf(lacks("rename", "fileTimes"))(
      "a rename is refused if the directory is not part of a table",
      async () => {
        await writeFile(join(newDirectory(), "notes.txt"), "mine");
        await age(3600);
        await expectRefusal(move, "TableAlreadyExists");
        await rm(join(newDirectory(), "notes.txt"));
        await mkdir(join(newDirectory(), "_refs"));
        await age(3600);
        await expectRefusal(move, "TableAlreadyExists");
      },
    );

    it.skipIf(overHttp || lacks("rename", "fileTimes"))(
      "a creation that slept during the rename fails",
      async () => {
        const pauses = new EventEmitter();
        async function* slowly() {
          yield* rowsOf(5).batches;
          pauses.emit("asleep");
          await once(pauses, "woken");
        }
        await rm(newDirectory(), { recursive: true });
        const creation = ns.createTable({ id: ["new"], properties: { of: "new" } }, slowly());
        creation.catch(() => undefined);
        await once(pauses, "asleep");
        expect(await readdir(join(newDirectory(), "data"))).toHaveLength(1);
        await age(11);
        await move();
        pauses.emit("woken");
        await expect(creation).rejects.toMatchObject({ type: "TableAlreadyExists" });
        expect(await read(["new"])).toEqual([2]);
        expect(await ns.describeTable({ id: ["new"] })).toMatchObject({ properties: { of: "r" } });
      },
    );
  });

  it("a rename is refused if a table with branches would have to move", async () => {
    for (const id of [["r"], ["a", "t"]]) {
      const location = pathOfLocation((await ns.describeTable({ id })).location);
      await mkdir(join(location, "_refs", "branches"), { recursive: true });
      await writeFile(join(location, "_refs", "branches", "dev.json"), "{}");
    }
    const up = { newTableName: "t", newNamespaceId: [] };
    await expectRefusal(() => ns.renameTable({ id: ["a", "t"], ...up }), "Unsupported");
    await expectRefusal(() => ns.renameTable({ id: ["r"], newTableName: "s" }), "Unsupported");
    await ns.renameTable({ id: ["a", "t"], newTableName: "t", newNamespaceId: ["b"] });
    expect(await read(["b", "t"])).toEqual([1]);
  });
});

describe("registered tables", () => {
  beforeEach(async () => {
    await ns.createNamespace({ id: ["a"] });
    await ns.createTable({ id: ["a", "t"], properties: { k: "v" } }, rowsOf(1));
    await ns.createTable({ id: ["r"] }, rowsOf(2));
  });

  it("deregisterTable keeps the data, and registerTable registers it again", async () => {
    const { location } = await ns.describeTable({ id: ["a", "t"] });
    const directory = pathOfLocation(location).slice(root.length + 1);
    expect(await ns.deregisterTable({ id: ["a", "t"] })).toEqual({
      id: ["a", "t"],
      location,
      properties: { k: "v" },
    });
    await expectRefusal(() => ns.deregisterTable({ id: ["a", "t"] }), "TableNotFound");
    expect((await ns.listTables({ id: ["a"] })).tables).toEqual([]);
    expect(await ns.registerTable({ id: ["a", "u"], location: directory, properties: { n: "w" } })).toEqual({
      location,
      properties: { n: "w" },
    });
    expect(await read(["a", "u"])).toEqual([1]);
    expect((await ns.describeTable({ id: ["a", "u"] })).properties).toEqual({ n: "w" });
    await ns.deregisterTable({ id: ["r"] });
    await expectRefusal(() => ns.deregisterTable({ id: ["r"] }), "TableNotFound");
    await expectRefusal(() => ns.createTable({ id: ["r"] }, rowsOf(1)), "TableAlreadyExists");
    await expectRefusal(
      () => ns.renameTable({ id: ["a", "u"], newTableName: "r", newNamespaceId: [] }),
      "TableAlreadyExists",
    );
    expect((await ns.listTables()).tables).toEqual([]);
    await ns.registerTable({ id: ["r"], location: "r.lance" });
    expect(await read(["r"])).toEqual([2]);
  });

  it.skipIf(lacks("rename"))("registerTable accepts any directory below the root, and no other", async () => {
    await ns.deregisterTable({ id: ["a", "t"] });
    const [directory] = (await readdir(root)).filter((name) => name.endsWith("a$t"));
    await mkdir(join(root, "some", "where"), { recursive: true });
    await rename(join(root, directory), join(root, "some", "where", "t"));
    const id = ["a", "w"];
    for (const location of [
      "",
      "/",
      "..",
      "../x",
      "some/../some/where/t",
      "./some/where/t",
      "some//where/t",
      "/some/where/t",
      "file:///x",
      "c:\\x",
      "some\\where",
      "__manifest",
      "__manifest/x",
      ".tiltyard-x",
      "none",
      "some",
      "r.lance",
      "r.lance/data",
      7 as never,
      null as never,
    ]) {
      await expectRefusal(() => ns.registerTable({ id, location }), "InvalidInput");
    }
    await expectRefusal(() => ns.registerTable({ id: ["w"], location: "some/where/t" }), "InvalidInput");
    await expectRefusal(() => ns.registerTable({ id: ["r"], location: "r.lance" }), "TableAlreadyExists");
    await ns.registerTable({ id, location: "some/where/t" });
    expect(await read(id)).toEqual([1]);
    await expectRefusal(() => ns.registerTable({ id, location: "some/where/t" }), "TableAlreadyExists");
    await expectRefusal(() => ns.registerTable({ id: ["a", "x"], location: "some/where/t" }), "InvalidInput");
    await ns.registerTable({ id, location: "some/where/t", mode: "Overwrite", properties: { k: "v" } });
    expect((await ns.describeTable({ id })).properties).toEqual({ k: "v" });
    await ns.dropTable({ id });
    expect(await readdir(join(root, "some", "where"))).toEqual([]);
  });
});

describe("another engine's catalog", () => {
  it("open engines see changes of another engine's catalog at once", async () => {
    await using secondNamespace = new DirectoryNamespace({ root, durability: "none" });
    await ns.createNamespace({ id: ["a"] });
    await secondNamespace.createTable({ id: ["a", "t"] }, rowsOf(1));
    expect(await read(["a", "t"])).toEqual([1]);
    await secondNamespace.renameTable({ id: ["a", "t"], newTableName: "u" });
    await expect(ns.tableExists({ id: ["a", "t"] })).rejects.toMatchObject({ type: "TableNotFound" });
    expect(await read(["a", "u"])).toEqual([1]);
    await rm(root, { recursive: true });
    expect((await ns.listNamespaces()).namespaces).toEqual([]);
    await secondNamespace.createNamespace({ id: ["b"] });
    expect((await ns.listNamespaces()).namespaces).toEqual(["b"]);
  });
});
