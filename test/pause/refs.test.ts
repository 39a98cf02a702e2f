/** Changes of tags and branches during other changes. */

import type { DirectoryNamespace } from "tiltyard";
import { pauseLoop, type Victim } from "./loop.js";
import { CHILD_TABLE, ROOT_TABLE, type TableId } from "./world.js";

type Run = (ns: DirectoryNamespace, id: TableId) => Promise<unknown>;

const changes: readonly (readonly [name: string, run: Run])[] = [
  ["tag", (ns, id) => ns.createTableTag({ id, tag: "x", version: 1 })],
  ["tag a version of a branch", (ns, id) => ns.createTableTag({ id, tag: "x", branch: "dev", version: 3 })],
  ["move a tag", (ns, id) => ns.updateTableTag({ id, tag: "v", version: 2 })],
  ["delete a tag", (ns, id) => ns.deleteTableTag({ id, tag: "v" })],
  ["make a branch", (ns, id) => ns.createTableBranch({ id, name: "x", fromVersion: 2 })],
  ["make a branch of the latest", (ns, id) => ns.createTableBranch({ id, name: "x" })],
  ["make a branch of a branch", (ns, id) => ns.createTableBranch({ id, name: "x", fromBranch: "dev" })],
  ["delete a branch", (ns, id) => ns.deleteTableBranch({ id, name: "dev" })],
];

pauseLoop(
  changes.flatMap(([name, run]): Victim[] => [
    { name: `${name}, root`, world: [[ROOT_TABLE, "refs"]], run: (ns) => run(ns, ROOT_TABLE) },
    { name: `${name}, child`, world: [[CHILD_TABLE, "refs"]], run: (ns) => run(ns, CHILD_TABLE) },
  ]),
);
