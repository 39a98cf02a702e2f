/** Write specs that are set while another change is under way: the change must not be committed over them. */

import { UnsupportedError } from "tiltyard";
import type { DirectoryNamespace } from "../../../src/DirectoryNamespace.js";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { expect, it } from "../../support/fixtures.js";
import { rowsOf } from "../../support/intRows.js";
import { wrapDisk } from "../../support/wrappedDisk.js";

const id = ["t"];
const UPSERT = { on: "v", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
const spec = { specType: "unsharded" } as const;

/** A change, and if it accepts a table with a write spec. */
const CHANGES: readonly (readonly [
  name: string,
  change: (ns: DirectoryNamespace) => Promise<unknown>,
  isAccepted?: boolean,
])[] = [
  ["append", (ns) => ns.insertIntoTable({ id }, rowsOf(4))],
  ["overwriting insert", (ns) => ns.insertIntoTable({ id, mode: "Overwrite" }, rowsOf(4))],
  ["deletion", (ns) => ns.deleteFromTable({ id, predicate: "v = 1" })],
  ["update", (ns) => ns.updateTable({ id, values: { v: 2 } })],
  ["merge", (ns) => ns.mergeInsertIntoTable({ id, ...UPSERT }, rowsOf(1, 4))],
  ["restoration", (ns) => ns.restoreTable({ id, version: 1 })],
  ["new column", (ns) => ns.alterTableAddColumns({ id, newColumns: [{ name: "w", expression: "1" }] })],
  ["renamed column", (ns) => ns.alterTableAlterColumns({ id, alterations: [{ path: "v", rename: "w" }] })],
  ["setting", (ns) => ns.configureUpkeep({ id, versions: 5 })],
  ["compaction", (ns) => ns.optimizeTable({ id })],
  ["merge without logs", (ns) => ns.mergeInsertIntoTable({ id, ...UPSERT, useLsm: false }, rowsOf(4)), true],
  ["new table", (ns) => ns.createTable({ id, mode: "Overwrite" }, rowsOf(4)), true],
];

it.for(CHANGES)("%s", async ([, change, isAccepted = false], { root, ns, open }) => {
  await ns.createTable({ id }, rowsOf(1));
  await ns.insertIntoTable({ id }, rowsOf(2));
  let isSet = false;
  const disk = wrapDisk(new NodeDisk({ durability: "none" }), async ({ verb, path, make }) => {
    // The change is planned: this file is written right before the lock is taken.
    if (verb === "create" && path.includes("_transactions") && !isSet) {
      isSet = true;
      await ns.configureLsmWrites({ id, spec });
    }
    return make();
  });
  const outcome = change(open({ root, disk }));
  if (isAccepted) await outcome;
  else await expect(outcome).rejects.toThrow(UnsupportedError);
  expect(isSet).toBe(true);
  expect((await ns.describeTable({ id })).version).toBe(isAccepted ? 4 : 3);
});

it("settings that the caller changes meanwhile are stored as they were checked", async ({ root, open }) => {
  const names = ["none"];
  let isCalled = false;
  const disk = wrapDisk(new NodeDisk({ durability: "none" }), async ({ path, make }) => {
    if (isCalled && path.includes("t.lance")) names.length = 0;
    return make();
  });
  const ns = open({ root, disk });
  await ns.createTable({ id }, rowsOf(1));
  isCalled = true;
  const configured = ns.configureLsmWrites({ id, spec: { ...spec, maintainedIndexes: names } });
  await expect(configured).rejects.toThrow("index none does not exist");
});
