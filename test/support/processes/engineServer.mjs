/**
 * The engine in a process of its own, to be killed. Runs the built package, so `npm run build` comes first.
 *
 *   parent → worker    options of the namespace
 *   worker → parent    { ready: true }
 *   parent → worker    [method, request, payload?]                one at a time
 *   worker → parent    { ok: response } | { code, type, message }
 */

import { DirectoryNamespace, NamespaceError } from "tiltyard";

process.once("message", (options) => {
  const namespace = new DirectoryNamespace(options);
  process.on("message", async ([method, request, payload]) => {
    process.send(await outcomeOf(namespace[method](request, payload)));
  });
  process.send({ ready: true });
});

async function outcomeOf(call) {
  try {
    return { ok: await call };
  } catch (error) {
    if (!(error instanceof NamespaceError)) throw error;
    return { code: error.code, type: error.type, message: error.message };
  }
}
