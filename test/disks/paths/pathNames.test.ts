import { resolve } from "node:path";
import { expect, it } from "vitest";
import { namesOfPath } from "../../../src/disks/paths/pathNames.js";

it.each([
  ["/", []],
  ["/a/b", ["a", "b"]],
  ["a/./b/../c/", ["a", "c"]],
  ["/../..", []],
  ["/tables/c:/t.lance", ["tables", "c:", "t.lance"]],
])("the names of %s are what leads to it", (path, names) => {
  expect(namesOfPath(path)).toEqual(names);
});

it("a drive of this machine is no name", () => {
  expect(namesOfPath(resolve("/a"))).toEqual(["a"]);
});
