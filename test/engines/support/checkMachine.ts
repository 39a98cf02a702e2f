/** Fails the run at once on a machine without Python: a suite without engines must not look green. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { PYTHON } from "./environments.js";

const OLDEST = [3, 11];

export default async function checkMachine(): Promise<void> {
  const { stdout } = await promisify(execFile)(PYTHON, [
    "-c",
    "import sys, venv; print(*sys.version_info[:2])",
  ]).catch((cause: Error) => {
    throw new Error(`the engines need Python ${OLDEST.join(".")} or newer with venv: ${cause.message}`, {
      cause,
    });
  });
  const [major, minor] = stdout.trim().split(" ").map(Number);
  if (major !== OLDEST[0] || minor < OLDEST[1]) {
    throw new Error(
      `the engines need Python ${OLDEST.join(".")} or newer, not ${major}.${minor}; set PYTHON`,
    );
  }
}
