/**
 * Fills a computed column on Ray:
 *
 *     ray start --head && node backfill.mjs ./data
 */

import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { DirectoryNamespace } from "tiltyard";
import { rayCluster } from "tiltyard/ray";
import { functions } from "./functions.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const ray = rayCluster({
  address: process.env.RAY_DASHBOARD ?? "http://127.0.0.1:8265",
  // The directory of these files, and that of the tables, have the same paths on all machines of the cluster.
  runner: `${process.env.PYTHON ?? "python"} ${JSON.stringify(resolve(here, "runner.py"))}`,
  worker: ["node", resolve(here, "worker.mjs")],
});
await using ns = new DirectoryNamespace({
  root: resolve(process.argv[2] ?? "data"),
  functions,
  clusters: { ray },
});
const table = ns.table("notes");
await table.create([{ text: "a line of text" }, { text: "another one" }], { mode: "overwrite" });
await table.addColumns([{ name: "words", virtualColumn: { udfName: "words" } }]);
const { jobId } = await table.backfill("words", { cluster: "ray" });
await ns.waitForJob({ jobId, onProgress: ({ state, done, total }) => console.log(state, done, total) });
console.log(await table.scan().toArray());
