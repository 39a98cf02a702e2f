/** A process that runs a backfill on Ray, to be killed: `node clusterDriver.mjs <JSON of root, request and rayCluster's options>`. */

import { DirectoryNamespace } from "tiltyard";
import { rayCluster } from "tiltyard/ray";
import { functions } from "./slowFunctions.mjs";

const { root, request, options } = JSON.parse(process.argv[2]);
const ns = new DirectoryNamespace({
  root,
  functions,
  lock: { staleMs: 2000 },
  clusters: { ray: rayCluster(options) },
});
const { jobId } = await ns.alterTableBackfillColumns(request);
process.send({ jobId });
await ns.waitForJob({ jobId });
await ns.close();
process.disconnect();
