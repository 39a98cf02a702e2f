/** Runs a command line: parses it, runs the command, and tells failures. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseIdentifier } from "tiltyard";
import { CommandCall, type CommandOptions, nameOfId } from "./call/call.js";
import type { CommandSpec } from "./call/command.js";
import { EXIT } from "./call/exitCodes.js";
import { commandFailure } from "./failure.js";
import { type CommandTerminal, coloursOf } from "./output/terminal.js";
import { jsonText, visibleLines } from "./output/text.js";
import { buildProgram } from "./program.js";

/** Longest wait for the names of tables when a shell asks for a completion. */
const COMPLETION_TABLES = 500;

/**
 * Runs a command line.
 * @param words the words after the name of the program
 * @returns the exit code of the process
 */
export async function runCommandLine(words: readonly string[], terminal: CommandTerminal): Promise<number> {
  let exitCode: number = EXIT.done;
  let isJson = words.includes("--json");
  const run = async (spec: CommandSpec, options: CommandOptions, operands: (string | undefined)[]) => {
    isJson = options.json === true;
    const call = new CommandCall(terminal, options);
    try {
      await spec.run(call, ...operands);
      exitCode = call.exitCode;
    } finally {
      await call.close();
    }
  };
  try {
    const names = words[0] === "complete" ? await tableNames(words, terminal) : [];
    const program = buildProgram(terminal, packageVersion(), run, names);
    if (words.length === 0) {
      program.outputHelp();
      return EXIT.done;
    }
    await program.parseAsync([...words], { from: "user" });
    return exitCode;
  } catch (error) {
    const failure = commandFailure(error, terminal.signal);
    if (failure === null) return EXIT.done;
    const { exitCode: code, ...told } = failure;
    if (isJson) terminal.stderr.write(`${jsonText({ error: told })}\n`);
    else {
      const { red } = coloursOf(terminal, terminal.stderr);
      terminal.stderr.write(`${red("error:")} ${visibleLines(told.message)}\n`);
    }
    return code;
  }
}

/** Returns the tables that a shell may complete; none if the root cannot be read. */
async function tableNames(words: readonly string[], terminal: CommandTerminal): Promise<string[]> {
  const index = words.findIndex((word) => word === "--root" || word === "-r");
  const call = new CommandCall(terminal, index < 0 ? {} : { root: words[index + 1] });
  try {
    const { tables } = await (await call.namespace()).listAllTables({ limit: COMPLETION_TABLES });
    return tables.map((name) => nameOfId(parseIdentifier(name)));
  } catch {
    return []; // A shell shows no errors while it completes.
  } finally {
    await call.close();
  }
}

/** Returns the version of the package, whose package.json lies above this file. */
function packageVersion(): string {
  for (const path of ["../../package.json", "../../../package.json", "../package.json"]) {
    try {
      const text = readFileSync(fileURLToPath(new URL(path, import.meta.url)), "utf8");
      const { name, version } = JSON.parse(text) as { name?: unknown; version?: unknown };
      if (name === "tiltyard" && typeof version === "string") return version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  return "unknown";
}
