/** Files of tables outside the namespace's directory are opened only if the host allows it. */

import { execFileSync } from "node:child_process";
import { cp, mkdir, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Int32, Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { CorruptFileError, InvalidInputError, PermissionDeniedError } from "../../src/errors.js";
import { BasePath, type Manifest } from "../../src/format/table.js";
import type { Disk } from "../../src/io/disk/disk.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import { readManifestFile } from "../../src/table/versions/manifest.js";
import { encodeManifestFile } from "../../src/table/versions/manifestEncoder.js";
import { manifestPath } from "../../src/table/versions/paths.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { beforeEach, describe, expect, it, onTestFinished } from "../support/fixtures.js";
import { stageDoubled } from "../support/stageVersion.js";
import { makeTempDir } from "../support/tempDir.js";
import { watchedDisk } from "../support/watchedDisk.js";

const id = ["t"];
const rows = new Table({ v: vectorFromArray([1, 2, 3], new Int32()) });
const plain = new NodeDisk({ durability: "none" });

let root: string;
let table: string;
/** Directory with a table `t` of another namespace. */
let outside: string;
let before: unknown;
/** Paths that were opened, created, changed or removed. */
let touched: string[];

const open = (options: { allowedBases?: readonly string[]; root?: string } = {}): DirectoryNamespace => {
  const disk: Disk = watchedDisk(plain, {
    before: ({ verb, path }) => {
      if (!["stat", "realPath", "isLink"].includes(verb)) touched.push(path);
    },
  });
  const ns = new DirectoryNamespace({ root, ...options, disk } as { root: string });
  onTestFinished(() => ns.close());
  return ns;
};

beforeEach(async () => {
  [root, outside] = [await makeTempDir(), await makeTempDir()];
  table = join(root, "t.lance");
  for (const directory of [root, outside]) {
    await using ns = new DirectoryNamespace({ root: directory, durability: "none" });
    await ns.createTable({ id }, rows);
    await ns.insertIntoTable({ id }, rows);
  }
  before = await directorySnapshot(outside);
  touched = [];
});

const expectUntouched = async () => {
  expect(touched.filter((path) => path.startsWith(outside))).toEqual([]);
  expect(await directorySnapshot(outside)).toEqual(before);
};

/** Rewrites the latest manifest of the table, as an attacker would. */
async function rewrite(change: (manifest: Manifest) => Partial<Manifest>): Promise<void> {
  const path = manifestPath(table, 2, "V2");
  const file = await readManifestFile(plain, path);
  const { manifest, indexSectionBytes, transactionBytes } = file as NonNullable<typeof file>;
  const content = {
    manifest: { ...manifest, ...change(manifest) },
    indexSectionBytes,
    transactionBytes: transactionBytes as Uint8Array,
  };
  await rm(path);
  await writeFile(path, Buffer.concat(encodeManifestFile(content).chunks));
}

const onBase = (path: string, isDatasetRoot = true) =>
  rewrite(({ fragments }) => ({
    basePaths: [BasePath.create({ id: 3, isDatasetRoot, path })],
    fragments: fragments.map((fragment) => ({
      ...fragment,
      files: fragment.files.map((file) => ({ ...file, baseId: 3 })),
    })),
  }));

const read = (ns: DirectoryNamespace) => ns.table("t").scan().toArrow();
const denied = (path: string) => ({ name: "PermissionDeniedError", message: expect.stringContaining(path) });

describe("base paths of a manifest", () => {
  const move = async () => {
    await rm(join(outside, "t.lance", "data"), { recursive: true });
    await rename(join(table, "data"), join(outside, "t.lance", "data"));
    await mkdir(join(table, "data"));
    before = await directorySnapshot(outside);
  };

  it("the engine does not read a base outside the root, and names it", async () => {
    await move();
    await onBase(join(outside, "t.lance"));
    const ns = open();
    await expect(read(ns)).rejects.toMatchObject(denied(join(outside, "t.lance", "data")));
    await expect(ns.optimizeTable({ id })).rejects.toBeInstanceOf(PermissionDeniedError);
    await ns.cleanupTable({ id, olderThanMs: 0 });
    await ns.insertIntoTable({ id }, rows);
    await expectUntouched();
  });

  it.each([
    ["its parent", () => outside],
    ["a URL", () => pathToFileURL(join(outside, "t.lance")).href],
    [
      "another path to it",
      async () => {
        const link = join(await makeTempDir(), "link");
        await symlink(outside, link);
        return link;
      },
    ],
  ])("are read where the host allows %s", async (_name, allowed) => {
    await move();
    await onBase(join(outside, "t.lance"));
    expect((await read(open({ allowedBases: [await allowed()] }))).numRows).toBe(6);
    expect(await directorySnapshot(outside)).toEqual(before);
  });

  it("paths do not lead out of an allowed base", async ({ root: allowed }) => {
    await move();
    await symlink(join(outside, "t.lance"), join(allowed, "inside"));
    for (const path of [
      join(allowed, "inside"),
      `${allowed}/../${basename(outside)}/t.lance`,
      `${allowed}x`,
    ]) {
      await onBase(path);
      await expect(read(open({ allowedBases: [allowed] }))).rejects.toBeInstanceOf(PermissionDeniedError);
    }
    await expectUntouched();
  });

  it("bases that are not files of this machine are refused", async () => {
    for (const path of [pathToFileURL(outside).href, "s3://bucket/t", "relative"]) {
      await onBase(path);
      await expect(read(open())).rejects.toBeInstanceOf(CorruptFileError);
    }
  });

  it("errors do not reveal the files of a base", async () => {
    const messages = [];
    for (const path of [outside, join(outside, "t.lance", "data"), join(outside, "nowhere"), "/etc"]) {
      await onBase(path, false);
      messages.push(await read(open()).catch((error) => error.message.replaceAll(path, "")));
    }
    expect(new Set(messages).size).toBe(1);
    await expectUntouched();
  });

  it("bases inside the root are read: branches, and clones of other tables", async () => {
    await cp(table, join(root, "u.lance"), { recursive: true });
    await rm(join(table, "data"), { recursive: true });
    await onBase(join(root, "u.lance"));
    expect((await read(open())).numRows).toBe(6);
  });
});

describe.skipIf(process.platform === "win32")("links in the root", () => {
  it("a link to a table outside the root leaves the other tables usable", async () => {
    await symlink(join(outside, "t.lance"), join(root, "u.lance"));
    const ns = open();
    expect((await ns.listTables({ id: [] })).tables).toEqual(["t"]);
    expect((await ns.listAllTables({})).tables).toEqual(["t"]);
    await ns.createNamespace({ id: ["n"] });
    await ns.createTable({ id: ["n", "t"] }, rows);
    await ns.createTable({ id: ["v"] }, rows);
    await ns.renameTable({ id: ["v"], newTableName: "w" });
    await ns.dropTable({ id: ["w"] });
    await ns.dropNamespace({ id: ["n"], behavior: "Cascade" });
    await ns.insertIntoTable({ id }, rows);
    await expectUntouched();
    expect((await open({ allowedBases: [outside] }).listTables({ id: [] })).tables).toEqual(["t", "u"]);
  });

  it("every operation refuses a link to a table outside the root, unless the host allows it", async () => {
    await symlink(join(outside, "t.lance"), join(root, "u.lance"));
    const ns = open();
    const secondTable = { id: ["u"] };
    for (const call of [
      () => ns.tableExists(secondTable),
      () => ns.describeTable(secondTable),
      () => ns.countTableRows(secondTable),
      () => ns.insertIntoTable(secondTable, rows),
      () => ns.cleanupTable({ ...secondTable, olderThanMs: 0 }),
      () => ns.optimizeTable(secondTable),
      () => ns.createTableTag({ ...secondTable, tag: "x", version: 1 }),
      () => ns.createTableBranch({ ...secondTable, name: "x" }),
      () => ns.restoreTable({ ...secondTable, version: 1 }),
      () => ns.dropTable(secondTable),
      () => ns.batchDeleteTableVersions({ ...secondTable, ranges: [{ startVersion: 1, endVersion: 1 }] }),
    ]) {
      await expect(call()).rejects.toMatchObject(denied(join(root, "u.lance")));
    }
    await expectUntouched();
    const allowing = open({ allowedBases: [outside] });
    expect(await allowing.countTableRows(secondTable)).toBe(6);
    await allowing.insertIntoTable(secondTable, rows);
    expect(await allowing.countTableRows(secondTable)).toBe(9);
  });

  it.each([
    "data",
    "_versions",
    "_transactions",
    "_refs",
  ])("in place of a part of a table: %s", async (part) => {
    const ns = open();
    await ns.createTableTag({ id, tag: "x", version: 1 });
    await rm(join(table, part), { recursive: true });
    await mkdir(join(outside, "t.lance", part), { recursive: true });
    before = await directorySnapshot(outside);
    touched = [];
    await symlink(join(outside, "t.lance", part), join(table, part));
    const fresh = open();
    const calls = [
      () => read(fresh),
      () => fresh.insertIntoTable({ id }, rows),
      () => fresh.optimizeTable({ id }),
      () => fresh.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true }),
      () => fresh.listTableTags({ id }),
      () => fresh.createTableTag({ id, tag: "y", version: 1 }),
    ];
    const outcomes = await Promise.allSettled(calls.map((call) => call()));
    const reasons = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    expect(reasons.length).toBeGreaterThan(0);
    for (const reason of reasons) expect(reason).toBeInstanceOf(PermissionDeniedError);
    await expectUntouched();
  });

  it("links in place of data files are followed only inside the root", async () => {
    const [first, second] = await readdir(join(table, "data"));
    await mkdir(join(root, "elsewhere"));
    await rename(join(table, "data", first), join(root, "elsewhere", first));
    await symlink(join(root, "elsewhere", first), join(table, "data", first));
    expect((await read(open())).numRows).toBe(6);
    const [secret] = await readdir(join(outside, "t.lance", "data"));
    await rm(join(table, "data", second));
    await symlink(join(outside, "t.lance", "data", secret), join(table, "data", second));
    await expect(read(open())).rejects.toMatchObject(denied(join(table, "data", second)));
    await expectUntouched();
  });

  it("the engine notices a link that replaces an open table", async () => {
    const ns = open();
    expect(await ns.countTableRows({ id })).toBe(6);
    await rename(table, join(root, "moved"));
    await symlink(join(outside, "t.lance"), table);
    await expect(ns.countTableRows({ id })).rejects.toBeInstanceOf(PermissionDeniedError);
    await expectUntouched();
  });

  it("the root may be a link", async () => {
    const link = join(await makeTempDir(), "link");
    await symlink(root, link);
    const ns = open({ root: link });
    await ns.insertIntoTable({ id }, rows);
    await ns.createTableBranch({ id, name: "dev" });
    await ns.insertIntoTable({ id, branch: "dev" }, rows);
    expect(await ns.countTableRows({ id, branch: "dev" })).toBe(12);
    for (const directory of [table, join(link, "t.lance")]) {
      const version = ((await ns.describeTable({ id })).version as number) + 1;
      const manifestPath = await stageDoubled(directory, version);
      await ns.createTableVersion({ id, version, manifestPath });
      expect(await readdir(join(table, "_versions"))).not.toContain(basename(manifestPath));
    }
    await ns.cleanupTable({ id, olderThanMs: 0 });
    await ns.dropTable({ id });
    await expectUntouched();
  });

  it("a link to a table outside the root can't be registered", async () => {
    const ns = open({ allowedBases: [outside] });
    await ns.createNamespace({ id: ["n"] });
    await symlink(join(outside, "t.lance"), join(root, "linked"));
    const register = ns.registerTable({ id: ["n", "u"], location: "linked" });
    await expect(register).rejects.toBeInstanceOf(InvalidInputError);
    expect(await directorySnapshot(outside)).toEqual(before);
  });
});

it.skipIf(process.platform === "win32")(
  "a FIFO in place of any file of a table holds nobody up",
  async () => {
    const files = ["_versions", "data", "_transactions"];
    for (const part of files) {
      const copy = await makeTempDir();
      await cp(root, copy, { recursive: true });
      const directory = join(copy, "t.lance", part);
      for (const name of await readdir(directory)) {
        await rm(join(directory, name));
        execFileSync("mkfifo", [join(directory, name)]);
      }
      const ns = open({ root: copy });
      const outcomes = await Promise.allSettled([
        read(ns),
        ns.describeTable({ id }),
        ns.insertIntoTable({ id }, rows),
        ns.optimizeTable({ id }),
        ns.cleanupTable({ id, olderThanMs: 0 }),
      ]);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: expect.any(Number) });
      }
    }
  },
);

it.each([
  [["a\0b"]],
  [[""]],
  ["/tmp"],
  [[1]],
  [["file://elsewhere/x"]],
])("bases that are no directories are refused: %j", (allowedBases) => {
  expect(() => new DirectoryNamespace({ root, allowedBases: allowedBases as string[] })).toThrow(
    InvalidInputError,
  );
});
