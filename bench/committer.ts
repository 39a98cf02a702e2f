/**
 * A process that appends single rows to a table to which others append as well. It says that it is ready, and
 * waits for a message. It commits, and says how much processor time that took. An append that lost its race
 * is tried again until it is acknowledged.
 */

import { once } from "node:events";
import { makeRows } from "./data.js";
import { openReference, openTiltyard, referenceTable, tiltyardTable } from "./sides.js";

const [kind, root, commits] = process.argv.slice(2);
const rows = makeRows(1, process.pid, ["id", "score"]);

async function makeAppend(): Promise<() => Promise<unknown>> {
  if (kind === "reference") {
    const connection = await openReference(root);
    const table = await connection.openTable("t");
    return () => table.add(referenceTable(rows));
  }
  const ns = openTiltyard(root, kind === "fsync" ? "fsync" : "none");
  await ns.describeTable({ id: ["t"] });
  return () => ns.insertIntoTable({ id: ["t"] }, tiltyardTable(rows));
}

/** Attempts at one commit before it counts as a failure of the side, not as a lost race. */
const MAX_ATTEMPTS = 100;

async function commitOnce(append: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await append();
      return;
    } catch (error) {
      if (attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

// If the starter ends before it says go, nobody waits for the commits.
process.once("disconnect", () => process.exit(0));
const append = await makeAppend();
const go = once(process, "message");
process.send?.("ready");
await go;
const start = process.cpuUsage();
for (let i = 0; i < Number(commits); i++) await commitOnce(append);
const { user, system } = process.cpuUsage(start);
process.send?.({ cpuMilliseconds: (user + system) / 1000 }, () => process.exit(0));
