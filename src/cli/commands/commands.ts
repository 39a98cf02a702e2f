/** All commands, in the order in which the help lists them. */

import type { CommandSpec } from "../call/command.js";
import { doctorCommand } from "./doctor.js";
import { exportCommand } from "./export.js";
import { importCommand } from "./import.js";
import { indexCreateCommand, indexDropCommand, indexListCommand, jobsCommand } from "./indexes.js";
import { lsCommand } from "./ls.js";
import { countCommand, queryCommand } from "./query.js";
import {
  branchCreateCommand,
  branchDeleteCommand,
  branchListCommand,
  branchMergeCommand,
  tagCreateCommand,
  tagDeleteCommand,
  tagListCommand,
} from "./refs.js";
import { schemaCommand } from "./schema.js";
import { inspectCommand, publishCommand, serveCommand } from "./serving.js";
import { headCommand, sampleCommand, tailCommand } from "./someRows.js";
import { cleanupCommand, optimizeCommand } from "./upkeep.js";
import { fileCommand, verifyCommand } from "./verify.js";
import { diffCommand, restoreCommand, versionsCommand } from "./versions.js";

/** Commands that have subcommands. */
export const COMMAND_GROUPS: Readonly<Record<string, string>> = {
  tag: "Names of versions",
  branch: "Lines of versions",
  index: "Indexes",
};

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
  versionsCommand,
  diffCommand,
  restoreCommand,
  tagListCommand,
  tagCreateCommand,
  tagDeleteCommand,
  branchListCommand,
  branchCreateCommand,
  branchDeleteCommand,
  branchMergeCommand,
  indexListCommand,
  indexCreateCommand,
  indexDropCommand,
  jobsCommand,
  optimizeCommand,
  cleanupCommand,
  verifyCommand,
  fileCommand,
  publishCommand,
  serveCommand,
  inspectCommand,
  doctorCommand,
];
