/** Tables and namespaces that are made, dropped and moved during other changes. */

import { readdir } from "node:fs/promises";
import type { DirectoryNamespace } from "tiltyard";
import { pauseLoop } from "./loop.js";
import { CHILD_TABLE, ROOT_TABLE, rowsOf, type TableId } from "./world.js";

const create =
  (id: TableId, mode: "Create" | "ExistOk" | "Overwrite" = "Create") =>
  (ns: DirectoryNamespace) =>
    ns.createTable({ id, mode }, rowsOf(20));
const rename = (id: TableId, newId: TableId) => (ns: DirectoryNamespace) =>
  ns.renameTable({
    id,
    newTableName: newId[newId.length - 1],
    newNamespaceId: newId.slice(0, -1),
  });

const NEW_ROOT: TableId = ["new"];
const NEW_CHILD: TableId = ["a", "new"];
const NEW_ELSEWHERE: TableId = ["b", "new"];

pauseLoop([
  { name: "create, root", world: [[ROOT_TABLE, "absent"]], run: create(ROOT_TABLE) },
  { name: "create, child", world: [[CHILD_TABLE, "absent"]], run: create(CHILD_TABLE) },
  {
    name: "create or overwrite, child",
    world: [[CHILD_TABLE, "absent"]],
    run: create(CHILD_TABLE, "Overwrite"),
  },
  { name: "create a declared table, root", world: [[ROOT_TABLE, "declared"]], run: create(ROOT_TABLE) },
  { name: "create a declared table, child", world: [[CHILD_TABLE, "declared"]], run: create(CHILD_TABLE) },
  { name: "create over a table, root", world: [[ROOT_TABLE, "table"]], run: create(ROOT_TABLE, "Overwrite") },
  {
    name: "declare, root",
    world: [[ROOT_TABLE, "absent"]],
    run: (ns) => ns.declareTable({ id: ROOT_TABLE }),
  },
  {
    name: "declare, child",
    world: [[CHILD_TABLE, "absent"]],
    run: (ns) => ns.declareTable({ id: CHILD_TABLE }),
  },
  { name: "drop, root", world: [[ROOT_TABLE, "table"]], run: (ns) => ns.dropTable({ id: ROOT_TABLE }) },
  { name: "drop, child", world: [[CHILD_TABLE, "table"]], run: (ns) => ns.dropTable({ id: CHILD_TABLE }) },
  {
    name: "drop a declared table",
    world: [[ROOT_TABLE, "declared"]],
    run: (ns) => ns.dropTable({ id: ROOT_TABLE }),
  },
  {
    name: "rename, root to root",
    world: [
      [ROOT_TABLE, "table"],
      [NEW_ROOT, "absent"],
    ],
    contested: [ROOT_TABLE, NEW_ROOT],
    run: rename(ROOT_TABLE, NEW_ROOT),
  },
  {
    name: "rename, child to child",
    world: [
      [CHILD_TABLE, "table"],
      [NEW_CHILD, "absent"],
    ],
    contested: [CHILD_TABLE, NEW_CHILD],
    run: rename(CHILD_TABLE, NEW_CHILD),
  },
  {
    name: "rename, child to root",
    world: [
      [CHILD_TABLE, "table"],
      [NEW_ROOT, "absent"],
    ],
    contested: [CHILD_TABLE, NEW_ROOT],
    run: rename(CHILD_TABLE, NEW_ROOT),
  },
  {
    name: "rename, root to child",
    world: [
      [ROOT_TABLE, "table"],
      [NEW_ELSEWHERE, "absent"],
    ],
    contested: [ROOT_TABLE, NEW_ELSEWHERE],
    run: rename(ROOT_TABLE, NEW_ELSEWHERE),
  },
  {
    name: "deregister, root",
    world: [[ROOT_TABLE, "table"]],
    run: (ns) => ns.deregisterTable({ id: ROOT_TABLE }),
  },
  {
    name: "deregister, child",
    world: [[CHILD_TABLE, "table"]],
    run: (ns) => ns.deregisterTable({ id: CHILD_TABLE }),
  },
  {
    name: "register, root",
    world: [[ROOT_TABLE, "hidden"]],
    run: (ns) => ns.registerTable({ id: ROOT_TABLE, location: "t.lance" }),
  },
  {
    name: "register, child",
    world: [
      [NEW_CHILD, "absent"],
      [["c", "kept"], "hidden"],
    ],
    prepare: async (root) => (await readdir(root)).find((name) => name.endsWith("c$kept")) ?? "",
    run: (ns, location) => ns.registerTable({ id: NEW_CHILD, location }),
  },
  {
    name: "create a namespace",
    world: [[CHILD_TABLE, "absent"]],
    run: (ns) => ns.createNamespace({ id: CHILD_TABLE }),
  },
  {
    name: "drop a namespace",
    world: [[CHILD_TABLE, "absent"]],
    run: (ns) => ns.dropNamespace({ id: ["a"] }),
  },
  {
    name: "drop a namespace and all in it",
    world: [[CHILD_TABLE, "table"]],
    run: (ns) => ns.dropNamespace({ id: ["a"], behavior: "Cascade" }),
  },
]);
