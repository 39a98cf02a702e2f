/**
 * Modules of Node.js that few calls need, loaded with the first of these: importing them takes milliseconds of a process that
 * asks for a few rows. They are loaded at once, since what needs them can't wait.
 */

import { createRequire } from "node:module";

/** Modules of Node.js are found from any directory. */
const load = createRequire("/");

export const nodeCrypto = (): typeof import("node:crypto") => load("node:crypto");

export const nodeThreads = (): typeof import("node:worker_threads") => load("node:worker_threads");
