/** The program of the command `tiltyard`. */

import { OUTPUT_CLOSED } from "./failure.js";
import { runCommandLine } from "./run.js";

/** Runs the command with the arguments of the process, and sets the exit code. */
export async function main(): Promise<void> {
  const controller = new AbortController();

  // A reader such as `head` may close the pipe before the output ends.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    controller.abort(OUTPUT_CLOSED);
  });

  // The second interrupt ends the process at once.
  process.once("SIGINT", () => controller.abort(new Error("interrupted")));
  process.once("SIGTERM", () => controller.abort(new Error("interrupted")));

  const { stdin, stdout, stderr, env } = process;
  process.exitCode = await runCommandLine(process.argv.slice(2), {
    ...{ stdin, stdout, stderr, env },
    signal: controller.signal,
  });
  // An input that nobody reads to its end would keep the process alive.
  stdin.destroy();
}
