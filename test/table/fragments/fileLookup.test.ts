import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { CorruptFileError } from "../../../src/errors.js";
import {
  BasePath,
  DataFile,
  DataFragment,
  DeletionFile,
  IndexMetadata,
  Manifest,
  Uuid,
} from "../../../src/format/table.js";
import {
  resolveDataFile,
  resolveDeletionFile,
  resolveIndexDirectory,
} from "../../../src/table/fragments/fileLookup.js";
import { branchRoot } from "../../../src/table/refs/refNames.js";
import { reference } from "../../support/reference.js";
import { makeTempDir } from "../../support/tempDir.js";
import { disk, ipcOf, latestFile, makeReferenceTable } from "../support.js";

describe("branches of the reference", () => {
  it("resolve the files of a branch to the source table, also after it was moved", async () => {
    const table = await makeReferenceTable([1]);
    await reference.createBranch(table.uri, "t", "dev");
    await reference.appendTable(table.uri, "t", ipcOf(2), { branch: "dev" });
    await reference.createBranch(table.uri, "t", "a/b", { fromBranch: "dev" });
    const expectFiles = async (mainRoot: string) => {
      const root = branchRoot(mainRoot, "a/b");
      const { manifest } = await latestFile(root);
      const files = manifest.fragments.map(({ files: [file] }) =>
        resolveDataFile({ disk, root }, manifest, file),
      );
      const paths = await Promise.all(files);
      expect(paths.map(dirname)).toEqual([join(mainRoot, "data"), join(branchRoot(mainRoot, "dev"), "data")]);
      for (const path of paths) expect((await disk.stat(path))?.kind).toBe("file");
    };
    await expectFiles(table.root);
    const moved = join(await makeTempDir(), "t.lance");
    await rename(table.root, moved);
    await expectFiles(moved);
  });
});

describe("base paths", () => {
  const file = DataFile.create({ path: "a.lance", baseId: 3 });
  const manifestOf = (base: Partial<BasePath>, branch?: string) =>
    Manifest.create({ branch, basePaths: [BasePath.create({ id: 3, isDatasetRoot: true, ...base })] });
  const lookUp = (tableRoot: string, manifest: Manifest) =>
    resolveDataFile({ disk, root: tableRoot }, manifest, file);

  it("are used as they are for tables without branches, and for other directories", () => {
    expect(lookUp("/t", manifestOf({ path: "/u" }))).toBe(join("/u", "data", "a.lance"));
    expect(lookUp("/t", manifestOf({ path: "/u", isDatasetRoot: false }))).toBe(join("/u", "a.lance"));
    const inBranch = manifestOf({ path: "/u", isDatasetRoot: false }, "dev");
    expect(lookUp("/t/tree/dev", inBranch)).toBe(join("/u", "a.lance"));
    // The manifest's directory does not match its branch's name.
    expect(lookUp("/t/elsewhere", manifestOf({ path: "/u" }, "dev"))).toBe(join("/u", "data", "a.lance"));
    expect(lookUp("/t/tree/dev", manifestOf({ path: "/u", name: "../x" }, "dev"))).toBe(
      join("/u", "data", "a.lance"),
    );
    // The directory has not moved, so there is one candidate.
    expect(lookUp("/t/tree/dev", manifestOf({ path: "/t" }, "dev"))).toBe(join("/t", "data", "a.lance"));
  });

  it("of a branch refer to directories around it, if these exist", async () => {
    const [here, there] = [await makeTempDir(), await makeTempDir()];
    const put = async (root: string) => {
      await mkdir(join(root, "data"), { recursive: true });
      await writeFile(join(root, "data", "a.lance"), "");
    };
    const dev = join(here, "tree", "dev");
    const ofMain = manifestOf({ path: there }, "dev");
    const ofSource = manifestOf({ path: there, name: "x/y" }, "dev");
    expect(await lookUp(dev, ofMain)).toBe(join(here, "data", "a.lance"));
    await put(there);
    expect(await lookUp(dev, ofMain)).toBe(join(there, "data", "a.lance"));
    expect(await lookUp(dev, ofSource)).toBe(join(there, "data", "a.lance"));
    await put(here);
    await put(join(here, "tree", "x", "y"));
    expect(await lookUp(dev, ofMain)).toBe(join(here, "data", "a.lance"));
    expect(await lookUp(dev, ofSource)).toBe(join(here, "tree", "x", "y", "data", "a.lance"));
  });

  it("are followed for deletion files", async () => {
    const deletionFile = DeletionFile.create({ readVersion: 2, id: 7n, baseId: 3 });
    const fragment = DataFragment.create({ id: 1, deletionFile });
    expect(await resolveDeletionFile({ disk, root: "/t" }, manifestOf({ path: "/u" }), fragment)).toBe(
      join("/u", "_deletions", "1-2-7.arrow"),
    );
    expect(
      resolveDeletionFile({ disk, root: "/t" }, manifestOf({ path: "/u" }), DataFragment.create()),
    ).toBeNull();
  });

  it("are followed for indexes, and to other bases if the stated one lacks the index", async () => {
    const [main, second] = [await makeTempDir(), await makeTempDir()];
    const uuid = Uuid.create({ uuid: Uint8Array.from({ length: 16 }, (_, index) => index) });
    const name = "00010203-0405-0607-0809-0a0b0c0d0e0f";
    const dev = join(main, "tree", "dev");
    const manifest = Manifest.create({
      branch: "dev",
      basePaths: [
        BasePath.create({ id: 0, isDatasetRoot: true, path: main }),
        BasePath.create({ id: 1, isDatasetRoot: true, path: second }),
        BasePath.create({ id: 2, isDatasetRoot: true, path: "s3://b/t" }),
        BasePath.create({ id: 3, path: main }),
      ],
    });
    const lookUpIndex = (baseId?: number) =>
      resolveIndexDirectory({ disk, root: dev }, manifest, IndexMetadata.create({ uuid, baseId }));
    expect(await lookUpIndex()).toBe(join(dev, "_indices", name));
    expect(await lookUpIndex(0)).toBe(join(main, "_indices", name));
    await mkdir(join(main, "_indices", name), { recursive: true });
    for (const baseId of [undefined, 0, 1]) {
      expect(await lookUpIndex(baseId)).toBe(join(main, "_indices", name));
    }
    await mkdir(join(second, "_indices", name), { recursive: true });
    expect(await lookUpIndex(0)).toBe(join(main, "_indices", name));
    await mkdir(join(dev, "_indices", name), { recursive: true });
    expect(await lookUpIndex()).toBe(join(dev, "_indices", name));
    for (const baseId of [2, 4]) await expect(lookUpIndex(baseId)).rejects.toThrow(CorruptFileError);
    for (const wrong of [undefined, Uuid.create({ uuid: new Uint8Array(3) })]) {
      const index = IndexMetadata.create({ uuid: wrong });
      await expect(resolveIndexDirectory({ disk, root: dev }, manifest, index)).rejects.toThrow(
        CorruptFileError,
      );
    }
  });

  it("that are damaged are reported", () => {
    expect(() => lookUp("/t", Manifest.create())).toThrow(CorruptFileError);
    expect(() => lookUp("/t", manifestOf({ path: "s3://b/t" }))).toThrow(CorruptFileError);
  });
});

const outsideNames = ["", "../a.lance", "/etc/passwd", "x/../../a", "..\\a"];
it.each(outsideNames)("a file name that leads out is reported: %j", (path) => {
  expect(() => resolveDataFile({ disk, root: "/t" }, Manifest.create(), DataFile.create({ path }))).toThrow(
    CorruptFileError,
  );
});
