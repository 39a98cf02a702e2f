/** All commands, in the order in which the help lists them. */

import type { CommandSpec } from "../call/command.js";
import { exportCommand } from "./export.js";
import { importCommand } from "./import.js";
import { lsCommand } from "./ls.js";
import { countCommand, queryCommand } from "./query.js";
import { schemaCommand } from "./schema.js";
import { headCommand, sampleCommand, tailCommand } from "./someRows.js";

/** Commands that have subcommands. */
export const COMMAND_GROUPS: Readonly<Record<string, string>> = {};

export const COMMANDS: readonly CommandSpec[] = [
  lsCommand,
  schemaCommand,
  headCommand,
  tailCommand,
  sampleCommand,
  countCommand,
  queryCommand,
  importCommand,
  exportCommand,
];
