/** Versions that are made, changed and removed during other changes. */

import { join } from "node:path";
import { stageDoubled } from "../support/stageVersion.js";
import { pauseLoop, type Run, victim } from "./loop.js";
import { CHILD_TABLE, ROOT_TABLE } from "./world.js";

const stage = (version: number) => (root: string) => stageDoubled(join(root, "t.lance"), version);
const publish =
  (version: number): Run =>
  (ns, id, manifestPath) =>
    ns.createTableVersion({ id, version, manifestPath });
const addColumn: Run = (ns, id) =>
  ns.alterTableAddColumns({ id, newColumns: [{ name: "n", expression: "7" }] });
const deleteFirstTwo: Run = (ns, id) =>
  ns.batchDeleteTableVersions({ id, ranges: [{ startVersion: 1, endVersion: 3 }] });
const cleanUp =
  (branch?: string): Run =>
  (ns, id) =>
    ns.cleanupTable({ id, branch, olderThanMs: 0 });
/** A staged version repeats the rows and counts as an append, which a change need not see. */
const without = ["delete rows", "update rows", "merge rows"];

pauseLoop([
  victim("restore", ROOT_TABLE, "table", (ns, id) => ns.restoreTable({ id, version: 2 })),
  victim("restore a branch", ROOT_TABLE, "refs", (ns, id) =>
    ns.restoreTable({ id, branch: "dev", version: 2 }),
  ),
  victim("publish a version", ROOT_TABLE, "table", publish(4), { without, prepare: stage(4) }),
  victim("publish a version after a gap", ROOT_TABLE, "table", publish(6), { without, prepare: stage(6) }),
  victim(
    "batch",
    ROOT_TABLE,
    "table",
    (ns, id, manifestPath) =>
      ns.batchCommitTables({
        operations: [
          { declareTable: { id: ["far", "n"] } },
          { createTableVersion: { id, version: 4, manifestPath } },
          { deleteTableVersions: { id, ranges: [{ startVersion: 2, endVersion: 3 }] } },
        ],
      }),
    { without, prepare: stage(4) },
  ),
  victim("batch of declarations", CHILD_TABLE, "absent", (ns, id) =>
    ns.batchCommitTables({ operations: [{ declareTable: { id } }, { deregisterTable: { id: ["other"] } }] }),
  ),
  victim("delete versions", ROOT_TABLE, "table", deleteFirstTwo),
  victim("delete versions, child", CHILD_TABLE, "table", deleteFirstTwo),
  victim("add a column", ROOT_TABLE, "table", addColumn),
  victim("add a column, child", CHILD_TABLE, "table", addColumn),
  victim(
    "rename a column",
    ROOT_TABLE,
    "table",
    (ns, id) => ns.alterTableAlterColumns({ id, alterations: [{ path: "v", rename: "u" }] }),
    // Rows that were planned before are inserted under the new name.
    { looseness: "latest" },
  ),
  victim("change a field's metadata", ROOT_TABLE, "table", (ns, id) =>
    ns.updateFieldMetadata({ id, updates: [{ path: "v", metadata: { k: "1" } }] }),
  ),
  victim("optimize", ROOT_TABLE, "table", (ns, id) => ns.optimizeTable({ id }), { looseness: "latest" }),
  victim("clean up", ROOT_TABLE, "table", cleanUp(), { looseness: "more" }),
  victim("clean up beside refs", ROOT_TABLE, "refs", cleanUp(), { looseness: "more" }),
  victim("clean up a branch", ROOT_TABLE, "refs", cleanUp("dev"), { looseness: "more" }),
  victim("clean up, child", CHILD_TABLE, "table", cleanUp(), { looseness: "more" }),
]);
