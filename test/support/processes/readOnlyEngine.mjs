/**
 * The engine in a process whose user may not write where the namespace lies: what root can do, it gives up. Runs the
 * built package, so `npm run build` comes first.
 *
 *   parent → process   { root, steps: [[method, request, …], …] }
 *   process → parent   { outcomes: [{ ok: response } | { type, message }] }   tables and results as their number of rows
 */

import { DirectoryNamespace, NamespaceError } from "tiltyard";

const NOBODY = 65534;

const { root, steps } = await new Promise((resolve) => process.once("message", resolve));
if (process.getuid?.() === 0) {
  process.setgroups([]);
  process.setgid(NOBODY);
  process.setuid(NOBODY);
}
const namespace = new DirectoryNamespace({ root });
const shape = async (value) => {
  if (typeof value?.toArrow === "function") return (await value.toArrow()).numRows;
  return typeof value?.numRows === "number" && "schema" in value ? value.numRows : value;
};
const outcomes = [];
for (const [method, request] of steps) {
  try {
    outcomes.push({ ok: await shape(await namespace[method](request)) });
  } catch (error) {
    if (!(error instanceof NamespaceError)) throw error;
    outcomes.push({ type: error.type, message: error.message });
  }
}
await namespace.close();
process.send({ outcomes }, () => process.exit(0));
