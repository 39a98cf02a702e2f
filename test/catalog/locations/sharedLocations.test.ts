import { rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { Table, Utf8, vectorFromArray } from "apache-arrow";
import { UnsupportedError } from "tiltyard";
import { expect } from "vitest";
import { it } from "../../support/fixtures.js";
import { rowsOf } from "../../support/intRows.js";

/** Tables `t` and `n.c`; `n.r` shares the directory of `t`, and `n.d` that of `n.c`. */
it.beforeEach(async ({ root, ns }) => {
  await ns.createNamespace({ id: ["n"] });
  await ns.createTable({ id: ["t"] }, rowsOf(1));
  await ns.createTable({ id: ["n", "c"] }, rowsOf(1, 2));
  const { location } = await ns.describeTable({ id: ["n", "c"] });
  const texts = (...values: (string | undefined)[]) => vectorFromArray(values, new Utf8());
  await symlink(join(root, "__manifest"), join(root, "catalog.lance"));
  await ns.insertIntoTable(
    { id: ["catalog"] },
    new Table({
      object_id: texts("n$r", "n$d"),
      object_type: texts("table", "table"),
      location: texts("t.lance", location?.slice(root.length + 1)),
    }),
  );
  await rm(join(root, "catalog.lance"));
});

it("dropping a root table leaves the files of the table that shares its directory", async ({ ns }) => {
  await ns.dropTable({ id: ["t"] });
  expect((await ns.listTables({ id: [] })).tables).toEqual([]);
  expect(await ns.countTableRows({ id: ["n", "r"] })).toBe(1);
});

it("renaming does not move a directory that another table shares", async ({ ns }) => {
  const toRoot = { id: ["n", "c"], newTableName: "moved", newNamespaceId: [] };
  await expect(ns.renameTable(toRoot)).rejects.toBeInstanceOf(UnsupportedError);
  await expect(ns.renameTable({ id: ["t"], newTableName: "u" })).rejects.toBeInstanceOf(UnsupportedError);
  expect(await ns.countTableRows({ id: ["n", "d"] })).toBe(2);
  expect(await ns.countTableRows({ id: ["n", "r"] })).toBe(1);
  expect((await ns.listTables({ id: [] })).tables).toEqual(["t"]);
  expect(new Set((await ns.listTables({ id: ["n"] })).tables)).toEqual(new Set(["c", "d", "r"]));
});
