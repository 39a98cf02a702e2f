/**
 * The reference in a process of its own, for races. Started with `child_process.fork` and
 * `serialization: "advanced"`; one job per process:
 *
 *   parent → job       { kind: "appendEach", uri, name, payloads: Uint8Array[], retries }
 *                    or { kind: "appendAndRead", uri, name, payloads }     column v is read after each append
 *                    or { kind: "changeRows", uri, name, changes, durationMs? }     each { predicate }, which deletes, { set, where },
 *                                              { rows }, which appends, or { rows, on }, which upserts; none begins after so long
 *                    or { kind: "catalogSteps", root, steps }     steps as `catalogStep` of index.js takes them
 *   worker → parent    { ready: true }        everything is loaded and the table is there
 *   parent → worker    { go: true }
 *   worker → parent    { outcomes: [{ version } | { error }] }   one per payload or change, in order; or { values: Int32Array } | { error },
 *                                           or { ok } | { error } per step
 *   worker → parent    { failure }            the job itself could not be run
 */

import { tableFromIPC } from "apache-arrow";
import { openCatalog, runStep } from "./catalog.js";
import { appendTable, deleteRows, readTable, tableVersion, updateRows, upsertRows } from "./index.js";

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

async function appendAndRead(job) {
  const outcomes = [];
  for (const payload of job.payloads) {
    try {
      await appendTable(job.uri, job.name, payload);
      const rows = tableFromIPC(await readTable(job.uri, job.name));
      outcomes.push({ values: Int32Array.from(rows.getChild("v")) });
    } catch (error) {
      outcomes.push({ error: String(error) });
    }
  }
  return outcomes;
}

function changeOnce(uri, name, { predicate, set, where, rows, on }) {
  if (on !== undefined) return upsertRows(uri, name, on, rows);
  if (rows !== undefined) return appendTable(uri, name, rows);
  return set === undefined ? deleteRows(uri, name, predicate) : updateRows(uri, name, set, where);
}

async function changeRows({ uri, name, changes, durationMs = Number.POSITIVE_INFINITY }) {
  const outcomes = [];
  const startedMs = performance.now();
  for (const change of changes) {
    if (performance.now() - startedMs >= durationMs) break;
    try {
      const { version } = await changeOnce(uri, name, change);
      outcomes.push({ version });
    } catch (error) {
      outcomes.push({ error: String(error) });
    }
  }
  return outcomes;
}

async function catalogSteps(connection, steps) {
  const outcomes = [];
  for (const step of steps) {
    try {
      outcomes.push({ ok: await runStep(connection, step) });
    } catch (error) {
      outcomes.push({ error: String(error) });
    }
  }
  return outcomes;
}

/** Gets all ready and returns the work. */
async function prepare(job) {
  switch (job.kind) {
    case "appendEach":
      await tableVersion(job.uri, job.name);
      return () => appendEach(job);
    case "appendAndRead":
      await tableVersion(job.uri, job.name);
      return () => appendAndRead(job);
    case "changeRows":
      await tableVersion(job.uri, job.name);
      return () => changeRows(job);
    case "catalogSteps": {
      const connection = await openCatalog(job.root);
      return () => catalogSteps(connection, job.steps);
    }
    default:
      throw new Error(`unknown job ${job.kind}`);
  }
}

try {
  const job = await nextMessage();
  const work = await prepare(job);
  const go = nextMessage();
  process.send({ ready: true });
  await go;
  const outcomes = await work();
  process.send({ outcomes }, () => process.exit(0));
} catch (error) {
  process.send({ failure: String(error) }, () => process.exit(1));
}
