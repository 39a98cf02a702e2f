/**
 * Writes the table of notes into a bucket, by the S3 interface of R2 or of any other server:
 *
 *     S3_ENDPOINT=https://<account>.r2.cloudflarestorage.com S3_BUCKET=notes S3_KEY_ID=… S3_SECRET=… node fill.mjs
 */

import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { DirectoryNamespace, defineTable, int32, utf8, vector } from "tiltyard";
import { s3Disk } from "tiltyard/disks";
import { DIMENSION, notes, vectorOf } from "./notes.mjs";

const schema = defineTable({ id: int32(), text: utf8(), vector: vector(DIMENSION) });

/** Yields rows of the table. */
function* rowsOf(count) {
  for (const { id, text } of notes(count)) yield { id, text, vector: vectorOf(text) };
}

/** Writes notes and their indexes to a disk. */
export async function fill(disk, count) {
  const ns = new DirectoryNamespace({ root: "/", disk, jobs: "wait" });
  await ns.createTable({ id: ["notes"], mode: "overwrite", schema }, rowsOf(count));
  const table = ns.table("notes");
  await table.waitForJob(await table.createIndex("text", { indexType: "FTS" }));
  await table.waitForJob(
    await table.createIndex("vector", { indexType: "IVF_FLAT", distanceType: "cosine" }),
  );
  await ns.close();
}

if (resolve(process.argv[1] ?? "") === fileURLToPath(import.meta.url)) {
  const { S3_ENDPOINT, S3_BUCKET, S3_KEY_ID, S3_SECRET } = process.env;
  const credentials = { accessKeyId: S3_KEY_ID, secretAccessKey: S3_SECRET };
  const disk = s3Disk({ endpoint: S3_ENDPOINT, bucket: S3_BUCKET, region: "auto", credentials });
  const count = Number(process.argv[2] ?? 10_000);
  await fill(disk, count);
  console.log(`${count} notes are in ${S3_BUCKET}`);
}
