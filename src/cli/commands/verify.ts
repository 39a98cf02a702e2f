/** `tiltyard verify` and `file`: whether files are sound, and what they hold. */

import { realpath } from "node:fs/promises";
import { basename, dirname, relative, resolve, sep } from "node:path";
import { parseIdentifier, type TableDamage, type VerifyTableResponse } from "tiltyard";
import { CommandMistake } from "../arguments/mistake.js";
import { type CommandCall, type NamedTable, nameOfId } from "../call/call.js";
import { type CommandSpec, required } from "../call/command.js";
import { EXIT } from "../call/exitCodes.js";
import { printJson, printLine, printNote, printTable } from "../output/print.js";
import { workBar } from "../output/progress.js";
import { coloursOf } from "../output/terminal.js";
import { countOf, countText, sizeText, visibleLines } from "../output/text.js";

export const verifyCommand: CommandSpec = {
  usage: "verify [table]",
  summary: "Read everything, and tell what is damaged and what can be saved; default: all tables",
  examples: ["tiltyard verify", "tiltyard verify orders --branch trial", "tiltyard verify orders --json"],
  reads: "version",
  async run(call, name) {
    const tables = name === undefined ? await allTables(call) : [await call.table(name)];
    const results: (VerifyTableResponse & { readonly table: string })[] = [];
    for (const table of tables) {
      const result = { table: table.name, ...(await verified(call, table)) };
      results.push(result);
      if (call.options.json !== true) printResult(call, result);
    }
    if (call.options.json === true) printJson(call.terminal, { tables: results });
    else if (results.length === 0) printNote(call.terminal, `no tables in ${call.root}`);
    if (results.some(({ isSound }) => !isSound)) call.exitCode = EXIT.damaged;
  },
};

async function allTables(call: CommandCall): Promise<NamedTable[]> {
  const namespace = await call.namespace();
  const { tables } = await namespace.listAllTables({ includeDeclared: false, signal: call.signal });
  return Promise.all(tables.map((id) => call.table(nameOfId(parseIdentifier(id)))));
}

async function verified(call: CommandCall, table: NamedTable): Promise<VerifyTableResponse> {
  const bar = await workBar(call.terminal, `verify ${table.name}`, call.options.progress === false);
  try {
    return await table.handle.verify({ signal: call.signal, onProgress: (progress) => bar.draw(progress) });
  } finally {
    bar.end();
  }
}

function printResult(call: CommandCall, result: VerifyTableResponse & { readonly table: string }): void {
  const { terminal } = call;
  const { green, red, bold } = coloursOf(terminal, terminal.stdout);
  const { table, isSound, damages, damageCount } = result;
  const state = isSound ? green("sound") : red(countOf(damageCount, "damage"));
  const checked = [
    countOf(result.checkedVersions, "version"),
    countOf(result.checkedFiles, "file"),
    sizeText(result.checkedBytes),
    countOf(result.readableRows + result.damagedRows, "row"),
    countOf(result.checkedIndexes, "index", "indexes"),
  ].join(", ");
  terminal.stdout.write(`${bold(visibleLines(table))}: ${state} (${checked})\n`);
  for (const damage of damages) printDamage(call, damage);
  if (damages.length < damageCount) printNote(terminal, `  only ${damages.length} damages are listed`);
  for (const text of result.unchecked) printNote(terminal, `  not checked: ${text}`);
  if (isSound) return;
  const { readableRows, damagedRows, newestSoundVersion } = result;
  printLine(
    terminal,
    `  ${countText(readableRows)} of ${countOf(readableRows + damagedRows, "row")} can be read whole`,
  );
  const restore = `tiltyard restore ${table} ${newestSoundVersion}`;
  printLine(
    terminal,
    newestSoundVersion === undefined
      ? "  no version is without damage"
      : `  version ${newestSoundVersion} is without damage: ${restore}`,
  );
}

function printDamage({ terminal }: CommandCall, damage: TableDamage): void {
  const { kind, message, fragmentId, columns, remedy, path } = damage;
  const where = [
    fragmentId === undefined ? "" : `fragment ${fragmentId}`,
    columns === undefined ? "" : `columns ${columns.join(", ")}`,
  ].filter((part) => part !== "");
  printLine(terminal, `  ${kind}: ${message}${where.length === 0 ? "" : ` (${where.join(", ")})`}`);
  if (!message.includes(path)) printLine(terminal, `    in ${path}`);
  printLine(terminal, `    ${remedy}`);
}

export const fileCommand: CommandSpec = {
  usage: "file <path>",
  summary: "Show columns, pages, encodings and sizes of a data file or index file, or of a whole table",
  examples: [
    "tiltyard file data/orders.lance",
    "tiltyard file data/orders.lance/data/0101….lance --pages",
    "tiltyard file orders",
  ],
  options: [{ flags: "--pages", text: "list each page" }],
  reads: "version",
  async run(call, path) {
    const text = required(path, "the path");
    const tableFile = await tableFileAt(text);
    if (tableFile === null) return printStorage(call, await call.table(text));
    const table = await call.table(tableFile.table);
    const request = { id: table.id, ...call.readPoint, path: tableFile.file, signal: call.signal };
    const file = await table.namespace.describeTableFile(request);
    const { terminal } = call;
    if (call.options.json === true) return printJson(terminal, file);
    printLine(terminal, `${file.path}`);
    const checksums = file.hasChecksums ? "with checksums" : "without checksums";
    const size = `${sizeText(file.bytes)}, ${sizeText(file.otherBytes)} of it besides the pages`;
    printLine(terminal, `format ${file.formatVersion}, ${countOf(file.rows, "row")}, ${size}, ${checksums}`);
    const numbers = ["size", "pages"].map((name) => ({ name, isNumber: true }));
    printTable(
      terminal,
      [{ name: "column" }, ...numbers, { name: "encodings" }],
      file.columns.map((column) => [
        column.name,
        sizeText(column.bytes),
        countText(column.pageCount),
        column.encodings.join(", "),
      ]),
    );
    if (call.options.pages === true) {
      printTable(
        terminal,
        [
          { name: "column" },
          ...["page", "first row", "rows", "size"].map((name) => ({ name, isNumber: true })),
          { name: "encoding" },
        ],
        file.columns.flatMap(({ name, pages }) =>
          pages.map((page, index) => [
            name,
            index,
            countText(page.firstRow),
            countText(page.rows),
            sizeText(page.bytes),
            page.encoding,
          ]),
        ),
      );
    }
  },
};

/** A file of a table. */
interface TableFile {
  /** Path of the table's directory. */
  readonly table: string;
  /** Path of the file in that directory, with `/`. */
  readonly file: string;
}

/** Finds the table of a file; null for anything but a file below a directory of a table. */
async function tableFileAt(path: string): Promise<TableFile | null> {
  if (!/\.(lance|idx)$/.test(path) || !/[/\\]/.test(path)) return null;
  const real = await realpath(path).catch(() => null);
  if (real === null) throw new CommandMistake(`${path} does not exist`);
  for (let directory = dirname(real); dirname(directory) !== directory; directory = dirname(directory)) {
    if (!basename(directory).endsWith(".lance")) continue;
    return { table: directory, file: relative(directory, resolve(real)).split(sep).join("/") };
  }
  return null;
}

async function printStorage(call: CommandCall, table: NamedTable): Promise<void> {
  const { terminal, options, signal } = call;
  const storage = await table.handle.storage({ signal });
  if (options.json === true) return printJson(terminal, storage);
  const { columns, fragments, indexes, bytes, version } = storage;
  const rows = fragments.reduce((sum, fragment) => sum + fragment.rows, 0);
  const deleted = fragments.reduce((sum, fragment) => sum + fragment.deletedRows, 0);
  const counted = `${countOf(fragments.length, "fragment")}, ${countOf(rows, "row")}, ${countText(deleted)} deleted`;
  printLine(terminal, `${table.name}, version ${version}: ${sizeText(bytes)}, ${counted}`);
  const share = (part: number) => `${((100 * part) / Math.max(1, bytes)).toFixed(1)} %`;
  const numbers = ["size", "share"].map((name) => ({ name, isNumber: true }));
  const encodings = new Map<string, Set<string>>();
  for (const column of fragments.flatMap(({ files }) => files.flatMap((file) => file.columns))) {
    const names = encodings.get(column.name) ?? new Set();
    for (const encoding of column.encodings) names.add(encoding);
    encodings.set(column.name, names);
  }
  printTable(
    terminal,
    [{ name: "column" }, ...numbers, { name: "encodings" }],
    columns.map((column) => [
      column.name,
      sizeText(column.bytes),
      share(column.bytes),
      [...(encodings.get(column.name) ?? [])].join(", "),
    ]),
  );
  if (indexes.length > 0) {
    printTable(
      terminal,
      [{ name: "index" }, ...numbers, { name: "files", isNumber: true }],
      indexes.map((index) => [
        index.indexName,
        sizeText(index.bytes),
        share(index.bytes),
        index.files.length,
      ]),
    );
  }
  printTable(
    terminal,
    ["fragment", "rows", "deleted", "size", "files"].map((name) => ({ name, isNumber: true })),
    fragments
      .slice(0, MAX_FRAGMENTS)
      .map((fragment) => [
        fragment.id,
        countText(fragment.rows),
        countText(fragment.deletedRows),
        sizeText(fragment.files.reduce((sum, file) => sum + file.bytes, fragment.deletionBytes)),
        fragment.files.length,
      ]),
  );
  if (fragments.length > MAX_FRAGMENTS)
    printNote(terminal, `only ${MAX_FRAGMENTS} fragments are listed; --json has all`);
}

/** Fragments that are listed. */
const MAX_FRAGMENTS = 50;
