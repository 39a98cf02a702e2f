/**
 * The reference in a process of its own, for races. Started with `child_process.fork` and
 * `serialization: "advanced"`; one job per process:
 *
 *   parent → job       { kind: "appendEach", uri, name, payloads: Uint8Array[], retries }
 *   worker → parent    { ready: true }        everything is loaded and the table is there
 *   parent → worker    { go: true }
 *   worker → parent    { outcomes: [{ version } | { error }] }   one per payload, in order
 *   worker → parent    { failure }            the job itself could not be run
 */

import { appendTable, tableVersion } from "./index.js";

/** The next message; messages are handed over one by one, none is lost. */
const nextMessage = () => new Promise((resolve) => process.once("message", resolve));

async function appendEach(job) {
  const outcomes = [];
  for (const payload of job.payloads) {
    for (let attempt = 0; ; attempt++) {
      try {
        const { version } = await appendTable(job.uri, job.name, payload);
        outcomes.push({ version });
        break;
      } catch (error) {
        if (attempt < job.retries) continue;
        outcomes.push({ error: String(error) });
        break;
      }
    }
  }
  return outcomes;
}

try {
  const job = await nextMessage();
  if (job.kind !== "appendEach") throw new Error(`unknown job ${job.kind}`);
  await tableVersion(job.uri, job.name);
  const go = nextMessage();
  process.send({ ready: true });
  await go;
  const outcomes = await appendEach(job);
  process.send({ outcomes }, () => process.exit(0));
} catch (error) {
  process.send({ failure: String(error) }, () => process.exit(1));
}
