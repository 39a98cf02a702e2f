/**
 * Modules of Node.js that few calls need, loaded synchronously by the first of these calls. Importing them
 * takes milliseconds, which a process that reads a few rows need not spend.
 */

import { createRequire } from "node:module";

/** `require` finds modules of Node.js from any directory. */
const load = createRequire("/");

export const nodeCrypto = (): typeof import("node:crypto") => load("node:crypto");

export const nodeThreads = (): typeof import("node:worker_threads") => load("node:worker_threads");
