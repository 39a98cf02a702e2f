/** Runs the program of a fresh-process case to its end. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { FreshRequest } from "./freshProcess.js";

const PROGRAM = fileURLToPath(new URL("./freshProcess.js", import.meta.url));
const run = promisify(execFile);

export type Contestant = "tiltyard" | "reference";

/** @throws Error where the program fails */
export async function runFresh(
  contestant: Contestant,
  step: string,
  root: string,
  request: FreshRequest = {},
): Promise<void> {
  await run(process.execPath, [PROGRAM, contestant, step, root, JSON.stringify(request)]);
}
