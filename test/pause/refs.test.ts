/** Changes of tags and branches during other changes. */

import { pauseLoop, type Run, victim } from "./loop.js";
import { CHILD_TABLE, ROOT_TABLE } from "./world.js";

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
  changes.flatMap(([name, run]) => [
    victim(`${name}, root`, ROOT_TABLE, "refs", run),
    victim(`${name}, child`, CHILD_TABLE, "refs", run),
  ]),
);
