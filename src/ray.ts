/**
 * Runs backfills on a Ray cluster.
 *
 * @module tiltyard/ray
 */

export { type RayClusterOptions, type RayEnvironment, rayCluster } from "./ray/rayCluster.js";
export { serveBackfillTasks, type TaskServerOptions } from "./ray/taskServer.js";
