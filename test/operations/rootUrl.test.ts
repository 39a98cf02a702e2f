import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { DirectoryNamespace } from "../../src/DirectoryNamespace.js";
import { InvalidInputError } from "../../src/errors.js";
import { makeTempDir } from "../support/tempDir.js";

test("the root may be given as a file URL", async () => {
  const root = join(await makeTempDir(), "a name with #, % and é");
  await using byUrl = new DirectoryNamespace({ root: pathToFileURL(root).href, durability: "none" });
  expect(byUrl.root).toBe(root);
  await byUrl.declareTable({ id: ["trees"] });
  await using byPath = new DirectoryNamespace({ root, durability: "none" });
  expect((await byPath.listTables()).tables).toEqual(["trees"]);
});

test.each(["file:///a%2Fb", "file:///a%00b", "file://[/"])("%s is refused as a root", (root) => {
  expect(() => new DirectoryNamespace({ root })).toThrow(InvalidInputError);
});
