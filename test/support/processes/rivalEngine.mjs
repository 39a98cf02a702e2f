/**
 * The engine in a process of its own that goes on from one directory to the next. Runs the built package, so
 * `npm run build` comes first.
 *
 *   parent → worker    { root }                         another engine, which knows nothing yet
 *   parent → worker    { step: [method, request, payload?] }
 *   worker → parent    { ok: response } | { code, type, message }     one for each message
 */

import { DirectoryNamespace, NamespaceError } from "tiltyard";

let namespace = null;

process.on("message", async ({ root, step }) => {
  process.send(await (step === undefined ? open(root) : take(step)));
});

async function open(root) {
  await namespace?.close();
  namespace = new DirectoryNamespace({ root, durability: "none" });
  return { ok: undefined };
}

async function take([method, request, payload]) {
  try {
    return { ok: await namespace[method](request, payload) };
  } catch (error) {
    if (!(error instanceof NamespaceError)) throw error;
    return { code: error.code, type: error.type, message: error.message };
  }
}
