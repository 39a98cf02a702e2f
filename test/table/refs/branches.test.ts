import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  ConcurrentModificationError,
  CorruptFileError,
  InvalidInputError,
  TableBranchAlreadyExistsError,
  TableBranchNotFoundError,
  TableVersionNotFoundError,
  UnsupportedError,
} from "../../../src/errors.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { hasLock, withLock } from "../../../src/io/lock/lock.js";
import { createBranch } from "../../../src/table/commit/branchCreation.js";
import { readTransaction } from "../../../src/table/commit/transaction.js";
import {
  type Branch,
  checkNewBranchName,
  descendsFrom,
  listBranches,
  nestsCleanly,
  ownParts,
  readBranch,
} from "../../../src/table/refs/branches.js";
import { deleteBranch, directoriesOfBranch } from "../../../src/table/refs/branchRemoval.js";
import { branchRoot } from "../../../src/table/refs/refNames.js";
import { createTag } from "../../../src/table/refs/tags.js";
import { branchRefPath, hintPath } from "../../../src/table/versions/paths.js";
import { tableAt } from "../../../src/table/versions/tableAt.js";
import { isInLock } from "../../support/directorySnapshot.js";
import { reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";
import { disk, ipcOf, latestFile, makeReferenceTable, openEnvironment } from "../support.js";

const main = { branch: null };
/** Closes nothing, because these tests keep no files open. */
const release = (): void => undefined;
const closeNone = () => undefined;

async function makeTable() {
  const table = await makeReferenceTable([1, 2, 3]);
  await reference.appendTable(table.uri, "t", ipcOf(4));
  await reference.deleteRows(table.uri, "t", "v = 2");
  return table;
}

describe("names", () => {
  it.each([
    "dev/data",
    "dev/DATA/x",
    "dev/tree",
    "a/_x",
    "a/_versions/b",
    "a/.tiltyard.lock",
    "main",
    "a b",
    "",
  ])("of a new branch are refused: %j", (name) => {
    expect(() => checkNewBranchName(name, [])).toThrow(InvalidInputError);
  });
  const acceptedNames = ["data", "tree/x", "_a/b", "dev/datas", "a/b_", "é/ñ"];
  it.each(acceptedNames)("of a new branch are accepted: %s", (name) => {
    checkNewBranchName(name, ["dev", "a"]);
  });
  it("that another engine gave to a nested branch keep their directory", () => {
    expect(() => checkNewBranchName("dev", ["dev/data"])).toThrow(/dev\/data/);
    checkNewBranchName("dev", ["dev/x", "devs/data"]);
    expect(nestsCleanly("dev/data/x")).toBe(false);
    expect(ownParts("dev", ["dev/data/x", "dev/_indices"])).toEqual([
      "_versions",
      "_transactions",
      "_deletions",
      "_computed",
      "_tiltyard",
    ]);
  });
});

describe("lineage", () => {
  const branchOf = (parentBranch: string | null, ...ids: string[]): Branch => ({
    parentBranch,
    parentVersion: 1,
    lineage: ids.map((id) => [1, id] as const),
    createAt: 0,
    manifestSize: 0,
    metadata: {},
  });
  it("tells whose files a branch needs", () => {
    const dev = branchOf(null, "a");
    expect(descendsFrom(branchOf("dev", "a", "b"), dev, "dev")).toBe(true);
    expect(descendsFrom(branchOf("sub", "a", "b", "c"), dev, "dev")).toBe(true);
    expect(descendsFrom(branchOf(null, "a"), dev, "dev")).toBe(false);
    expect(descendsFrom(branchOf(null, "x", "a"), dev, "dev")).toBe(false);
    expect(descendsFrom(dev, branchOf("dev", "a", "b"), "sub")).toBe(false);
  });
  it("uses names if an old release left no identifier", () => {
    const old = { ...branchOf(null), lineage: null };
    expect(descendsFrom({ ...branchOf("old"), lineage: null }, old, "old")).toBe(true);
    expect(descendsFrom(branchOf(null, "a"), old, "old")).toBe(false);
  });
});

describe("directories that are removed with a branch", () => {
  const below = (branch: string, ...others: string[]) =>
    directoriesOfBranch("/t", branch, others).map((each) => each.slice("/t/tree/".length));
  it("are those that no other branch needs", () => {
    expect(below("a/b/c")).toEqual(["a"]);
    expect(below("a/b/c", "a")).toEqual([join("a", "b")]);
    expect(below("a/b/c", "a/b")).toEqual([join("a", "b", "c")]);
    expect(below("a/b/c", "a/x")).toEqual([join("a", "b")]);
    expect(below("a/b/c", "ab", "a/bc")).toEqual([join("a", "b")]);
  });
  it("are only its own parts if other branches lie inside", () => {
    const parts = ["_versions", "_transactions", "data", "_deletions", "_indices", "_computed", "_tiltyard"];
    expect(below("a", "a/b")).toEqual(parts.map((part) => join("a", part)));
  });
  it("never contain another branch's data", () => {
    expect(below("a/data", "a")).not.toContain(join("a", "data"));
    expect(below("a/data", "a")).toContain(join("a", "data", "data"));
    expect(below("a/data/x", "a").every((each) => each.startsWith(join("a", "data", "x")))).toBe(true);
    expect(below("a", "a/data")).not.toContain(join("a", "data"));
  });
});

describe("branches of this engine", () => {
  it("have refs and manifests like the reference's", async () => {
    const { uri, root } = await makeTable();
    const environment = openEnvironment();
    await reference.createBranch(uri, "t", "theirs");
    const transactionId = await createBranch(tableAt(environment, root), "ours", main);
    const refOf = async (branch: string) =>
      // Our file has a checksum after the JSON, in white space.
      (await readFile(branchRefPath(root, branch), "utf8"))
        .trimEnd()
        .replace(/"[0-9a-f]{32}"/, "id")
        .replace(/"createAt": \d{10}/, "time");
    expect(await refOf("ours")).toBe(await refOf("theirs"));
    const contentOf = async (branch: string) => {
      const file = await latestFile(branchRoot(root, branch));
      const { writerVersion, timestamp, transactionFile, branch: name, ...rest } = file.manifest;
      const transaction = await readTransaction({ disk, root: branchRoot(root, branch) }, {
        ...file,
        transaction: null,
      } as never);
      expect(name).toBe(branch);
      expect(timestamp?.seconds).toBeGreaterThan(1e9);
      expect(writerVersion).toBeDefined();
      expect(transactionFile).toBe(`3-${file.transaction?.uuid}.txn`);
      expect(transaction).toEqual(file.transaction);
      return {
        ...rest,
        clone: { ...file.transaction?.clone, branchName: "" },
        readVersion: file.transaction?.readVersion,
      };
    };
    expect(await contentOf("ours")).toEqual(await contentOf("theirs"));
    expect((await latestFile(branchRoot(root, "ours"))).transaction?.uuid).toBe(transactionId);
    const hint = await readFile(hintPath(branchRoot(root, "ours")), "utf8");
    expect(JSON.parse(hint)).toEqual({ version: 3 });
  });

  it("of branches leave inherited files in place", async () => {
    const { uri, root } = await makeTable();
    const environment = openEnvironment();
    await createBranch(tableAt(environment, root), "dev", { branch: null, version: 2 });
    await reference.appendTable(uri, "t", ipcOf(5), { branch: "dev" });
    await reference.deleteRows(uri, "t", "v = 1", { branch: "dev" });
    await createBranch(tableAt(environment, root), "dev/sub", { branch: "dev" });
    const { manifest } = await latestFile(branchRoot(root, "dev/sub"));
    expect(manifest.version).toBe(4);
    expect(manifest.basePaths).toMatchObject([
      { id: 0, name: undefined, isDatasetRoot: true, path: root },
      { id: 1, name: "dev", isDatasetRoot: true, path: branchRoot(root, "dev") },
    ]);
    expect(manifest.fragments.map(({ files }) => files[0].baseId)).toEqual([0, 0, 1]);
    expect(manifest.fragments[0].deletionFile?.baseId).toBe(1);
    const [dev, sub] = [
      await readBranch({ disk, mainRoot: root }, "dev"),
      await readBranch({ disk, mainRoot: root }, "dev/sub"),
    ];
    expect(sub).toMatchObject({ parentBranch: "dev", parentVersion: 4 });
    expect(sub?.lineage?.slice(0, 1)).toEqual(dev?.lineage);
    expect((await listBranches({ disk, mainRoot: root })).sort()).toEqual(["dev", "dev/sub"]);
  });

  it("are refused without a source or with an existing name, and nothing is written", async () => {
    const { root } = await makeTable();
    const environment = openEnvironment();
    await createBranch(tableAt(environment, root), "dev", main);
    const before = (await readdir(root, { recursive: true })).filter((name) => !isInLock(name)).sort();
    const refusals: [Promise<unknown>, new (message: string) => Error][] = [
      [createBranch(tableAt(environment, root), "dev", main), TableBranchAlreadyExistsError],
      [
        createBranch(tableAt(environment, root), "new", { branch: null, version: 9 }),
        TableVersionNotFoundError,
      ],
      [
        createBranch(tableAt(environment, root), "new", { branch: "dev", version: 1 }),
        TableVersionNotFoundError,
      ],
      [createBranch(tableAt(environment, root), "new", { branch: "none" }), TableBranchNotFoundError],
      [createBranch(tableAt(environment, root), "dev/_x", main), InvalidInputError],
    ];
    await Promise.all(refusals.map(([refused, kind]) => expect(refused).rejects.toBeInstanceOf(kind)));
    expect((await readdir(root, { recursive: true })).filter((name) => !isInLock(name)).sort()).toEqual(
      before,
    );
  });

  it("are not made from branches of old releases, which others could then delete", async () => {
    const { root } = await makeTable();
    const environment = openEnvironment();
    await createBranch(tableAt(environment, root), "old", main);
    const { identifier, ...rest } = JSON.parse(await readFile(branchRefPath(root, "old"), "utf8"));
    expect(identifier).toBeDefined();
    await writeFile(branchRefPath(root, "old"), JSON.stringify(rest));
    await expect(createBranch(tableAt(environment, root), "new", { branch: "old" })).rejects.toBeInstanceOf(
      UnsupportedError,
    );
    await deleteBranch(tableAt(environment, root), "old", release);
    expect(await listBranches({ disk, mainRoot: root })).toEqual([]);
  });

  it("of a version that vanishes meanwhile are not made", async () => {
    const { root } = await makeTable();
    const source = (await latestFile(root)).path;
    class VanishingDisk extends NodeDisk {
      override async link(from: string, to: string): Promise<void> {
        if (to === branchRefPath(root, "dev")) await this.remove(source);
        await super.link(from, to);
      }
    }
    const vanishing = { ...openEnvironment(), disk: new VanishingDisk({ durability: "none" }) };
    await expect(createBranch(tableAt(vanishing, root), "dev", main)).rejects.toBeInstanceOf(
      TableVersionNotFoundError,
    );
    expect(await disk.stat(join(root, "_refs"))).toBeNull();
    expect(await disk.stat(join(root, "tree"))).toBeNull();
  });
});

describe("orphans in a new branch's directory", () => {
  /** Makes the directory that a crash of the reference leaves: everything but the ref, with its own rows. */
  async function makeZombie() {
    const table = await makeTable();
    await reference.createBranch(table.uri, "t", "dev");
    await reference.appendTable(table.uri, "t", ipcOf(77), { branch: "dev" });
    await disk.remove(branchRefPath(table.root, "dev"));
    return table;
  }

  it("are cleared once their makers are dead", async () => {
    const { root } = await makeZombie();
    const versions = join(branchRoot(root, "dev"), "_versions");
    const longAgo = new Date(Date.now() - 60_000);
    for (const name of await readdir(versions)) await utimes(join(versions, name), longAgo, longAgo);
    await writeFile(join(versions, "00000000000000000001.manifest"), "garbage");
    await utimes(join(versions, "00000000000000000001.manifest"), longAgo, longAgo);
    await createBranch(tableAt(openEnvironment(), root), "dev", main);
    const { manifest } = await latestFile(branchRoot(root, "dev"));
    expect(manifest.version).toBe(3);
    expect(await readdir(branchRoot(root, "dev"))).not.toContain("data");
  });

  it("stay while another engine may be at work", async () => {
    const { root } = await makeZombie();
    const refused = createBranch(tableAt(openEnvironment(), root), "dev", main);
    await expect(refused).rejects.toBeInstanceOf(ConcurrentModificationError);
    expect((await latestFile(branchRoot(root, "dev"))).manifest.version).toBe(4);
  });

  it("of our own makers are recognised at once", async () => {
    const { root } = await makeTable();
    const environment = openEnvironment();
    await createBranch(tableAt(environment, root), "dev", { branch: null, version: 2 });
    await disk.remove(branchRefPath(root, "dev"));
    await createBranch(tableAt(environment, root), "dev", main);
    expect((await latestFile(branchRoot(root, "dev"))).manifest.version).toBe(3);
    expect((await readdir(join(branchRoot(root, "dev"), "_transactions"))).length).toBe(1);
  });

  it("do not include nested branches", async () => {
    const { uri, root } = await makeTable();
    const environment = openEnvironment();
    await createBranch(tableAt(environment, root), "dev/x", main);
    await createBranch(tableAt(environment, root), "dev", main);
    await reference.appendTable(uri, "t", ipcOf(5), { branch: "dev" });
    await deleteBranch(tableAt(environment, root), "dev", release);
    expect(await readdir(branchRoot(root, "dev"))).toEqual(["x"]);
    await reference.createBranch(uri, "t", "dev");
    await deleteBranch(tableAt(environment, root), "dev/x", release);
    expect((await latestFile(branchRoot(root, "dev"))).manifest.version).toBe(3);
    await deleteBranch(tableAt(environment, root), "dev", release);
    expect(await readdir(join(root, "tree"))).toEqual([]);
  });
});

describe("a deletion", () => {
  it("is refused while others refer to the branch, and names them", async () => {
    const { root } = await makeTable();
    const environment = openEnvironment();
    await createBranch(tableAt(environment, root), "dev", main);
    await createBranch(tableAt(environment, root), "sub", { branch: "dev" });
    await createBranch(tableAt(environment, root), "sub/sub", { branch: "sub" });
    await createTag(tableAt(environment, root), "v", { branch: "sub/sub", version: 3 });
    await expect(deleteBranch(tableAt(environment, root), "dev", release)).rejects.toThrow(
      /by branches sub, sub\/sub$/,
    );
    await expect(deleteBranch(tableAt(environment, root), "sub", release)).rejects.toThrow(
      /by branches sub\/sub$/,
    );
    await expect(deleteBranch(tableAt(environment, root), "sub/sub", release)).rejects.toThrow(/by tags v$/);
    await expect(deleteBranch(tableAt(environment, root), "none", release)).rejects.toBeInstanceOf(
      TableBranchNotFoundError,
    );
    await expect(deleteBranch(tableAt(environment, root), "main", release)).rejects.toBeInstanceOf(
      InvalidInputError,
    );
    expect((await listBranches({ disk, mainRoot: root })).length).toBe(3);
  });

  it("is refused if an unreadable ref may refer to the branch", async () => {
    const { root } = await makeTable();
    const environment = openEnvironment();
    await createBranch(tableAt(environment, root), "dev", main);
    await writeFile(branchRefPath(root, "other"), "{");
    await expect(deleteBranch(tableAt(environment, root), "dev", release)).rejects.toMatchObject({
      path: branchRefPath(root, "other"),
    });
    expect(await listBranches({ disk, mainRoot: root })).toContain("dev");
  });

  it("waits for a writer that is changing the branch", async () => {
    const { root } = await makeTable();
    const environment = openEnvironment();
    await createBranch(tableAt(environment, root), "dev", main);
    const events: string[] = [];
    let deletion: Promise<void> | undefined;
    await withLock(branchRoot(root, "dev"), {}, async (lease) => {
      deletion = deleteBranch(tableAt(environment, root), "dev", closeNone).then(
        () => void events.push("deleted"),
      );
      await sleep(100);
      await lease.confirm();
      events.push("written");
    });
    await deletion;
    expect(events).toEqual(["written", "deleted"]);
    expect(await readdir(join(root, "tree"))).toEqual([]);
  });

  it("moves an unused branch away, and locks one that cannot be moved", async () => {
    const { root } = await makeTable();
    const locked: boolean[] = [];
    class PinnedDisk extends NodeDisk {
      canMove = true;
      override async rename(from: string, to: string): Promise<void> {
        if (from === branchRoot(root, "dev")) {
          locked.push(await hasLock(from));
          if (!this.canMove) throw Object.assign(new Error("pinned"), { code: "EXDEV" });
        }
        return super.rename(from, to);
      }
    }
    const pinned = new PinnedDisk({ durability: "none" });
    const environment = { ...openEnvironment(), disk: pinned };
    for (const canMove of [true, false]) {
      await createBranch(tableAt(environment, root), "dev", main);
      pinned.canMove = canMove;
      await deleteBranch(tableAt(environment, root), "dev", closeNone);
      expect(await listBranches({ disk, mainRoot: root })).toEqual([]);
      expect(await readdir(join(root, "tree"))).toEqual([]);
    }
    expect(locked).toEqual([false, false, true]);
  });

  it("succeeds if the directory is gone already", async () => {
    const { root } = await makeTable();
    const environment = openEnvironment();
    await createBranch(tableAt(environment, root), "dev", main);
    await disk.removeTree(branchRoot(root, "dev"));
    await deleteBranch(tableAt(environment, root), "dev", release);
    expect(await listBranches({ disk, mainRoot: root })).toEqual([]);
  });
});

describe("damage", () => {
  const good = { parentBranch: null, parentVersion: 1, createAt: 1, manifestSize: 1, metadata: {} };
  it.each([
    "",
    "[]",
    "{}",
    "\ufffd{",
    JSON.stringify({ ...good, parentVersion: -1 }),
    JSON.stringify({ ...good, parentVersion: undefined }),
    JSON.stringify({ ...good, parentBranch: 7 }),
    JSON.stringify({ ...good, parentBranch: "../x" }),
    JSON.stringify({ ...good, createAt: "now" }),
    JSON.stringify({ ...good, manifestSize: 1.5 }),
    JSON.stringify({ ...good, identifier: 5 }),
    JSON.stringify({ ...good, identifier: { version_mapping: [[1]] } }),
    JSON.stringify({ ...good, identifier: { version_mapping: [["1", "x"]] } }),
  ])("in a branch's ref is reported: %j", async (text) => {
    const root = await makeTempDir();
    const path = branchRefPath(root, "a/b");
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    await expect(readBranch({ disk, mainRoot: root }, "a/b")).rejects.toBeInstanceOf(CorruptFileError);
    await expect(readBranch({ disk, mainRoot: root }, "a/b")).rejects.toMatchObject({ path });
  });
});
