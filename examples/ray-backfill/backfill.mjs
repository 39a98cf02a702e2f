/**
 * Fills a computed column on Ray:
 *
 *     ray start --head && node backfill.mjs ./data
 *
 * RAY_DASHBOARD is the URL of Ray's dashboard, PYTHON one that has Ray, and RAY_AUTH_TOKEN the token that Ray asks for.
 */

import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { DirectoryNamespace } from "tiltyard";
import { rayCluster } from "tiltyard/ray";
import { functions } from "./functions.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const { RAY_DASHBOARD, RAY_AUTH_TOKEN, PYTHON = "python" } = process.env;
const ray = rayCluster({
  address: RAY_DASHBOARD ?? "http://127.0.0.1:8265",
  headers: RAY_AUTH_TOKEN === undefined ? {} : { authorization: `Bearer ${RAY_AUTH_TOKEN}` },
  // The directory of these files, and that of the tables, have the same paths on all machines of the cluster.
  runner: `${PYTHON} ${JSON.stringify(resolve(here, "runner.py"))}`,
  worker: ["node", resolve(here, "worker.mjs")],
});
const ns = new DirectoryNamespace({
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
await ns.close();
