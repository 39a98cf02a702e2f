/** Turns errors into messages and exit codes. */

import { CommanderError } from "commander";
import { NamespaceError } from "tiltyard";
import { CommandMistake } from "./arguments/mistake.js";
import { EXIT } from "./call/exitCodes.js";
import { visibleLines } from "./output/text.js";

/** Reason of the signal when nobody reads the output any more. */
export const OUTPUT_CLOSED = new Error("the output was closed");

/** Failure for people and for programs. */
export interface Failure {
  readonly exitCode: number;
  /** Name of the error's code, such as `TableNotFound`. */
  readonly type: string;
  readonly code?: number;
  readonly message: string;
}

/** Returns what an error means for a caller; null if there is nothing to say. */
export function commandFailure(error: unknown, signal: AbortSignal): Failure | null {
  if (signal.aborted) {
    if (signal.reason === OUTPUT_CLOSED) return null;
    return { exitCode: EXIT.interrupted, type: "Interrupted", message: "interrupted" };
  }
  if (error instanceof CommanderError) {
    const isHelp = error.exitCode === 0;
    const message = error.message.replace(/^error: /, "");
    return isHelp ? null : { exitCode: EXIT.mistaken, type: "CommandMistake", message };
  }
  if (error instanceof CommandMistake) {
    return { exitCode: EXIT.mistaken, type: "CommandMistake", message: visibleLines(error.message) };
  }
  if (error instanceof NamespaceError) {
    const { type, code, message } = error;
    return { exitCode: EXIT.failed, type, code, message: visibleLines(message) };
  }
  const { code, message } = (error ?? {}) as NodeJS.ErrnoException;
  return {
    exitCode: EXIT.failed,
    type: typeof code === "string" ? code : "Unexpected",
    message: visibleLines(message ?? String(error)),
  };
}
