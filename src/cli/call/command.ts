/** Declaration of a command, from which the parser, the help and the completion follow. */

import { CommandMistake } from "../arguments/mistake.js";
import type { CommandCall } from "./call.js";

/** Option of a command. */
export interface OptionSpec {
  /** Flags as commander reads them: `-n, --limit <count>`. */
  readonly flags: string;
  readonly text: string;
  /** Values that the option may have. */
  readonly choices?: readonly string[];
  /** Default that the help shows; the command applies it. */
  readonly byDefault?: string;
  /** Reads the value. */
  readonly parse?: (text: string) => unknown;
  /** True: the option may be given several times, and its value is a list. */
  readonly isList?: boolean;
}

/** A command. */
export interface CommandSpec {
  /** Name and operands: `head <table>`, or `index create <table> <column>` in a group. */
  readonly usage: string;
  /** Sentence without a full stop that says what the command does. */
  readonly summary: string;
  /** Command lines that the help shows. */
  readonly examples: readonly string[];
  readonly options?: readonly OptionSpec[];
  /** Version options that the command has: all of them, the branch only, or none (default). */
  readonly reads?: "version" | "branch";
  /** Runs the command. */
  run(call: CommandCall, ...operands: (string | undefined)[]): Promise<void>;
}

/** Returns an operand; a missing one is a mistake. */
export function required(value: string | undefined, name: string): string {
  if (value !== undefined && value !== "") return value;
  throw new CommandMistake(`${name} is missing`);
}
