/** Changes of rows during other changes. */

import type { DirectoryNamespace } from "tiltyard";
import { pauseLoop } from "./loop.js";
import { CHILD_TABLE, ROOT_TABLE, rowsOf, type TableId } from "./world.js";

const insert =
  (id: TableId, request: object = {}) =>
  (ns: DirectoryNamespace) =>
    ns.insertIntoTable({ id, ...request }, rowsOf(10));
/** A deletion of rows that no rival appends: it need not see rows that are appended while it runs. */
const remove =
  (id: TableId, request: object = {}) =>
  (ns: DirectoryNamespace) =>
    ns.deleteFromTable({ id, ...request, predicate: "v IN (1, 2)" });
const update =
  (id: TableId, request: object = {}) =>
  (ns: DirectoryNamespace) =>
    ns.updateTable({ id, ...request, predicate: "v IN (1, 3)", updates: [["v", "v + 5000"]] });
/** This rival appends the tested rows once more. */
const without = ["publish after a gap"];
/** A merge of rows that no rival adds, for the same reason. */
const merge =
  (id: TableId, request: object = {}) =>
  (ns: DirectoryNamespace) =>
    ns.mergeInsertIntoTable(
      { id, ...request, on: "v", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
      rowsOf(1, 3, 7000),
    );
const overwrite = { mode: "Overwrite" };
const onBranch = { branch: "dev" };

pauseLoop([
  { name: "append, root", world: [[ROOT_TABLE, "table"]], run: insert(ROOT_TABLE) },
  { name: "append, child", world: [[CHILD_TABLE, "table"]], run: insert(CHILD_TABLE) },
  {
    name: "append to a known table",
    world: [[ROOT_TABLE, "table"]],
    warmUp: insert(ROOT_TABLE),
    run: insert(ROOT_TABLE),
  },
  { name: "overwrite, root", world: [[ROOT_TABLE, "table"]], run: insert(ROOT_TABLE, overwrite) },
  { name: "append to a declared table, root", world: [[ROOT_TABLE, "declared"]], run: insert(ROOT_TABLE) },
  { name: "append to a declared table, child", world: [[CHILD_TABLE, "declared"]], run: insert(CHILD_TABLE) },
  {
    name: "overwrite a declared table, child",
    world: [[CHILD_TABLE, "declared"]],
    run: insert(CHILD_TABLE, overwrite),
  },
  { name: "delete rows, root", world: [[ROOT_TABLE, "table"]], run: remove(ROOT_TABLE), without },
  { name: "delete rows, child", world: [[CHILD_TABLE, "table"]], run: remove(CHILD_TABLE), without },
  {
    name: "delete rows of a branch",
    world: [[ROOT_TABLE, "refs"]],
    run: remove(ROOT_TABLE, onBranch),
    without,
  },
  { name: "update rows, root", world: [[ROOT_TABLE, "table"]], run: update(ROOT_TABLE), without },
  { name: "update rows, child", world: [[CHILD_TABLE, "table"]], run: update(CHILD_TABLE), without },
  {
    name: "update rows of a branch",
    world: [[ROOT_TABLE, "refs"]],
    run: update(ROOT_TABLE, onBranch),
    without,
  },
  { name: "merge rows, root", world: [[ROOT_TABLE, "table"]], run: merge(ROOT_TABLE), without },
  { name: "merge rows, child", world: [[CHILD_TABLE, "table"]], run: merge(CHILD_TABLE), without },
  { name: "merge rows, declared root", world: [[ROOT_TABLE, "declared"]], run: merge(ROOT_TABLE) },
  {
    name: "merge rows of a branch",
    world: [[ROOT_TABLE, "refs"]],
    run: merge(ROOT_TABLE, onBranch),
    without,
  },
  { name: "append to a branch, root", world: [[ROOT_TABLE, "refs"]], run: insert(ROOT_TABLE, onBranch) },
  { name: "append to a branch, child", world: [[CHILD_TABLE, "refs"]], run: insert(CHILD_TABLE, onBranch) },
]);
