/**
 * Appends to a table and reads it, in a process of its own, while others compact it and clean it up. Runs the built
 * package, so `npm run build` comes first.
 *
 *   parent → worker    { root, id, payloads: Uint8Array[], retentionMs }
 *   worker → parent    { ready: true }
 *   parent → worker    { go: true }
 *   parent → worker    { pass: true }        each time the table was compacted and cleaned up
 *   worker → parent    { outcomes: [{ values: Int32Array, heldMs } | { error, heldMs }] }   one per payload, in order
 *
 * After each append a version is opened and begun; the rest of it is read after the next pass. `heldMs` is for how long
 * the version was held.
 */

import { DirectoryNamespace, NamespaceError } from "tiltyard";

const next = (member) =>
  new Promise((resolve) => {
    const onMessage = (message) => {
      if (!(member in message)) return;
      process.off("message", onMessage);
      resolve(message);
    };
    process.on("message", onMessage);
  });

const { root, id, payloads } = await next("root");
const namespace = new DirectoryNamespace({ root, durability: "none" });
const go = next("go");
process.send({ ready: true });
await go;
const outcomes = [];
for (const payload of payloads) {
  await namespace.insertIntoTable({ id }, payload);
  const pass = next("pass");
  // Before the version is found: it may be followed by another one at once.
  const openedAt = performance.now();
  const heldMs = () => performance.now() - openedAt;
  const values = [];
  try {
    let isFirst = true;
    for await (const batch of await namespace.queryTable({ id, batchSize: 3 })) {
      values.push(...batch.getChild("v"));
      if (isFirst) await pass;
      isFirst = false;
    }
    outcomes.push({ values: Int32Array.from(values), heldMs: heldMs() });
  } catch (error) {
    if (!(error instanceof NamespaceError)) throw error;
    outcomes.push({ error: `${error.type}: ${error.message}`, heldMs: heldMs() });
  }
}
await namespace.close();
process.send({ outcomes }, () => process.exit(0));
