/**
 * Does some work with threads and in line, by one of the forms of the package, and tells how many threads there were, what
 * they were asked for, and whether files and rows are the same. It closes nothing: idle threads must not keep the process.
 */

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire, syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { Field, FixedSizeList, Float32, makeVector, Table, Utf8, vectorFromArray } from "apache-arrow";

const require = createRequire(import.meta.url);
const threads = require("node:worker_threads");
let started = 0;
const tasks = new Set();
threads.Worker = class extends threads.Worker {
  constructor(...given) {
    super(...given);
    started++;
  }

  postMessage(order, moved) {
    tasks.add(order.name);
    super.postMessage(order, moved);
  }
};
syncBuiltinESMExports();

const [form, root, workers, work] = process.argv.slice(2);
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
const sha256Of = (path) => digest(readFileSync(path));
const open = (name, count) =>
  new DirectoryNamespace({ root: join(root, name), durability: "none", workers: count });

async function compacted(name, count) {
  const directory = join(root, name);
  const ns = open(name, count);
  for (let seed = 0; seed < 6; seed++) {
    if (seed === 0) await ns.createTable({ id: ["t"] }, rows(seed));
    else await ns.insertIntoTable({ id: ["t"] }, rows(seed));
  }
  const progress = [];
  const { fragmentsAdded } = await ns.optimizeTable({ id: ["t"], onProgress: (told) => progress.push(told) });
  // Their names are drawn.
  const files = readdirSync(join(directory, "t.lance", "data"))
    .map((entry) => sha256Of(join(directory, "t.lance", "data", entry)))
    .sort();
  const read = await (await ns.queryTable({ id: ["t"] })).toArrow();
  return {
    fragmentsAdded,
    files,
    texts: digest([...(read.getChild("text") ?? [])].join("\n")),
    last: progress.at(-1),
  };
}

/** An index of more words than a thread is given at once. */
async function indexed(name, count) {
  const ns = open(name, count);
  const wordOf = (row, word) => (word < 5 ? `own${row * 5 + word}` : `shared${(row * word) % 900}`);
  const rows = Array.from({ length: 5000 }, (_, row) => ({
    text: Array.from({ length: 12 }, (_, word) => wordOf(row, word)).join(" "),
  }));
  await ns.createTable({ id: ["t"] }, rows);
  const asked = { id: ["t"], column: "text", indexType: "FTS", withPosition: true };
  const { jobId } = await ns.createTableIndex(asked);
  await ns.waitForJob({ jobId });
  const directory = join(root, name, "t.lance", "_indices");
  const [index] = readdirSync(directory);
  const files = readdirSync(join(directory, index)).sort();
  return Object.fromEntries(files.map((file) => [file, sha256Of(join(directory, index, file))]));
}

/** Columns filled from more texts than a page takes, in each form of functions. */
async function filled(name, count) {
  const ROWS = 80_000;
  const textOf = (row) =>
    row % 11 === 0 ? null : Array.from({ length: 40 }, (_, word) => (row * 7919 + word * 31) >>> 3).join(" ");
  const vector = new FixedSizeList(16, new Field("item", new Float32(), true));
  const kept = [];
  const numbers = (text, rowCount) => {
    const items = new Float32Array(16 * rowCount);
    for (let row = 0; row < rowCount; row++) {
      const own = text.get(row);
      for (let item = 0; item < 16; item++) {
        items[16 * row + item] = own === null ? -1 : own.charCodeAt(item % own.length);
      }
    }
    return items;
  };
  const functions = {
    plain: {
      ...{ version: "1", inputs: ["text"], output: vector },
      batch({ text }, { rowCount }) {
        kept.push({ text, first: text.get(0) });
        return numbers(text, rowCount);
      },
    },
    later: {
      ...{ version: "1", inputs: ["text"], output: vector },
      batch: async ({ text }, { rowCount }) => {
        await new Promise((resolve) => setImmediate(resolve));
        return numbers(text, rowCount);
      },
    },
    same: { version: "1", inputs: ["text"], output: new Utf8(), batch: ({ text }) => text },
    rows: { version: "1", inputs: ["text"], output: new Utf8(), row: ({ text }) => text && `${text}!` },
  };
  const ns = new DirectoryNamespace({
    ...{ root: join(root, name), durability: "none", workers: count, functions },
  });
  const text = vectorFromArray(
    Array.from({ length: ROWS }, (_, row) => textOf(row)),
    new Utf8(),
  );
  await ns.createTable({ id: ["t"] }, new Table({ text }));
  const digests = {};
  for (const udfName of Object.keys(functions)) {
    const newColumns = [{ name: udfName, virtualColumn: { udfName } }];
    await ns.alterTableAddColumns({ id: ["t"], newColumns });
    const { jobId } = await ns.alterTableBackfillColumns({
      ...{ id: ["t"], column: udfName, intraApplierConcurrency: udfName === "later" ? 3 : 1 },
    });
    await ns.waitForJob({ jobId });
    const read = await (await ns.queryTable({ id: ["t"], columns: [udfName] })).toArrow();
    const values = Array.from(read.getChild(udfName), (value) =>
      typeof value === "string" || value === null
        ? value
        : value.nullCount === 0
          ? value.toArray().join()
          : [...value].join(),
    );
    digests[udfName] = digest(values.join("\n"));
  }
  let others = 0;
  for (const { text, first } of kept) {
    try {
      if (text.get(0) !== first) others++;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }
  return { digests, others };
}

const does = { compacted, indexed, filled }[work];
const inLine = await does("line", 0);
const startedInLine = started;
const pooled = await does("pool", Number(workers));
process.send({ inLine, pooled, startedInLine, started, tasks: [...tasks] });
process.disconnect();
