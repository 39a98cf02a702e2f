/**
 * Writes, compacts and reads a table with threads and in line, by one of the forms of the package, and tells how many
 * threads there were and whether files and rows are the same. It closes nothing: idle threads must not keep the process.
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { makeVector, Table, Utf8, vectorFromArray } from "apache-arrow";

const require = createRequire(import.meta.url);
const threads = require("node:worker_threads");
let started = 0;
threads.Worker = class extends threads.Worker {
  constructor(...given) {
    super(...given);
    started++;
  }
};
syncBuiltinESMExports();

const [form, root, workers] = process.argv.slice(2);
const FORMS = {
  modules: () => import("../../../dist/index.js"),
  esm: () => import("../../../dist/esm/index.js"),
  cjs: async () => require("../../../dist/cjs/index.cjs"),
};
const { DirectoryNamespace } = await FORMS[form]();

/** Enough for threads to be asked. */
const ROWS = 120_000;
const numbers = (seed) =>
  makeVector(Float64Array.from({ length: ROWS }, (_, row) => Math.sin(seed * ROWS + row)));
const rows = (seed) =>
  new Table({
    ...Object.fromEntries([0, 1, 2, 3].map((column) => [`n${column}`, numbers(seed + 100 * column)])),
    text: vectorFromArray(
      Array.from({ length: ROWS }, (_, row) => (row % 7 === 0 ? null : `row ${row} of ${seed}`)),
      new Utf8(),
    ),
  });

const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");

async function compacted(name, count) {
  const directory = join(root, name);
  const ns = new DirectoryNamespace({ root: directory, durability: "none", workers: count });
  for (let seed = 0; seed < 6; seed++) {
    if (seed === 0) await ns.createTable({ id: ["t"] }, rows(seed));
    else await ns.insertIntoTable({ id: ["t"] }, rows(seed));
  }
  const progress = [];
  const { fragmentsAdded } = await ns.optimizeTable({ id: ["t"], onProgress: (told) => progress.push(told) });
  // Their names are drawn.
  const files = readdirSync(join(directory, "t.lance", "data"))
    .map((entry) => digest(readFileSync(join(directory, "t.lance", "data", entry))))
    .sort();
  const read = await (await ns.queryTable({ id: ["t"] })).toArrow();
  return {
    fragmentsAdded,
    files,
    texts: digest([...(read.getChild("text") ?? [])].join("\n")),
    last: progress.at(-1),
  };
}

const inLine = await compacted("line", 0);
const startedInLine = started;
const pooled = await compacted("pool", Number(workers));
process.send({ inLine, pooled, startedInLine, started });
process.disconnect();
