/**
 * Reads tables whose data files are damaged, in a process of its own: a read that never ends or takes all memory
 * takes nobody along. Runs the built package, so `npm run build` comes first.
 *
 *   parent → worker    { root, name, columns: string[] | null, rowOffsets, offset, limit }
 *   worker → parent    { reads: [{ what, rows? , refused?, fault?, allocatedBytes, cpuMs }], peakBytes }
 *
 * `rows` are Arrow IPC bytes; `refused` is the name of a typed error, `fault` the stack of any other. `allocatedBytes`
 * is everything the read made typed arrays of, by number of elements, freed since or not: no less than its peak.
 */

import { tableToIPC } from "apache-arrow";
import { DirectoryNamespace, NamespaceError } from "tiltyard";
import { peakBytes } from "./peakMemory.mjs";

let allocated = 0;
for (const name of [
  "ArrayBuffer",
  "Int8Array",
  "Uint8Array",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "BigInt64Array",
  "BigUint64Array",
  "Float32Array",
  "Float64Array",
]) {
  const original = globalThis[name];
  const elementBytes = original.BYTES_PER_ELEMENT ?? 1;
  globalThis[name] = new Proxy(original, {
    construct(target, args, newTarget) {
      const [first] = args;
      // Counted before it is made: what cannot be made was asked for all the same.
      if (typeof first === "number") allocated += first * elementBytes;
      return Reflect.construct(target, args, newTarget === globalThis[name] ? target : newTarget);
    },
  });
}

async function read(what, work) {
  allocated = 0;
  const before = process.cpuUsage();
  const outcome = { what };
  try {
    const table = await work();
    outcome.allocatedBytes = allocated;
    outcome.rows = tableToIPC(table);
  } catch (error) {
    outcome.allocatedBytes = allocated;
    // An error that nobody threw on purpose comes wrapped.
    const { cause } = error;
    if (!(error instanceof NamespaceError)) outcome.fault = String(error?.stack ?? error);
    else if (error.constructor.name === "InternalError") outcome.fault = String(cause?.stack ?? error.stack);
    else outcome.refused = `${error.constructor.name}: ${error.message}`;
  }
  const { user, system } = process.cpuUsage(before);
  outcome.cpuMs = (user + system) / 1000;
  return outcome;
}

process.on("message", async ({ root, name, columns, rowOffsets, offset, limit }) => {
  const namespace = new DirectoryNamespace({ root, durability: "none" });
  const table = namespace.table([name]);
  const reads = [await read("scan", () => table.scan().toArrow())];
  if (columns !== null) reads.push(await read("columns", () => table.scan({ columns }).toArrow()));
  reads.push(await read("take", () => table.take(rowOffsets)));
  reads.push(await read("range", () => table.scan({ offset, limit }).toArrow()));
  await namespace.close();
  process.send({ reads, peakBytes: peakBytes() });
});
process.send({ ready: true });
