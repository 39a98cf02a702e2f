/**
 * Fills a column by a function that logs which rows it is called for. Runs the built package, to be killed at any moment.
 *
 *   parent → worker    { root, log, staleMs }
 *   parent → worker    { backfill: request } | { wait: jobId } | { call: [method, request] }
 *   worker → parent    { ok } | { failure: { type, message } }
 */

import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Int64 } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";

let namespace;

const double = (log) => ({
  version: "1",
  inputs: ["n"],
  output: new Int64(),
  async batch({ n }) {
    const given = [...n];
    appendFileSync(log, `${process.pid} ${given.join(",")}\n`);
    await sleep(1);
    return given.map((each) => BigInt(each) * 2n);
  },
});

async function perform(message) {
  if (message.root !== undefined) {
    const { root, log, staleMs } = message;
    const options = { root, durability: "none", lock: { staleMs }, functions: { double: double(log) } };
    namespace = new DirectoryNamespace(options);
    return process.pid;
  }
  if (message.backfill) return namespace.alterTableBackfillColumns(message.backfill);
  if (message.wait) return namespace.waitForJob({ jobId: message.wait });
  const [method, request] = message.call;
  return namespace[method](request);
}

process.on("message", async (message) => {
  try {
    process.send({ ok: await perform(message) });
  } catch (error) {
    process.send({ failure: { type: error.type ?? error.name, message: error.message } });
  }
});
