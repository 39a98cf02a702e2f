/** Writes the table of notes that the page searches, and the index by which it finds the table. */

import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { DirectoryNamespace, defineTable, int32, utf8, vector } from "tiltyard";
import { publishIndex } from "tiltyard/disks";
import { DIMENSION, notes, vectorOf } from "./notes.mjs";

const schema = defineTable({ id: int32(), text: utf8(), vector: vector(DIMENSION) });

/** Yields rows of the table. */
function* rowsOf(count) {
  for (const { id, text } of notes(count)) yield { id, text, vector: vectorOf(text) };
}

/** Publishes notes in a directory. */
export async function publishNotes(directory, count) {
  const ns = new DirectoryNamespace({ root: directory, jobs: "wait" });
  await ns.createTable({ id: ["notes"], mode: "overwrite", schema }, rowsOf(count));
  const table = ns.table("notes");
  for (const [column, options] of [
    ["text", { indexType: "FTS" }],
    ["vector", { indexType: "IVF_PQ", distanceType: "cosine" }],
  ]) {
    const { jobId } = await table.createIndex(column, options);
    await table.waitForJob({ jobId });
  }
  const published = await publishIndex(ns);
  await ns.close();
  return published;
}

if (resolve(process.argv[1] ?? "") === fileURLToPath(import.meta.url)) {
  const site = fileURLToPath(new URL("site/tables", import.meta.url));
  const { path, tables } = await publishNotes(site, Number(process.argv[2] ?? 100_000));
  console.log(`${tables} tables are listed in ${path}`);
}
