/** `tiltyard versions`, `diff` and `restore`: the history of a table. */

import { momentOf, optionItems, wholeNumber } from "../arguments/lists.js";
import type { CommandCall } from "../call/call.js";
import { type CommandSpec, required } from "../call/command.js";
import { printJson, printLine, printNote, printTable } from "../output/print.js";
import { arrayChange, standardOutput } from "../output/sinks.js";
import { coloursOf } from "../output/terminal.js";
import { countOf, countText, jsonText, sizeText, timeText } from "../output/text.js";

/** Versions that are listed unless a limit says otherwise. */
const SHOWN_VERSIONS = 50;
/** Differences that are shown unless a limit says otherwise. */
const SHOWN_DIFFERENCES = 1000;

export const versionsCommand: CommandSpec = {
  usage: "versions <table>",
  summary: "List the versions of a table, the newest first, with what each changed",
  examples: ["tiltyard versions orders", "tiltyard versions orders --branch trial --limit 5"],
  options: [
    {
      flags: "-l, --limit <count>",
      text: "maximum number of versions",
      byDefault: String(SHOWN_VERSIONS),
      parse: (text) => wholeNumber("--limit", text, 1),
    },
  ],
  reads: "branch",
  async run(call, name) {
    const { options, signal, terminal } = call;
    const { id, namespace } = await call.table(required(name, "the table"));
    const limit = (options.limit as number | undefined) ?? SHOWN_VERSIONS;
    const request = { id, branch: options.branch, limit, descending: true, signal };
    const { versions, pageToken } = await namespace.listTableVersions(request);
    const tags = await tagsOf(call, required(name, "the table"));
    if (options.json === true) {
      const listed = versions.map(({ timestampMillis, ...version }) => ({
        ...version,
        time: new Date(timestampMillis).toISOString(),
        tags: tags(version.version),
      }));
      return printJson(terminal, { versions: listed, hasMore: pageToken !== undefined });
    }
    printTable(
      terminal,
      [
        { name: "version", isNumber: true },
        ...["time", "operation"].map((column) => ({ name: column })),
        ...["added", "removed", "changed", "manifest"].map((column) => ({ name: column, isNumber: true })),
        { name: "tags" },
        { name: "message" },
      ],
      versions.map((version) => [
        version.version,
        timeText(version.timestampMillis),
        version.operation,
        ...[version.rowsAdded, version.rowsRemoved, version.rowsChanged].map((count) =>
          count === undefined || count === 0 ? "" : countText(count),
        ),
        sizeText(version.manifestSize),
        tags(version.version).join(", "),
        version.message,
      ]),
    );
    if (pageToken !== undefined)
      printNote(terminal, `only the newest ${versions.length}; --limit shows more`);
  },
};

/** Returns a function that tells the tags of a version of the branch. */
async function tagsOf(call: CommandCall, name: string): Promise<(version: number) => string[]> {
  const { handle } = await call.table(name);
  const entries = Object.entries(await handle.tags({ signal: call.signal }));
  const ofBranch = entries.filter(([, { branch }]) => (branch ?? "main") === (call.options.branch ?? "main"));
  return (version) => ofBranch.filter(([, tag]) => tag.version === version).map(([tag]) => tag);
}

/** Reads a version as people name it: its number, a tag, or a moment after `@`. */
function versionName(text: string): number | { tag: string } | { asOf: Date | string } {
  if (/^\d+$/.test(text)) return wholeNumber("the version", text);
  return text.startsWith("@") ? { asOf: momentOf(text.slice(1)) } : { tag: text };
}

export const diffCommand: CommandSpec = {
  usage: "diff <table> <from> [to]",
  summary: "Show the rows that differ between two versions: numbers, tags, or moments after @",
  examples: ["tiltyard diff orders 3 7 --on id", "tiltyard diff orders @yesterday --on id --count"],
  options: [
    { flags: "--on <columns>", text: "columns that identify a row; default: stable row ids" },
    { flags: "--count", text: "only count the rows" },
    {
      flags: "-l, --limit <count>",
      text: "maximum number of rows",
      byDefault: String(SHOWN_DIFFERENCES),
      parse: (text) => wholeNumber("--limit", text, 1),
    },
  ],
  reads: "branch",
  async run(call, name, from, to) {
    const { options, signal, terminal } = call;
    const { handle } = await call.table(required(name, "the table"));
    const keys = options.on === undefined ? undefined : optionItems("--on", options.on as string);
    const end = to === undefined ? undefined : versionName(to);
    const differences = handle.diff(versionName(required(from, "the version")), end, { on: keys, signal });
    const counts = { added: 0, removed: 0, changed: 0 };
    if (options.count === true) {
      for await (const { kind } of differences) counts[kind]++;
      if (options.json === true) return printJson(terminal, counts);
      return printLine(terminal, countsText(counts));
    }
    const limit = (options.limit as number | undefined) ?? SHOWN_DIFFERENCES;
    let hasMore = false;
    const shown = async function* () {
      let left = limit;
      for await (const difference of differences) {
        if (left-- === 0) {
          hasMore = true;
          return;
        }
        counts[difference.kind]++;
        yield difference;
      }
    };
    if (options.json === true) await printDifferences(call, shown());
    else {
      const { green, red, yellow } = coloursOf(terminal, terminal.stdout);
      const colours = { added: green, removed: red, changed: yellow };
      const signs = { added: "+", removed: "-", changed: "~" };
      for await (const { kind, row, before } of shown()) {
        const line = (sign: string, values: object) => colours[kind](`${sign} ${oneLine(values)}`);
        if (before !== undefined && before !== null) printColoured(call, line("-", before));
        printColoured(call, line(kind === "changed" ? "+" : signs[kind], row));
      }
      printNote(terminal, countsText(counts));
    }
    if (hasMore) printNote(terminal, `only the first ${limit} rows; --limit shows more, --count counts all`);
  },
};

/** Writes a line with colours. Its text is JSON, which holds no other control characters. */
const printColoured = ({ terminal }: CommandCall, line: string): void =>
  void terminal.stdout.write(`${line}\n`);

const oneLine = (values: object): string => jsonText(values).replace(/\n\s*/g, " ");

const countsText = ({ added, removed, changed }: Readonly<Record<"added" | "removed" | "changed", number>>) =>
  `${countOf(added, "row")} added, ${countText(removed)} removed, ${countText(changed)} changed`;

async function printDifferences(call: CommandCall, differences: AsyncIterable<object>): Promise<void> {
  const { stdout } = call.terminal;
  stdout.write("[");
  const change = arrayChange();
  const sink = standardOutput(call.terminal, change);
  for await (const difference of differences) {
    await new Promise<void>((resolve, reject) => {
      const line = `${oneLine(difference)}\n`;
      sink.write(line, (error) => (error ? reject(error) : resolve()));
    });
  }
  stdout.write("\n]\n");
}

export const restoreCommand: CommandSpec = {
  usage: "restore <table> <version>",
  summary: "Make an older version the latest: a number, a tag, or a moment after @",
  examples: ["tiltyard restore orders 3", 'tiltyard restore orders "@2h ago"'],
  options: [{ flags: "--message <text>", text: "message of the commit" }],
  reads: "branch",
  async run(call, name, version) {
    const table = await call.table(required(name, "the table"));
    const target = versionName(required(version, "the version"));
    const change = { message: call.options.message as string | undefined, signal: call.signal };
    const restored = await table.handle.restore(target, change);
    if (call.options.json === true) return printJson(call.terminal, { version: restored.version });
    printNote(call.terminal, `${table.name} has version ${restored.version}, with the rows of ${version}`);
  },
};
