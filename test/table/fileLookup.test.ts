import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { CorruptFileError } from "../../src/errors.js";
import { BasePath, DataFile, Manifest } from "../../src/format/table.js";
import { resolveDataFile } from "../../src/table/fileLookup.js";
import { branchRoot } from "../../src/table/refs.js";
import { reference } from "../support/reference.js";
import { disk, ipcOf, latestFile, makeReferenceTable } from "./support.js";

describe("branches of the reference", () => {
  it("resolve the files of a branch to the table they came from", async () => {
    const table = await makeReferenceTable([1]);
    await reference.createBranch(table.uri, "t", "dev");
    await reference.appendTable(table.uri, "t", ipcOf(2), { branch: "dev" });
    const root = branchRoot(table.root, "dev");
    const { manifest } = await latestFile(root);
    const paths = manifest.fragments.map((fragment) => resolveDataFile(root, manifest, fragment.files[0]));
    expect(paths.map(dirname)).toEqual([join(table.root, "data"), join(root, "data")]);
    for (const path of paths) expect((await disk.stat(path))?.kind).toBe("file");
  });
});

describe("damage", () => {
  it.each(["", "../a.lance", "/etc/passwd", "x/../../a", "..\\a"])("in a file name is found: %j", (path) => {
    expect(() => resolveDataFile("/t", Manifest.create(), DataFile.create({ path }))).toThrow(
      CorruptFileError,
    );
  });

  it("in base paths is found", () => {
    const file = DataFile.create({ path: "a.lance", baseId: 3 });
    expect(() => resolveDataFile("/t", Manifest.create(), file)).toThrow(CorruptFileError);
    const basePaths = (path: string, isDatasetRoot: boolean) =>
      Manifest.create({ basePaths: [BasePath.create({ id: 3, path, isDatasetRoot })] });
    expect(() => resolveDataFile("/t", basePaths("s3://b/t", true), file)).toThrow(CorruptFileError);
    expect(resolveDataFile("/t", basePaths("/u", true), file)).toBe(join("/u", "data", "a.lance"));
    expect(resolveDataFile("/t", basePaths("/u", false), file)).toBe(join("/u", "a.lance"));
  });
});
