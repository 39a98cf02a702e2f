/** Versions that are made, changed and removed during other changes. */

import { join } from "node:path";
import type { DirectoryNamespace } from "tiltyard";
import { stageDoubled } from "../support/stageVersion.js";
import { pauseLoop } from "./loop.js";
import { CHILD_TABLE, ROOT_TABLE, type TableId } from "./world.js";

const id = ROOT_TABLE;
const stage = (version: number) => (root: string) => stageDoubled(join(root, "t.lance"), version);
const addColumn = (table: TableId) => (ns: DirectoryNamespace) =>
  ns.alterTableAddColumns({ id: table, newColumns: [{ name: "n", expression: "7" }] });
/** A staged version repeats the rows and counts as an append, which a change need not see. */
const without = ["delete rows", "update rows", "merge rows"];
const FIRST_TWO = [{ startVersion: 1, endVersion: 3 }];

pauseLoop([
  { name: "restore", world: [[id, "table"]], run: (ns) => ns.restoreTable({ id, version: 2 }) },
  {
    name: "restore a branch",
    world: [[id, "refs"]],
    run: (ns) => ns.restoreTable({ id, branch: "dev", version: 2 }),
  },
  {
    name: "publish a version",
    world: [[id, "table"]],
    without,
    prepare: stage(4),
    run: (ns, manifestPath) => ns.createTableVersion({ id, version: 4, manifestPath }),
  },
  {
    name: "publish a version after a gap",
    world: [[id, "table"]],
    without,
    prepare: stage(6),
    run: (ns, manifestPath) => ns.createTableVersion({ id, version: 6, manifestPath }),
  },
  {
    name: "batch",
    world: [[id, "table"]],
    without,
    prepare: stage(4),
    run: (ns, manifestPath) =>
      ns.batchCommitTables({
        operations: [
          { declareTable: { id: ["far", "n"] } },
          { createTableVersion: { id, version: 4, manifestPath } },
          { deleteTableVersions: { id, ranges: [{ startVersion: 2, endVersion: 3 }] } },
        ],
      }),
  },
  {
    name: "batch of declarations",
    world: [[CHILD_TABLE, "absent"]],
    run: (ns) =>
      ns.batchCommitTables({
        operations: [{ declareTable: { id: CHILD_TABLE } }, { deregisterTable: { id: ["other"] } }],
      }),
  },
  {
    name: "delete versions",
    world: [[id, "table"]],
    run: (ns) => ns.batchDeleteTableVersions({ id, ranges: FIRST_TWO }),
  },
  {
    name: "delete versions, child",
    world: [[CHILD_TABLE, "table"]],
    run: (ns) => ns.batchDeleteTableVersions({ id: CHILD_TABLE, ranges: FIRST_TWO }),
  },
  { name: "add a column", world: [[id, "table"]], run: addColumn(id) },
  { name: "add a column, child", world: [[CHILD_TABLE, "table"]], run: addColumn(CHILD_TABLE) },
  {
    name: "rename a column",
    world: [[id, "table"]],
    run: (ns) => ns.alterTableAlterColumns({ id, alterations: [{ path: "v", rename: "u" }] }),
    // Rows that were planned before are inserted under the new name.
    looseness: "latest",
  },
  {
    name: "change a field's metadata",
    world: [[id, "table"]],
    run: (ns) => ns.updateFieldMetadata({ id, updates: [{ path: "v", metadata: { k: "1" } }] }),
  },
  { name: "optimize", world: [[id, "table"]], run: (ns) => ns.optimizeTable({ id }), looseness: "latest" },
  {
    name: "clean up",
    world: [[id, "table"]],
    run: (ns) => ns.cleanupTable({ id, olderThanMs: 0 }),
    looseness: "more",
  },
  {
    name: "clean up beside refs",
    world: [[id, "refs"]],
    run: (ns) => ns.cleanupTable({ id, olderThanMs: 0 }),
    looseness: "more",
  },
  {
    name: "clean up a branch",
    world: [[id, "refs"]],
    run: (ns) => ns.cleanupTable({ id, branch: "dev", olderThanMs: 0 }),
    looseness: "more",
  },
  {
    name: "clean up, child",
    world: [[CHILD_TABLE, "table"]],
    run: (ns) => ns.cleanupTable({ id: CHILD_TABLE, olderThanMs: 0 }),
    looseness: "more",
  },
]);
