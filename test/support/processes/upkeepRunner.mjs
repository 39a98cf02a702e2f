/**
 * Has the option `upkeep`, and appends to a table meanwhile, in a process of its own. Runs the built package's
 * modules, so `npm run build` comes first. Each job that upkeep starts writes a line to a log when its work begins and
 * when it ends.
 *
 *   parent → runner    { root, log, rows: number[] }
 *   runner → parent    { appended: true }      after all rows are appended and were read
 *   parent → runner    { end: true }
 */

import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { DirectoryNamespace } from "../../../dist/DirectoryNamespace.js";
import { Jobs } from "../../../dist/jobs/jobs.js";

const [{ root, log, rows }] = await once(process, "message");
const { start } = Jobs.prototype;
Jobs.prototype.start = function (spec, signal) {
  const tell = (what) => appendFileSync(log, `${process.pid} ${spec.kind} ${what}\n`);
  const run = async (control) => {
    tell("begins");
    try {
      return await spec.run(control);
    } finally {
      tell("ends");
    }
  };
  return start.call(this, { ...spec, run }, signal);
};
const namespace = new DirectoryNamespace({
  root,
  durability: "none",
  workers: 0,
  upkeep: { intervalMs: 100 },
});
const table = namespace.table("t");
const appended = new Set();
for (const n of rows) {
  await table.insert([{ n }]);
  appended.add(n);
  const seen = (await table.scan({ columns: ["n"] }).toArray()).map((row) => row.n);
  if (new Set(seen).size !== seen.length) throw new Error("a row was read twice");
  for (const row of appended) if (!seen.includes(row)) throw new Error(`row ${row} was lost`);
}
process.send({ appended: true });
await once(process, "message");
await namespace.close();
process.exit(0);
