/**
 * The engine in a process of its own, for races. Runs the built package, so `npm run build` comes first.
 *
 *   parent → job       { root, options?, steps: [[method, request, payload?], …], durationMs? }   no step begins after so long
 *   worker → parent    { ready: true }
 *   parent → worker    { go: true }
 *   worker → parent    { outcomes: [{ ok: response } | { code, type, message }] }   one per step taken, in order
 */

import { DirectoryNamespace, NamespaceError } from "tiltyard";

const nextMessage = () => new Promise((resolve) => process.once("message", resolve));

const job = await nextMessage();
const namespace = new DirectoryNamespace({ root: job.root, durability: "none", ...job.options });
const go = nextMessage();
process.send({ ready: true });
await go;
const outcomes = [];
const startedMs = performance.now();
const { durationMs = Number.POSITIVE_INFINITY } = job;
for (const [method, request, payload] of job.steps) {
  if (performance.now() - startedMs >= durationMs) break;
  try {
    outcomes.push({ ok: await namespace[method](request, payload) });
  } catch (error) {
    if (!(error instanceof NamespaceError)) throw error;
    outcomes.push({ code: error.code, type: error.type, message: error.message });
  }
}
await namespace.close();
process.send({ outcomes }, () => process.exit(0));
