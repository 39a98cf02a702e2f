/** Builds the parser of the command line from the declarations of the commands. */

import tab from "@bomb.sh/tab/commander";
import { Command, Option } from "commander";
import { momentOf, wholeNumber } from "./arguments/lists.js";
import type { CommandOptions } from "./call/call.js";
import type { CommandSpec, OptionSpec } from "./call/command.js";
import { COMMAND_GROUPS, COMMANDS } from "./commands/commands.js";
import { type CommandTerminal, coloursOf, terminalColumns } from "./output/terminal.js";

/** Options of every command, and of the program itself. */
const COMMON_OPTIONS: readonly OptionSpec[] = [
  {
    flags: "-r, --root <dir|url>",
    text: "directory of tables, or the URL of a disk",
    byDefault: "TILTYARD_ROOT or .",
  },
  { flags: "--json", text: "print JSON" },
  { flags: "--no-progress", text: "draw no progress bar" },
];

const BRANCH: OptionSpec = { flags: "--branch <name>", text: "branch of the table", byDefault: "main" };
const VERSION: readonly OptionSpec[] = [
  BRANCH,
  { flags: "--version <number>", text: "version to read", parse: (text) => wholeNumber("--version", text) },
  { flags: "--tag <name>", text: "tag of the version to read" },
  {
    flags: "--as-of <time>",
    text: 'read the table as of a time: ISO text, "2h ago" or yesterday',
    parse: (text) => momentOf(text),
  },
];

const EXIT_CODES =
  "Exit codes: 0 done, 1 failed, 2 wrong command line, 3 damage found by verify, 130 interrupted.";

/** Runs a command with its options. */
type Runner = (spec: CommandSpec, options: CommandOptions, operands: (string | undefined)[]) => Promise<void>;

/**
 * Builds the parser.
 * @param tableNames tables of the root, for completion
 */
export function buildProgram(
  terminal: CommandTerminal,
  version: string,
  run: Runner,
  tableNames: readonly string[] = [],
): Command {
  const program = new Command("tiltyard");
  program
    .description("Reads, changes and checks versioned Lance tables.")
    .version(version, "-V, --version", "print the version of tiltyard")
    .enablePositionalOptions()
    .showHelpAfterError("(add --help for a description)")
    .configureOutput({
      writeOut: (text) => void terminal.stdout.write(text),
      // Failures are printed in one place.
      writeErr: () => undefined,
      getOutHelpWidth: () => Math.min(terminalColumns(terminal), 100),
      getErrHelpWidth: () => 100,
    })
    .exitOverride();
  for (const option of COMMON_OPTIONS) program.addOption(optionOf(option));
  program.addHelpText(
    "after",
    `\nExamples:\n  $ tiltyard ls --root ./data\n  $ tiltyard query orders --where "price > 10" --limit 5\n\n${EXIT_CODES}\n` +
      "Completion: source <(tiltyard complete bash), or zsh, fish, powershell.",
  );
  const groups = new Map<string, Command>();
  for (const [name, summary] of Object.entries(COMMAND_GROUPS)) {
    const group = inherited(program, program.command(name).description(summary));
    groups.set(name, group);
  }
  for (const spec of COMMANDS) addCommand(program, groups, spec, run, terminal);
  completeNames(tab(program), tableNames);
  return program;
}

function inherited(parent: Command, command: Command): Command {
  return command.copyInheritedSettings(parent).enablePositionalOptions();
}

function addCommand(
  program: Command,
  groups: ReadonlyMap<string, Command>,
  spec: CommandSpec,
  run: Runner,
  terminal: CommandTerminal,
): void {
  const [first, ...rest] = spec.usage.split(" ");
  const group = groups.get(first);
  const parent = group ?? program;
  const command = inherited(parent, parent.command(group === undefined ? spec.usage : rest.join(" ")));
  command.description(`${spec.summary}.`).allowExcessArguments(false);
  const version = spec.reads === "version" ? VERSION : spec.reads === "branch" ? [BRANCH] : [];
  for (const option of [...(spec.options ?? []), ...version, ...COMMON_OPTIONS]) {
    command.addOption(optionOf(option));
  }
  const { dim } = coloursOf(terminal, terminal.stdout);
  const examples = spec.examples.map((example) => `  ${dim("$")} ${example}`).join("\n");
  command.addHelpText("after", `\nExample${spec.examples.length === 1 ? "" : "s"}:\n${examples}`);
  command.action(async () => {
    // Options before the name of the command count, and those after it win.
    const options = { ...program.opts(), ...(group?.opts() ?? {}), ...withoutDefaults(command) };
    await run(spec, options, command.processedArgs as (string | undefined)[]);
  });
}

/** Returns the options of a command that the caller gave. */
function withoutDefaults(command: Command): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(command.opts()).filter(([name]) => command.getOptionValueSource(name) !== "default"),
  );
}

function optionOf({ flags, text, choices, byDefault, parse, isList }: OptionSpec): Option {
  const shown = [text, byDefault === undefined ? "" : `(default: ${byDefault})`].filter(
    (part) => part !== "",
  );
  const option = new Option(flags, shown.join(" "));
  if (choices !== undefined) option.choices([...choices]);
  if (parse !== undefined) option.argParser(parse);
  if (isList === true) {
    option.argParser((value: string, previous: string[] | undefined) => [...(previous ?? []), value]);
  }
  return option;
}

type Completion = ReturnType<typeof tab>;

/** Completes names of tables where commands want them. */
function completeNames(completion: Completion, tableNames: readonly string[]): void {
  for (const command of completion.commands.values()) {
    if (!command.arguments.has("table")) continue;
    command.argument("table", (complete) => {
      for (const name of tableNames) if (!/[\p{Cc}\s]/u.test(name)) complete(name, "table");
    });
  }
}
