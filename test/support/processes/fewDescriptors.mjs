/**
 * Many appends and scans at once, in a process that can have few more files open: it takes all descriptors there are,
 * and gives some back. Where their number is not bounded by much, it has to be started with a lower bound.
 * node fewDescriptors.mjs <root> <durability> <free> <tables> <appends per table>
 *
 *   worker → parent    { taken, rows: values of each table, failureCount, failures: some of them }
 */

import { closeSync, openSync } from "node:fs";
import { tableFromArrays } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";

const [root, durability, free, tableCount, appendCount] = process.argv.slice(2);

const rowsFrom = (first) => tableFromArrays({ v: Int32Array.of(first, first + 1) });

// Parts of the engine are loaded only where many descriptors are free.
const warm = new DirectoryNamespace({ root, durability });
await warm.createTable({ id: ["warm"] }, rowsFrom(0));
await warm.table("warm").scan().toArrow();
await warm.insertIntoTable({ id: ["warm"] }, rowsFrom(2));
await warm.listTables();
await warm.table("warm").optimize();
await warm.cleanupTable({ id: ["warm"], olderThanMs: 0 });
await warm.dropTable({ id: ["warm"] });
await warm.close();

const MOST_TAKEN = 20_000;
const taken = [];
try {
  while (taken.length < MOST_TAKEN) taken.push(openSync(process.execPath, "r"));
} catch (error) {
  if (error.code !== "EMFILE") throw error;
}
if (taken.length === MOST_TAKEN) throw new Error("the number of files is not bounded");
for (const descriptor of taken.splice(0, Number(free))) closeSync(descriptor);

const namespaces = [1, 2].map(() => new DirectoryNamespace({ root, durability }));
const names = Array.from({ length: Number(tableCount) }, (_, index) => `t${index}`);
const failures = [];
const attempt = (work) =>
  work.catch((error) => {
    failures.push(String(error.cause?.stack ?? error.stack));
  });

await Promise.all(
  names.map((name, index) => attempt(namespaces[index % 2].createTable({ id: [name] }, rowsFrom(0)))),
);
const work = [];
for (let index = 1; index <= Number(appendCount); index++) {
  for (const [place, name] of names.entries()) {
    const namespace = namespaces[(index + place) % 2];
    work.push(attempt(namespace.insertIntoTable({ id: [name] }, rowsFrom(2 * index))));
    work.push(attempt(namespace.table(name).scan().toArrow()));
    if (index % 4 === 0) work.push(attempt(namespace.listTables()));
  }
}
await Promise.all(work);
// These open more files than there are descriptors, and keep them for the next scan.
await Promise.all(names.map((name) => attempt(namespaces[0].table(name).scan().toArrow())));
await Promise.all(names.map((name) => attempt(namespaces[0].optimizeTable({ id: [name] }))));
await Promise.all(names.map((name) => attempt(namespaces[1].cleanupTable({ id: [name], olderThanMs: 0 }))));
const rows = [];
for (const name of names) {
  const read = await namespaces[0].table(name).scan().toArrow();
  rows.push(Array.from(read.getChild("v")).sort((a, b) => a - b));
}
await attempt(namespaces[0].dropTable({ id: [names[0]] }));
await Promise.all(namespaces.map((namespace) => namespace.close()));
process.send({ taken: taken.length, rows, failures: failures.slice(0, 5), failureCount: failures.length });
process.disconnect();
