/** Prints tables, JSON and lines. No control character of a table reaches the terminal. */

import Table from "cli-table3";
import { type CommandTerminal, coloursOf, terminalColumns } from "./terminal.js";
import { jsonText, visibleLines, visibleText } from "./text.js";

/** Column of a printed table. */
export interface PrintedColumn {
  readonly name: string;
  /** True: values are at the right end. Default: false. */
  readonly isNumber?: boolean;
}

/** Columns between two columns of a table. */
const GAP = 2;
/** Columns to which a column of a table may shrink. */
const MIN_WIDTH = 4;

/** Writes a line to standard output. */
export function printLine(terminal: CommandTerminal, text = ""): void {
  terminal.stdout.write(`${visibleLines(text)}\n`);
}

/** Writes a remark to standard error. */
export function printNote(terminal: CommandTerminal, text: string): void {
  const { dim } = coloursOf(terminal, terminal.stderr);
  terminal.stderr.write(`${dim(visibleLines(text))}\n`);
}

/** Writes a value to standard output as JSON. */
export function printJson(terminal: CommandTerminal, value: unknown): void {
  terminal.stdout.write(`${jsonText(value)}\n`);
}

/** Writes texts to standard output in columns. On a terminal, wide columns are cut. */
export function printTable(
  terminal: CommandTerminal,
  allColumns: readonly PrintedColumn[],
  allRows: readonly (readonly (string | number | undefined)[])[],
): void {
  // A narrow terminal shows the first columns only.
  const most = Math.max(1, Math.floor((terminalColumns(terminal) + GAP) / (MIN_WIDTH + GAP)));
  const columns = allColumns.slice(0, most);
  const rows = allRows.map((row) => row.slice(0, most));
  const { bold } = coloursOf(terminal, terminal.stdout);
  const cells = rows.map((row) => row.map((cell) => visibleText(String(cell ?? ""))));
  const natural = columns.map(({ name }, index) =>
    Math.max(...[name, ...cells.map((row) => row[index])].map((text) => [...text].length)),
  );
  const widths = fittedWidths(natural, terminalColumns(terminal));
  const table = new Table({
    chars: NO_FRAME,
    style: { "padding-left": 0, "padding-right": GAP, head: [], border: [], compact: true },
    head: columns.map(({ name }) => bold(visibleText(name))),
    colAligns: columns.map(({ isNumber }) => (isNumber === true ? "right" : "left")),
    colWidths: widths.map((width, index) => (width < natural[index] ? width + GAP : null)),
  });
  table.push(...cells);
  const lines = table.toString().split("\n");
  terminal.stdout.write(`${lines.map((line) => line.trimEnd()).join("\n")}\n`);
}

const NO_FRAME = Object.fromEntries(
  [
    ...["top", "top-mid", "top-left", "top-right", "bottom", "bottom-mid", "bottom-left", "bottom-right"],
    ...["left", "left-mid", "mid", "mid-mid", "right", "right-mid", "middle"],
  ].map((part) => [part, ""]),
);

/** Narrows the widest columns until a line fits. */
function fittedWidths(natural: readonly number[], columns: number): number[] {
  const widths = [...natural];
  for (;;) {
    const excess = widths.reduce((sum, width) => sum + width + GAP, -GAP) - columns;
    const widest = Math.max(0, ...widths);
    if (excess <= 0 || widest <= MIN_WIDTH) return widths;
    const next = Math.max(MIN_WIDTH, ...widths.filter((width) => width < widest));
    const index = widths.indexOf(widest);
    widths[index] = Math.max(next < widest ? next : MIN_WIDTH, widest - excess);
  }
}
