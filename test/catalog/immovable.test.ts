/** Drops tables on a file system that does not move directories, such as overlayfs: nothing may remain. */

import { cp, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { makeVector, Table } from "apache-arrow";
import {
  DirectoryNamespace,
  InternalError,
  InvalidInputError,
  NamespaceError,
  ServiceUnavailableError,
  TableNotFoundError,
  UnsupportedError,
} from "tiltyard";
import { describe, expect, it } from "vitest";
import type { Disk, WriteHandle } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { withLock } from "../../src/io/lock/lock.js";
import { directorySnapshot, tablesSnapshot } from "../support/directorySnapshot.js";
import { strideOf } from "../support/effort.js";
import { type FaultMode, faultyDisk } from "../support/faultyDisk.js";
import { ImmovableDisk } from "../support/immovableDisk.js";
import { reference } from "../support/reference.js";
import { makeTempDir } from "../support/tempDir.js";

/** Step between the calls that fail, for each way to fail; `npm run soak` tries more. */
const STRIDE = strideOf("CRASH_STRIDE", 149);

const rows = new Table({ v: makeVector(Int32Array.of(1, 2)) });

async function prepare(root: string): Promise<void> {
  await using ns = new DirectoryNamespace({ root, durability: "none" });
  for (const id of [["r"], ["a", "t"], ["a", "b", "u"]]) {
    if (id.length > 1) await ns.createNamespace({ id: id.slice(0, -1) });
    await ns.createTable({ id }, rows);
    await ns.insertIntoTable({ id }, rows);
    await ns.createTableTag({ id, tag: "first", version: 1 });
    await ns.createTableBranch({ id, name: "deep/down" });
    await ns.insertIntoTable({ id, branch: "deep/down" }, rows);
  }
  await ns.declareTable({ id: ["d"] });
  await ns.declareTable({ id: ["a", "d"] });
  await ns.createTable({ id: ["kept"] }, rows);
}

async function prepared(): Promise<string> {
  const root = join(await makeTempDir(), "ns");
  await prepare(root);
  return root;
}

const open = (root: string, disk: Disk = new ImmovableDisk(), allowedBases: readonly string[] = []) =>
  new DirectoryNamespace({ root, disk, lock: { staleMs: 2000 }, allowedBases });

/** Lists the entries of a namespace's directory besides its catalog. */
const left = async (root: string): Promise<string[]> =>
  (await readdir(root)).filter((name) => name !== "__manifest").sort();

/** Makes locks old. Retries if the lock of the catalog vanishes meanwhile, which is released. */
async function expireLocks(root: string): Promise<void> {
  try {
    for (const name of await readdir(root, { recursive: true })) {
      if (basename(name).startsWith(".tiltyard.lock")) await utimes(join(root, name), 1, 1);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    await expireLocks(root);
  }
}

const DROPS: [
  name: string,
  run: (ns: DirectoryNamespace) => Promise<unknown>,
  gone: string[][],
  made: string[],
][] = [
  ["dropTable in the root", (ns) => ns.dropTable({ id: ["r"] }), [["r"]], ["r.lance"]],
  ["dropTable of a declared table", (ns) => ns.dropTable({ id: ["d"] }), [["d"]], ["d.lance"]],
  ["dropTable in a namespace", (ns) => ns.dropTable({ id: ["a", "t"] }), [["a", "t"]], ["_a$t"]],
  [
    "dropNamespace, cascading",
    (ns) => ns.dropNamespace({ id: ["a"], behavior: "Cascade" }),
    [
      ["a", "t"],
      ["a", "d"],
      ["a", "b", "u"],
    ],
    ["_a$t", "_a$d", "_a$b$u"],
  ],
];

describe.each(DROPS)("%s", (_name, run, gone, made) => {
  const remains = (names: string[]) => names.filter((name) => made.some((suffix) => name.endsWith(suffix)));

  it("leaves nothing, and the name is free again", async () => {
    const root = await prepared();
    await using ns = open(root);
    expect(remains(await left(root))).toHaveLength(made.length);
    const others = (await left(root)).length - made.length;
    await run(ns);
    expect(remains(await left(root))).toEqual([]);
    expect(await left(root)).toHaveLength(others);
    for (const id of gone) await expect(ns.describeTable({ id })).rejects.toBeInstanceOf(NamespaceError);
    const tables = (await ns.listTables()).tables;
    expect(await reference.catalogStep(root, "listTables", [])).toEqual(tables);
    for (const id of gone) {
      if (id.length > 1) await ns.createNamespace({ id: id.slice(0, -1), mode: "ExistOk" });
      await ns.createTable({ id }, rows);
      expect(await ns.countTableRows({ id })).toBe(2);
      expect((await ns.listTableTags({ id })).tags).toEqual({});
      expect((await ns.listTableBranches({ id })).branches).toEqual({});
    }
  });

  it("is complete or without effect, whatever call fails, and leaves nothing in the end", async () => {
    const template = await prepared();
    const stateOf = async (root: string) => {
      await using ns = new DirectoryNamespace({ root, durability: "none" });
      const tables = (await ns.listAllTables()).tables;
      const counts: Record<string, unknown> = {};
      for (const name of tables) {
        const id = name.split("$");
        const { isOnlyDeclared } = await ns.describeTable({ id });
        counts[name] = isOnlyDeclared ? "declared" : await ns.countTableRows({ id });
      }
      return counts;
    };
    const before = await stateOf(template);
    const ways: [mode: FaultMode, dead: boolean][] = [
      ["before", false],
      ["after", false],
      ["before", true],
      ["after", true],
    ];
    const seen = { before: 0, after: 0 };
    for (const [index, [mode, dead]] of ways.entries()) {
      for (let failing = (2 * index) % STRIDE, tripped = true; tripped; failing += STRIDE) {
        const root = join(await makeTempDir(), "ns");
        await cp(template, root, { recursive: true });
        const disk = faultyDisk(new ImmovableDisk());
        disk.failAt(failing, mode, { dead });
        const writer = open(root, disk);
        let acknowledged = true;
        await run(writer).catch((error: unknown) => {
          expect(error).toBeInstanceOf(NamespaceError);
          acknowledged = false;
        });
        ({ tripped } = disk);
        const where = `${mode}${dead ? ", dead" : ""}, call ${failing}: ${disk.log[failing]}`;
        await writer.close();
        await disk.restart();
        await expireLocks(root);
        const state = await stateOf(root);
        const isAfter = gone.every((id) => !(id.join("$") in state));
        if (acknowledged) expect(isAfter, where).toBe(true);
        if (!isAfter) expect(state, where).toEqual(before);
        seen[isAfter ? "after" : "before"]++;

        await using next = open(root);
        if (!isAfter) await run(next);
        // The next drop sweeps the remains, some of them only when they are old.
        for (const name of await left(root)) if (name.startsWith(".t")) await utimes(join(root, name), 1, 1);
        await next.dropTable({ id: ["kept"] });
        const isRoot = gone[0].length === 1;
        if (acknowledged || isRoot) expect(remains(await left(root)), where).toEqual([]);
        expect(
          (await left(root)).filter((name) => name.startsWith(".t")),
          where,
        ).toEqual([]);
        for (const id of gone) {
          if (id.length > 1) await next.createNamespace({ id: id.slice(0, -1), mode: "ExistOk" });
          await next.createTable({ id }, rows);
          expect((await next.listTableTags({ id })).tags, where).toEqual({});
        }
        await rm(root, { recursive: true });
      }
    }
    expect(seen.before).toBeGreaterThan(0);
    expect(seen.after).toBeGreaterThan(0);
  });
});

describe("renameTable", () => {
  it.each([
    ["in the root", ["r"], { newTableName: "m" }],
    ["into a namespace", ["r"], { newTableName: "m", newNamespaceId: ["a"] }],
    ["into the root", ["a", "d"], { newTableName: "m", newNamespaceId: [] }],
  ])("%s reports why it fails, and changes nothing", async (_, id, to) => {
    const root = await makeTempDir();
    await using ns = open(root);
    await ns.createNamespace({ id: ["a"] });
    await ns.createTable({ id: ["r"] }, rows);
    await ns.createTable({ id: ["a", "d"] }, rows);
    const tables = (await ns.listAllTables()).tables;
    const before = await tablesSnapshot(root);
    const error = await ns.renameTable({ id, ...to }).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(UnsupportedError);
    expect((error as Error).message).toContain("the file system refuses to move its directory (EXDEV)");
    expect(await tablesSnapshot(root)).toEqual(before);
    expect((await ns.listAllTables()).tables).toEqual(tables);
    expect(await reference.catalogStep(root, "listTables", [])).toEqual(["r"]);
    expect(await reference.catalogStep(root, "listTables", ["a"])).toEqual(["d"]);
    expect(await ns.countTableRows({ id })).toBe(2);
  });

  it("within a namespace succeeds without a move", async () => {
    const root = await prepared();
    await using ns = open(root);
    await ns.renameTable({ id: ["a", "t"], newTableName: "m" });
    expect(await ns.countTableRows({ id: ["a", "m"] })).toBe(4);
  });
});

describe("a deleted branch", () => {
  it("leaves nothing", async () => {
    const root = await prepared();
    await using ns = open(root);
    await ns.deleteTableBranch({ id: ["r"], name: "deep/down" });
    const files = Object.keys(await directorySnapshot(join(root, "r.lance")));
    expect(files.filter((file) => file.includes("deep"))).toEqual([]);
    await ns.createTableBranch({ id: ["r"], name: "deep/down" });
    expect(await ns.countTableRows({ id: ["r"], branch: "deep/down" })).toBe(4);
  });

  it("reports remaining files", async () => {
    const root = await prepared();
    await using ns = open(root, new StubbornDisk("tree"));
    const error = await ns
      .deleteTableBranch({ id: ["r"], name: "deep/down" })
      .catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(InternalError);
    expect((error as Error).message).toContain(
      "branch deep/down was deleted, but some of its files remain: the disk: ",
    );
    expect((await ns.listTableBranches({ id: ["r"] })).branches).toEqual({});
  });
});

/** Fails to rename and remove directories whose path contains a text, and to create files in them. */
class StubbornDisk extends NodeDisk {
  readonly #text: string;

  constructor(text: string) {
    super({ durability: "none" });
    this.#text = text;
  }

  #refuse(path: string): void {
    if (path.includes(this.#text)) throw Object.assign(new Error(`EIO: ${path}`), { code: "EIO" });
  }

  override async rename(from: string, to: string): Promise<void> {
    if ((await this.stat(from))?.kind === "directory") this.#refuse(from);
    return super.rename(from, to);
  }

  override async removeTree(directory: string): Promise<void> {
    this.#refuse(directory);
    return super.removeTree(directory);
  }

  override async create(path: string): Promise<WriteHandle> {
    this.#refuse(path);
    return super.create(path);
  }
}

describe("a failing disk", () => {
  const CHILDREN: [name: string, run: (ns: DirectoryNamespace) => Promise<unknown>][] = [
    ["dropTable", (ns) => ns.dropTable({ id: ["a", "t"] })],
    ["dropNamespace", (ns) => ns.dropNamespace({ id: ["a"], behavior: "Cascade" })],
  ];
  const tableIn = async (root: string) => (await left(root)).filter((name) => name.endsWith("_a$t"));

  it.each(CHILDREN)("leaves %s for a later sweep", async (_, run) => {
    const root = await prepared();
    const disk = new ImmovableDisk();
    disk.code = "EIO";
    const { removeTree, removeEmptyDirectory } = disk;
    disk.removeTree = disk.removeEmptyDirectory = async (path) => {
      throw Object.assign(new Error(`EIO: ${path}`), { code: "EIO" });
    };
    await using ns = open(root, disk);
    await run(ns);
    expect(await tableIn(root)).toHaveLength(1);
    Object.assign(disk, { removeTree, removeEmptyDirectory });
    await ns.cleanupTable({ id: ["kept"] });
    expect(await tableIn(root)).toEqual([]);
    expect((await left(root)).filter((name) => name.startsWith(".t"))).toEqual([]);
  });

  it.each(CHILDREN)("makes %s report if nothing is certain", async (_, run) => {
    const root = await prepared();
    await using ns = open(root, new StubbornDisk("_a$t"));
    const error = await run(ns).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(InternalError);
    expect((error as Error).message).toContain("was dropped, but");
    const [directory] = await tableIn(root);
    expect((error as Error).message).toContain(join(root, directory));
    await expect(ns.describeTable({ id: ["a", "t"] })).rejects.toBeInstanceOf(NamespaceError);
    expect((await left(root)).filter((name) => name.startsWith(".t"))).toEqual([]);
  });

  it("leaves a root table as before if it cannot be dropped", async () => {
    const root = await prepared();
    const before = await tablesSnapshot(root);
    await using ns = open(root, new StubbornDisk("r.lance"));
    await expect(ns.dropTable({ id: ["r"] })).rejects.toBeInstanceOf(ServiceUnavailableError);
    expect(await tablesSnapshot(root)).toEqual(before);
    expect(await ns.countTableRows({ id: ["r"] })).toBe(4);
  });
});

describe("concurrent work", () => {
  it("on a table that was just dropped fails", async () => {
    const root = await prepared();
    await using ns = open(root);
    let goOn = () => {};
    const dropped = new Promise<void>((resolve) => (goOn = resolve));
    async function* source() {
      yield rows.batches[0];
      await dropped;
      yield rows.batches[0];
    }
    const inserts = [["r"], ["a", "t"]].map((id) => ns.insertIntoTable({ id }, source()));
    const outcomes = Promise.allSettled(inserts);
    await ns.dropTable({ id: ["r"] });
    await ns.dropTable({ id: ["a", "t"] });
    goOn();
    for (const outcome of await outcomes) expect(outcome.status).toBe("rejected");
    const names = await left(root);
    expect(names.filter((name) => name === "r.lance" || name.endsWith("_a$t"))).toEqual([]);
  });

  it("on a dropped table delays its removal, but not the drop", async () => {
    const root = await prepared();
    await using ns = open(root);
    await withLock(join(root, "r.lance"), {}, async () => {
      await ns.dropTable({ id: ["r"] });
      await expect(ns.describeTable({ id: ["r"] })).rejects.toBeInstanceOf(TableNotFoundError);
      expect((await ns.listTables()).tables).toEqual(["d", "kept"]);
      expect(await reference.catalogStep(root, "listTables", [])).toEqual(["d", "kept"]);
      await expect(ns.createTable({ id: ["r"] }, rows)).rejects.toMatchObject({ type: "ServiceUnavailable" });
      await expect(ns.registerTable({ id: ["r"], location: "r.lance" })).rejects.toBeInstanceOf(
        InvalidInputError,
      );
      await expect(ns.registerTable({ id: ["a", "x"], location: "r.lance" })).rejects.toBeInstanceOf(
        InvalidInputError,
      );
    });
    await ns.createTable({ id: ["r"] }, rows);
    expect(await ns.countTableRows({ id: ["r"] })).toBe(2);
    expect((await ns.listTableTags({ id: ["r"] })).tags).toEqual({});
  });

  it("of many processes that drop one table has one winner", async () => {
    const root = await prepared();
    const drops = [1, 2, 3, 4].map(async () => {
      await using ns = open(root);
      await ns.dropTable({ id: ["r"] });
    });
    const outcomes = await Promise.allSettled(drops);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toBeInstanceOf(TableNotFoundError);
    }
    expect(await left(root)).not.toContain("r.lance");
  });
});

describe("a file that is not a record of a dropped table", () => {
  const name = ".tiltyard-dropped-00000000-0000-4000-8000-000000000000";
  const HOSTILE: [what: string, content: string][] = [
    ["leads out of the root", '{"location":"../outside"}'],
    ["leads to the catalog", '{"location":"__manifest"}'],
    ["is absolute", '{"location":"/tmp"}'],
    ["names a table that is not dropped", '{"location":"r.lance"}'],
    ["names a deregistered table", '{"location":"h.lance"}'],
    ["names the root", '{"location":""}'],
    ["is no JSON", "{"],
    ["is no object", "null"],
    ["has no text", '{"location":7}'],
    ["is too long", "x".repeat(100_000)],
  ];
  it.each(HOSTILE)("removes nothing because it %s", async (_, content) => {
    const root = await prepared();
    const outside = join(root, "..", "outside");
    await cp(join(root, "kept.lance"), outside, { recursive: true });
    await using ns = open(root);
    await ns.createTable({ id: ["h"] }, rows);
    await ns.deregisterTable({ id: ["h"] });
    const before = await tablesSnapshot(root);
    const outsideBefore = await directorySnapshot(outside);
    await writeFile(join(root, name), content);
    await utimes(join(root, name), 1, 1);
    await ns.declareTable({ id: ["e"] });
    await ns.dropTable({ id: ["e"] });
    expect(await tablesSnapshot(root)).toEqual(before);
    expect(await directorySnapshot(outside)).toEqual(outsideBefore);
    expect(await ns.countTableRows({ id: ["r"] })).toBe(4);
  });

  it("a deregistered table can be registered again, whatever was dropped there before", async () => {
    const root = await prepared();
    await using ns = open(root);
    await ns.dropTable({ id: ["r"] });
    await ns.createTable({ id: ["r"] }, rows);
    await writeFile(join(root, name), '{"location":"r.lance"}');
    await ns.deregisterTable({ id: ["r"] });
    await ns.dropTable({ id: ["kept"] });
    await ns.registerTable({ id: ["r"], location: "r.lance" });
    expect(await ns.countTableRows({ id: ["r"] })).toBe(2);
  });

  it.skipIf(process.platform === "win32")("a table that is a link keeps the link's target", async () => {
    const root = await prepared();
    const outside = join(root, "..", "outside");
    await cp(join(root, "kept.lance"), outside, { recursive: true });
    await symlink(outside, join(root, "linked.lance"));
    const before = await directorySnapshot(outside);
    await using ns = open(root, undefined, [outside]);
    await expect(ns.dropTable({ id: ["linked"] })).rejects.toBeInstanceOf(InternalError);
    expect(await directorySnapshot(outside)).toEqual(before);
    expect(await ns.countTableRows({ id: ["linked"] })).toBe(2);
  });
});
