import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  CorruptFileError,
  InvalidInputError,
  TableBranchNotFoundError,
  TableTagAlreadyExistsError,
  TableTagNotFoundError,
  TableVersionNotFoundError,
} from "../../../src/errors.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { createTag, deleteTag, listTags, readTag, updateTag } from "../../../src/table/refs/tags.js";
import { tagPath } from "../../../src/table/versions/paths.js";
import { type TableEnvironment, tableAt } from "../../../src/table/versions/tableAt.js";
import { interruptedDisk } from "../../support/interruptedDisk.js";
import { reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";
import { watchedDisk } from "../../support/watchedDisk.js";
import { disk, ipcOf, makeReferenceTable, openEnvironment } from "../support.js";

const main = (version: number) => ({ branch: null, version });

async function makeTable() {
  const table = await makeReferenceTable([1]);
  await reference.appendTable(table.uri, "t", ipcOf(2));
  return table;
}

describe("tags of the reference", () => {
  it("are read, of the main branch and of others", async () => {
    const { uri, root } = await makeTable();
    await reference.createTag(uri, "t", "v1", 1);
    await reference.createBranch(uri, "t", "dev");
    await reference.createTag(uri, "t", "d2", 2, { branch: "dev" });
    expect(await readTag({ disk, mainRoot: root }, "v1")).toEqual({
      ...main(1),
      manifestSize: expect.any(Number),
    });
    expect(await readTag({ disk, mainRoot: root }, "d2")).toMatchObject({ branch: "dev", version: 2 });
    expect(await readTag({ disk, mainRoot: root }, "v2")).toBeNull();
    expect((await listTags({ disk, mainRoot: root })).sort()).toEqual(["d2", "v1"]);
  });

  it("in other alphabets are read and deleted", async () => {
    const { uri, root } = await makeTable();
    await reference.createTag(uri, "t", "é", 1);
    expect(await listTags({ disk, mainRoot: root })).toEqual(["é"]);
    expect(await readTag({ disk, mainRoot: root }, "é")).toMatchObject(main(1));
    await deleteTag(tableAt(openEnvironment(), root), "é");
    expect(await listTags({ disk, mainRoot: root })).toEqual([]);
    expect(await reference.listTags(uri, "t")).toEqual({});
  });

  it("have files like ours", async () => {
    const { uri, root } = await makeTable();
    await reference.createTag(uri, "t", "theirs", 1);
    await createTag(tableAt(openEnvironment(), root), "ours", main(1));
    // Our files have a checksum after the JSON, in white space.
    const textOf = async (tag: string) =>
      (await readFile(tagPath(root, tag), "utf8")).trimEnd().replace(/\d{4}-.*Z/g, "time");
    expect(await textOf("ours")).toBe(await textOf("theirs"));
    await reference.updateTag(uri, "t", "theirs", 2);
    await updateTag(tableAt(openEnvironment(), root), "ours", main(2));
    expect(await textOf("ours")).toBe(await textOf("theirs"));
  });
});

describe("changes of tags", () => {
  it("keep the creation time, the metadata and unknown members", async () => {
    const { root } = await makeTable();
    const environment = openEnvironment();
    await createTag(tableAt(environment, root), "v", main(1));
    const path = tagPath(root, "v");
    const made = JSON.parse(await readFile(path, "utf8"));
    await writeFile(path, JSON.stringify({ ...made, createdAt: "then", metadata: { k: "v" }, later: [1] }));
    await updateTag(tableAt(environment, root), "v", main(2));
    const moved = JSON.parse(await readFile(path, "utf8"));
    expect(moved).toMatchObject({ version: 2, createdAt: "then", metadata: { k: "v" }, later: [1] });
    expect(moved.updatedAt >= made.updatedAt).toBe(true);
  });

  it("are refused if the tag, version or branch is missing, or a new tag exists", async () => {
    const { root } = await makeTable();
    const environment = openEnvironment();
    await createTag(tableAt(environment, root), "v", main(1));
    const refusals: [Promise<void>, new (message: string) => Error][] = [
      [createTag(tableAt(environment, root), "v", main(2)), TableTagAlreadyExistsError],
      [createTag(tableAt(environment, root), "w", main(3)), TableVersionNotFoundError],
      [createTag(tableAt(environment, root), "w", { branch: "dev", version: 1 }), TableBranchNotFoundError],
      [updateTag(tableAt(environment, root), "w", main(1)), TableTagNotFoundError],
      [updateTag(tableAt(environment, root), "v", main(3)), TableVersionNotFoundError],
      [updateTag(tableAt(environment, root), "v", { branch: "dev", version: 1 }), TableBranchNotFoundError],
      [deleteTag(tableAt(environment, root), "w"), TableTagNotFoundError],
    ];
    for (const [refused, kind] of refusals) await expect(refused).rejects.toBeInstanceOf(kind);
    expect(() => createTag(tableAt(environment, root), "é", main(1))).toThrow(InvalidInputError);
    expect(await listTags({ disk, mainRoot: root })).toEqual(["v"]);
    expect(await readTag({ disk, mainRoot: root }, "v")).toMatchObject(main(1));
    expect(await readdir(dirname(tagPath(root, "v")))).toEqual(["v.json"]);
  });

  it("of one name by many callers leave one tag and one winner", async () => {
    const { root } = await makeTable();
    const callers = Array.from({ length: 10 }, () => openEnvironment());
    const made = await Promise.allSettled(
      callers.map((each, index) => createTag(tableAt(each, root), "v", main(1 + (index % 2)))),
    );
    expect(made.filter(({ status }) => status === "fulfilled").length).toBe(1);
    const gone = await Promise.allSettled(callers.map((each) => deleteTag(tableAt(each, root), "v")));
    expect(gone.filter(({ status }) => status === "fulfilled").length).toBe(1);
    expect(await listTags({ disk, mainRoot: root })).toEqual([]);
  });

  it("of a version that vanishes meanwhile leave no tag", async () => {
    const { root } = await makeTable();
    const version1 = join(root, "_versions", "18446744073709551614.manifest");
    class VanishingDisk extends NodeDisk {
      override async makeDirectory(path: string): Promise<boolean> {
        await this.remove(version1);
        return super.makeDirectory(path);
      }
    }
    const vanishing = { ...openEnvironment(), disk: new VanishingDisk({ durability: "none" }) };
    await expect(createTag(tableAt(vanishing, root), "v", main(1))).rejects.toBeInstanceOf(
      TableVersionNotFoundError,
    );
    expect(await listTags({ disk, mainRoot: root })).toEqual([]);
    expect(await disk.stat(join(root, "_refs"))).toBeNull();
  });

  it("to a version that vanishes meanwhile leave the tag as it was", async () => {
    const { root } = await makeTable();
    await createTag(tableAt(openEnvironment(), root), "v", main(2));
    const before = await readFile(tagPath(root, "v"), "utf8");
    const version1 = join(root, "_versions", "18446744073709551614.manifest");
    class VanishingDisk extends NodeDisk {
      override async rename(from: string, to: string): Promise<void> {
        await this.remove(version1);
        return super.rename(from, to);
      }
    }
    const vanishing = { ...openEnvironment(), disk: new VanishingDisk({ durability: "none" }) };
    await expect(updateTag(tableAt(vanishing, root), "v", main(1))).rejects.toBeInstanceOf(
      TableVersionNotFoundError,
    );
    expect(await readFile(tagPath(root, "v"), "utf8")).toBe(before);
    expect(await readdir(dirname(tagPath(root, "v")))).toEqual(["v.json"]);
  });

  it("do not restore a tag that the reference deletes before its file is replaced", async () => {
    const { uri, root } = await makeTable();
    const isTemporary = (path: string) => basename(path).startsWith(".tmp-");
    for (const verb of ["create", "list"] as const) {
      await createTag(tableAt(openEnvironment(), root), "v", main(2));
      let isMade = false;
      const interrupted = interruptedDisk(
        disk,
        (called, path) => {
          // The engine looks at the tag once its new file exists.
          isMade ||= called === "create" && isTemporary(path);
          return isMade && called === verb;
        },
        () => reference.deleteTag(uri, "t", "v"),
      );
      const moved = updateTag(tableAt({ ...openEnvironment(), disk: interrupted }, root), "v", main(1));
      await expect(moved).rejects.toBeInstanceOf(TableTagNotFoundError);
      expect(interrupted.interrupted).toBe(true);
      expect(await readdir(dirname(tagPath(root, "v")))).toEqual([]);
    }
  });

  it("to a version that vanishes meanwhile do not restore a tag that is deleted as well", async () => {
    const { uri, root } = await makeTable();
    await createTag(tableAt(openEnvironment(), root), "v", main(2));
    const version1 = join(root, "_versions", "18446744073709551614.manifest");
    const interrupted = interruptedDisk(
      disk,
      (verb, path) => verb === "stat" && path === version1 && isReplaced,
      async () => {
        await disk.remove(version1);
        await reference.deleteTag(uri, "t", "v");
      },
    );
    let isReplaced = false;
    const watched = watchedDisk(interrupted, {
      after: ({ verb }) => {
        isReplaced ||= verb === "rename";
      },
    });
    const moved = updateTag(tableAt({ ...openEnvironment(), disk: watched }, root), "v", main(1));
    await expect(moved).rejects.toBeInstanceOf(TableVersionNotFoundError);
    expect(await readdir(dirname(tagPath(root, "v")))).toEqual([]);
  });
});

describe("damage", () => {
  it.each([
    "",
    "[]",
    "null",
    "{}",
    '{"version":-1}',
    '{"version":1.5}',
    '{"version":9007199254740993}',
    '{"version":1,"branch":7}',
    '{"version":1,"branch":"../x"}',
    '{"version":1,"manifestSize":"1"}',
    "\ufffd{",
  ])("in a tag is reported: %j", async (text) => {
    const root = await makeTempDir();
    await mkdir(dirname(tagPath(root, "v")), { recursive: true });
    await writeFile(tagPath(root, "v"), text);
    await expect(readTag({ disk, mainRoot: root }, "v")).rejects.toMatchObject({ path: tagPath(root, "v") });
    await expect(readTag({ disk, mainRoot: root }, "v")).rejects.toBeInstanceOf(CorruptFileError);
  });

  const malformedFiles = ["a b.json", "%zz.json", ".a.json", "%2F.json"];
  it.each(malformedFiles)("in a file's name is reported: %s", async (name) => {
    const root = await makeTempDir();
    await mkdir(join(root, "_refs", "tags"), { recursive: true });
    await writeFile(join(root, "_refs", "tags", name), "{}");
    await writeFile(join(root, "_refs", "tags", "v.json#1"), "left behind by a writer");
    await expect(listTags({ disk, mainRoot: root })).rejects.toBeInstanceOf(CorruptFileError);
  });
});

describe("a change of a tag that may not survive a power cut", () => {
  const isSync = (verb: string, path: string) => verb === "syncDirectory" && path.endsWith("tags");
  const failure = Object.assign(new Error("EIO: i/o error, fsync"), { code: "EIO" });

  it.each([
    [
      "created",
      "w",
      (environment: TableEnvironment, root: string) => createTag(tableAt(environment, root), "w", main(1)),
    ],
    [
      "moved",
      "v",
      (environment: TableEnvironment, root: string) => updateTag(tableAt(environment, root), "v", main(2)),
    ],
    [
      "deleted",
      "v",
      (environment: TableEnvironment, root: string) => deleteTag(tableAt(environment, root), "v"),
    ],
  ])("reports that it was %s", async (_what, tag, change) => {
    const { root } = await makeTable();
    await createTag(tableAt(openEnvironment(), root), "v", main(1));
    const before = await readTag({ disk, mainRoot: root }, tag);
    const failing = interruptedDisk(disk, isSync, () => Promise.reject(failure));
    await expect(change({ ...openEnvironment(), disk: failing }, root)).rejects.toThrow(
      /may (not survive|exist again after) a power cut/,
    );
    expect(failing.interrupted).toBe(true);
    expect(await readTag({ disk, mainRoot: root }, tag)).not.toEqual(before);
  });
});
