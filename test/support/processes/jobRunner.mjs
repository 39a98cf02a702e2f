/**
 * Runs jobs that count: each step appends a line to a log, so that a test sees what was done, and by whom. The first
 * message opens the namespace's directory; each later one starts a job, or asks for one by its id.
 */

import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { NodeDisk } from "../../../dist/io/disk/nodeDisk.js";
import { Jobs } from "../../../dist/jobs/jobs.js";

let jobs;
let disk;
let options;

const counting = ({ key, steps, stepMs, table: root }) => ({
  kind: "backfill",
  tableId: ["t"],
  table: { environment: { disk, lock: {} }, disk, root, mainRoot: root, branch: null },
  key,
  parameters: { steps },
  unit: "rows",
  async run(control) {
    let next = control.checkpoint?.next ?? 0;
    for (; next < steps; next++) {
      control.signal.throwIfAborted();
      await sleep(stepMs);
      await control.hold();
      appendFileSync(options.log, `${process.pid} ${next}\n`);
      await control.saveCheckpoint({ next: next + 1 });
      control.progress(next + 1, steps);
    }
    return { steps };
  },
});

async function perform(message) {
  if (message.open) {
    options = message.open;
    disk = new NodeDisk({ durability: "none" });
    jobs = new Jobs({ root: options.root, disk, lock: { staleMs: options.staleMs } });
    return { pid: process.pid };
  }
  if (message.start) return jobs.start(counting(message.start));
  if (message.wait) return jobs.wait(message.wait);
  if (message.cancel) return jobs.cancel(message.cancel);
  if (message.describe) return jobs.describe(message.describe);
  throw new Error("no such message");
}

process.on("message", async (message) => {
  try {
    process.send({ ok: await perform(message) });
  } catch (error) {
    process.send({ failure: { type: error.type ?? error.name, message: error.message } });
  }
});
