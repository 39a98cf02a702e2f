import { DirectoryNamespace } from "tiltyard";
import { expect, it } from "vitest";
import { makeTempDir } from "../../support/tempDir.js";

it.each(["0ms", "0s"])("a merge whose time is up before its commit changes nothing: %s", async (timeout) => {
  await using ns = new DirectoryNamespace({ root: await makeTempDir(), durability: "none", workers: 0 });
  await ns.createTable({ id: ["t"] }, [{ a: 1, b: "x" }]);
  const request = { id: ["t"], on: "a", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true, timeout };
  const rows = [
    { a: 1, b: "y" },
    { a: 2, b: "z" },
  ];
  for (let turn = 0; turn < 20; turn++) {
    await expect(ns.mergeInsertIntoTable(request, rows)).rejects.toMatchObject({
      type: "ServiceUnavailable",
    });
  }
  expect(await ns.table("t").scan().toArray()).toEqual([{ a: 1, b: "x" }]);
  await ns.mergeInsertIntoTable({ ...request, timeout: "1h" }, rows);
  expect(await ns.table("t").countRows()).toBe(2);
});
