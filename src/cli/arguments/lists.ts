/** Reads values of options, such as `--select "id, price * 2 AS double"` and `--order "price desc"`. Pure. */

import { CommandMistake } from "./mistake.js";

const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/** Cuts a list at commas that are in no quotes and no brackets. */
export function optionItems(option: string, text: string): string[] {
  const items: string[] = [];
  const open: string[] = [];
  let quote = "";
  let start = 0;
  for (const [index, character] of [...text].entries()) {
    if (quote !== "") {
      if (character === quote) quote = "";
    } else if (`'"\``.includes(character)) quote = character;
    else if (character in CLOSING) open.push(CLOSING[character]);
    else if (")]}".includes(character)) {
      if (open.pop() !== character) throw new CommandMistake(`${option}: ${character} closes no bracket`);
    } else if (character === "," && open.length === 0) {
      items.push([...text].slice(start, index).join(""));
      start = index + 1;
    }
  }
  if (quote !== "") throw new CommandMistake(`${option}: the quote ${quote} is not closed`);
  if (open.length > 0) throw new CommandMistake(`${option}: ${open.at(-1)} is missing`);
  items.push([...text].slice(start).join(""));
  const trimmed = items.map((item) => item.trim());
  if (trimmed.includes("")) throw new CommandMistake(`${option}: an item of the list is empty`);
  return trimmed;
}

/** A column of a result: a path, or an expression with a name. */
export interface SelectedColumn {
  readonly name: string;
  readonly expression: string;
  /** True if the column is a path without a name of its own, or `*`. */
  readonly isPath: boolean;
}

const ALIAS = /^([\s\S]+?)\s+as\s+(`[^`]+`|"[^"]+"|[\p{L}_][\p{L}\p{N}_]*)$/iu;
const PATH =
  /^(?:\*|(?:`(?:[^`]|``)+`|[\p{L}_][\p{L}\p{N}_]*)(?:\.(?:`(?:[^`]|``)+`|[\p{L}_][\p{L}\p{N}_]*))*)$/u;

/** Reads the columns of `--select`. */
export function selectedColumns(text: string): SelectedColumn[] {
  return optionItems("--select", text).map((item) => {
    const [, expression, alias] = ALIAS.exec(item) ?? [];
    if (expression === undefined) return { name: item, expression: item, isPath: PATH.test(item) };
    return { name: alias.replace(/^[`"]|[`"]$/g, ""), expression, isPath: false };
  });
}

/** Returns the columns of a query: a list of paths, or expressions by their names. */
export function columnsOfQuery(
  text: string | undefined,
): readonly string[] | { readonly columnAliases: Readonly<Record<string, string>> } | undefined {
  if (text === undefined) return undefined;
  const columns = selectedColumns(text);
  if (columns.every(({ isPath }) => isPath)) return columns.map(({ expression }) => expression);
  if (columns.some(({ expression }) => expression === "*")) {
    throw new CommandMistake("--select: * cannot be beside expressions; name the columns");
  }
  return { columnAliases: byName("--select", columns) };
}

/** Returns the expressions of columns by their names. */
export function byName(option: string, columns: readonly SelectedColumn[]): Record<string, string> {
  const aliases = new Map<string, string>();
  for (const { name, expression } of columns) {
    if (aliases.has(name)) throw new CommandMistake(`${option}: the name ${name} occurs twice`);
    aliases.set(name, expression);
  }
  return Object.fromEntries(aliases);
}

/** A column to sort by. */
export interface OrderedColumn {
  readonly columnName: string;
  readonly ascending: boolean;
  readonly nullsFirst?: boolean;
}

const ORDER = /^([\s\S]+?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?$/i;

/** Reads the columns of `--order`. */
export function sortedColumns(text: string | undefined): OrderedColumn[] | undefined {
  if (text === undefined) return undefined;
  return optionItems("--order", text).map((item) => {
    const [, path, direction, nulls] = ORDER.exec(item) as RegExpExecArray;
    const isMinus = path.startsWith("-");
    return {
      columnName: isMinus ? path.slice(1) : path,
      ascending: !isMinus && direction?.toLowerCase() !== "desc",
      ...(nulls !== undefined && { nullsFirst: nulls.toLowerCase() === "first" }),
    };
  });
}

/** Reads a vector: numbers in brackets, or separated by commas or spaces. */
export function vectorNumbers(text: string): number[] | number[][] {
  let value: unknown;
  try {
    value = JSON.parse(
      text.trim().startsWith("[")
        ? text
        : `[${text
            .trim()
            .split(/[\s,]+/)
            .join(",")}]`,
    );
  } catch {
    value = null;
  }
  const isVector = (item: unknown): item is number[] =>
    Array.isArray(item) && item.length > 0 && item.every((number) => typeof number === "number");
  if (isVector(value)) return value;
  if (Array.isArray(value) && value.length > 0 && value.every(isVector)) return value;
  throw new CommandMistake(`--near: wants numbers, such as "[0.1, 0.2, 0.3]"`);
}

/** Reads a whole number of at least `least`. */
export function wholeNumber(option: string, text: string, least = 0): number {
  const number = /^\d{1,15}$/.test(text.replaceAll("_", "")) ? Number(text.replaceAll("_", "")) : Number.NaN;
  if (number >= least) return number;
  throw new CommandMistake(
    `${option}: wants a whole number of at least ${least}, not ${JSON.stringify(text)}`,
  );
}

const DURATION = /^(\d+(?:\.\d+)?)(s|m|h|d|w)$/;
const MILLIS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Reads a duration such as `7d` or `12h`, and returns its milliseconds. */
export function durationMillis(option: string, text: string): number {
  const [, amount, unit] = DURATION.exec(text.trim()) ?? [];
  if (amount !== undefined) return Math.round(Number(amount) * MILLIS[unit]);
  throw new CommandMistake(
    `${option}: wants a duration, such as 30m, 12h, 7d or 2w, not ${JSON.stringify(text)}`,
  );
}

/** Reads a moment: ISO text, or a duration before now such as `2h ago` or `yesterday`. */
export function momentOf(text: string, now = Date.now()): Date | string {
  const trimmed = text.trim();
  if (trimmed === "now") return new Date(now);
  if (trimmed === "yesterday") return new Date(now - MILLIS.d);
  const [, duration] = /^(.+?)\s+ago$/.exec(trimmed) ?? [];
  if (duration !== undefined) return new Date(now - durationMillis("--as-of", duration));
  // A day, and a time without a zone, are of the user's own clock.
  const isLocal = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?$/.test(trimmed);
  const local = isLocal
    ? new Date(`${trimmed.replace(" ", "T")}${trimmed.length === 10 ? "T00:00" : ""}`)
    : null;
  if (local !== null && !Number.isNaN(local.getTime())) return local;
  if (!Number.isNaN(Date.parse(trimmed)) && /(?:Z|[+-]\d{2}:?\d{2})$/.test(trimmed)) return new Date(trimmed);
  throw new CommandMistake(
    `--as-of: wants a moment, such as 2026-11-28, "2026-11-28 06:00", 2026-11-28T06:00:00Z, "2h ago" or yesterday`,
  );
}
