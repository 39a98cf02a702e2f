/**
 * A program that holds a lock of the built package, and has its own ways with SIGTERM:
 * node signalledHost.mjs <directory> <esm|cjs> <ways as JSON>. It says "holding", and never ends by itself.
 *
 * Each way is [what, when]. What: "once" and "on" are handlers that clean up for a moment and end the process with 3;
 * "notice" is one that leaves it to the others to end it; "signal-exit" is the package, as the program's own dependency.
 * When: before the engine is "imported", before it has taken its first "lock", or "later".
 */

import { appendFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Int32, Table, vectorFromArray } from "apache-arrow";

const [directory, form, json] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const note = (text) => appendFileSync(join(directory, "notes.txt"), `${text}\n`);

const ways = {
  once: () => process.once("SIGTERM", cleanUp),
  on: () => process.on("SIGTERM", cleanUp),
  notice: () => process.once("SIGTERM", () => note("noticed")),
  "signal-exit": () => require("signal-exit")((_, signal) => note(`signal-exit ${signal}`)),
};
const prepare = (moment) => {
  for (const [what, when] of JSON.parse(json)) if (when === moment) ways[what]();
};

async function cleanUp() {
  await sleep(30);
  note("cleaned up");
  process.exit(3);
}

prepare("imported");
const { DirectoryNamespace } = form === "cjs" ? require("tiltyard") : await import("tiltyard");
prepare("lock");

let isHeld;
const held = new Promise((resolve) => {
  isHeld = resolve;
});
const endless = {
  version: "1",
  inputs: ["v"],
  output: new Int32(),
  batch() {
    isHeld();
    return new Promise(() => {});
  },
};
const ns = new DirectoryNamespace({
  root: join(directory, "tables"),
  durability: "none",
  functions: { endless },
});
await ns.createTable({ id: ["t"] }, new Table({ v: vectorFromArray([1, 2], new Int32()) }));
await ns.alterTableAddColumns({
  id: ["t"],
  newColumns: [{ name: "w", virtualColumn: { udfName: "endless" } }],
});
await ns.alterTableBackfillColumns({ id: ["t"], column: "w" });
await held;
prepare("later");
setInterval(() => undefined, 60_000);
process.send("holding");
