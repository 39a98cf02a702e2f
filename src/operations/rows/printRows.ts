/** Prints rows as a table of text, with a frame and the type of each column. */

import type { Schema } from "apache-arrow";
import { isDate, isUint8Array, tagOf } from "../../bytes/anyRealm.js";
import type { PrintOptions } from "../../namespace/queries.js";
import { checkOptionMembers } from "../../optionMembers.js";
import { optionalBoolean } from "../request.js";
import { optionalCountTo } from "../requestValues.js";
import { cutToWidth, shownText, widthOf } from "./textWidth.js";

const DEFAULT_ROWS = 20;
const MAX_ROWS = 10_000;
const DEFAULT_WIDTH = 100;
const MAX_WIDTH = 10_000;
/** Width to which a column may shrink before columns are left out. */
const MIN_COLUMN = 6;
/** Items that a list shows. */
const MAX_ITEMS = 4;
/** Characters of a value that are looked at. */
const MAX_CHARACTERS = 2000;

type Row = Readonly<Record<string, unknown>>;

interface ShownColumn {
  readonly name: string;
  readonly type: string;
  readonly cells: readonly string[];
  readonly isNumber: boolean;
  width: number;
}

/**
 * Writes the first rows to the console, unless told otherwise.
 * @returns the text
 * @throws InvalidInputError for unknown options
 */
export async function printRows(
  schema: Schema,
  slices: AsyncIterable<readonly Row[]>,
  options: PrintOptions | null | undefined,
): Promise<string> {
  const { limit, width, write } = options ?? {};
  checkOptionMembers("print", options ?? {}, ["limit", "width", "write"]);
  const maxRows = optionalCountTo(limit, "print.limit", MAX_ROWS) ?? DEFAULT_ROWS;
  const maxWidth = optionalCountTo(width, "print.width", MAX_WIDTH) ?? terminalWidth();
  const isWritten = optionalBoolean(write, "print.write") ?? true;
  const rows: Row[] = [];
  // One row more tells if there are others.
  for await (const slice of slices) {
    for (const row of slice.slice(0, maxRows + 1 - rows.length)) rows.push(row);
    if (rows.length > maxRows) break;
  }
  const text = tableText(schema, rows.slice(0, maxRows), rows.length > maxRows, maxWidth);
  if (isWritten) console.log(text);
  return text;
}

function terminalWidth(): number {
  const { process } = globalThis as { process?: { stdout?: { columns?: number } } };
  return process?.stdout?.columns ?? DEFAULT_WIDTH;
}

function tableText(schema: Schema, rows: readonly Row[], hasMore: boolean, maxWidth: number): string {
  const all = schema.fields.map(({ name, type }) => shownColumn(name, `${type}`, rows));
  const columns = fitted(all, maxWidth);
  const line = (left: string, middle: string, right: string) =>
    left + columns.map(({ width }) => "─".repeat(width + 2)).join(middle) + right;
  const cells = (textOf: (column: ShownColumn) => string) =>
    `│${columns.map((column) => ` ${padded(textOf(column), column)} `).join("│")}│`;
  const shown = hasMore
    ? `the first ${rows.length} rows`
    : rows.length === 1
      ? "1 row"
      : `${rows.length} rows`;
  const left = all.length - columns.filter(({ type }) => type !== "").length;
  return [
    line("┌", "┬", "┐"),
    cells(({ name }) => name),
    cells(({ type }) => type),
    line("├", "┼", "┤"),
    ...rows.map((_, index) => cells((column) => column.cells[index])),
    line("└", "┴", "┘"),
    left > 0 ? `${shown}; ${left} of ${all.length} columns do not fit` : shown,
  ].join("\n");
}

function shownColumn(name: string, type: string, rows: readonly Row[]): ShownColumn {
  const cells = rows.map((row) => cellText(row[name]));
  const shownName = shownText(name.slice(0, MAX_CHARACTERS));
  const shownType = shownText(type.slice(0, MAX_CHARACTERS));
  const width = Math.max(...[shownName, shownType, ...cells].map(widthOf));
  return { name: shownName, type: shownType, cells, isNumber: /^(U?Int|Float|Decimal)/.test(type), width };
}

/** Narrows the widest columns, and leaves out columns in the middle if that is not enough. */
function fitted(all: readonly ShownColumn[], maxWidth: number): readonly ShownColumn[] {
  const columns = all.map((column) => ({ ...column }));
  const least = () => columns.reduce((sum, { width }) => sum + Math.min(width, MIN_COLUMN) + 3, 1);
  const cells = new Array<string>(all[0]?.cells.length ?? 0).fill("…");
  const gap: ShownColumn = { name: "…", type: "", cells, isNumber: false, width: 1 };
  if (least() > maxWidth && columns.length > 2) {
    columns.splice(Math.ceil(columns.length / 2), 1, gap);
    while (least() > maxWidth && columns.length > 3) {
      const middle = columns.findIndex(({ type }) => type === "");
      columns.splice(middle > columns.length - 1 - middle ? middle - 1 : middle + 1, 1);
    }
  }
  for (;;) {
    const total = columns.reduce((sum, { width }) => sum + width + 3, 1);
    const widest = columns.reduce((best, column) => (column.width > best.width ? column : best), gap);
    if (total <= maxWidth || widest.width <= MIN_COLUMN) return columns;
    // All columns of the greatest width shrink to the next width, or as far as is needed.
    const equals = columns.filter(({ width }) => width === widest.width);
    const next = Math.max(MIN_COLUMN, ...columns.map(({ width }) => (width < widest.width ? width : 0)));
    const target = Math.max(next, widest.width - Math.ceil((total - maxWidth) / equals.length));
    for (const column of equals) column.width = target;
  }
}

function padded(text: string, { width, isNumber }: ShownColumn): string {
  const cut = cutToWidth(text, width);
  const space = " ".repeat(width - widthOf(cut));
  return isNumber ? space + cut : cut + space;
}

// ------------------------------------------------------------------------------------------ values

const cellText = (value: unknown): string =>
  typeof value === "string" ? shownText(value.slice(0, MAX_CHARACTERS)) : shownText(valueText(value, 0));

/** Returns the text of a value inside of others, where texts have quotes. */
function valueText(value: unknown, depth: number): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "string") return depth === 0 ? value : JSON.stringify(value.slice(0, MAX_CHARACTERS));
  if (typeof value === "number") return depth === 0 ? String(value) : itemText(value);
  if (typeof value !== "object") return String(value);
  if (isDate(value)) return value.toISOString();
  if (isUint8Array(value) && depth === 0) return bytesText(value);
  if (depth > 6) return "…";
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    const items = value as unknown as ArrayLike<unknown>;
    const first = Array.from({ length: Math.min(items.length, MAX_ITEMS) }, (_, index) =>
      valueText(items[index], depth + 1),
    );
    return `[${first.join(", ")}${items.length > MAX_ITEMS ? `, … ${items.length} items` : ""}]`;
  }
  const entries = tagOf(value) === "Map" ? [...(value as Map<unknown, unknown>)] : Object.entries(value);
  const first = entries.slice(0, MAX_ITEMS * 2).map(([name, item]) => {
    const key = typeof name === "string" ? name.slice(0, MAX_CHARACTERS) : valueText(name, depth + 1);
    return `${key}: ${valueText(item, depth + 1)}`;
  });
  return `{${first.join(", ")}${entries.length > first.length ? ", …" : ""}}`;
}

/** Returns a number of a list with at most 7 digits, which are all that items of vectors have. */
const itemText = (value: number): string =>
  Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(7)));

function bytesText(bytes: Uint8Array): string {
  const first = Array.from(bytes.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `0x${first}${bytes.length > 16 ? `… ${bytes.length} bytes` : ""}`;
}
