/** Reads the columns that sort a query, in each form that a request may give them. Pure. */

import { InvalidInputError } from "../../errors.js";
import { checkOptionMembers, isObject, shortly } from "../../optionMembers.js";

/** A column that sorts the rows. */
export interface SortedColumn {
  /** Name of the request member, for messages. */
  readonly label: string;
  /** Path of the column. */
  readonly columnName: string;
  readonly ascending: boolean;
  readonly nullsFirst: boolean;
}

const FORMS = '"id", "-id", { id: "desc" } or { columnName: "id", ascending: false }';

/**
 * Returns the columns that a request sorts by; the first has the highest priority.
 * @param orderBy unchecked: one column or a list
 * @throws InvalidInputError naming the member
 */
export function sortColumns(orderBy: unknown): readonly SortedColumn[] {
  if (orderBy === undefined || orderBy === null) return [];
  if (!Array.isArray(orderBy)) return sortColumn(orderBy, "orderBy");
  return orderBy.flatMap((column: unknown, index) => sortColumn(column, `orderBy[${index}]`));
}

function sortColumn(column: unknown, label: string): readonly SortedColumn[] {
  if (typeof column === "string") return [textColumn(column, label)];
  if (!isObject(column)) throw new InvalidInputError(`${label}: must be ${FORMS}, not ${shortly(column)}`);
  if (Object.hasOwn(column, "columnName")) return [objectColumn(column, label)];
  const directions = Object.entries(column).filter(([, direction]) => direction !== undefined);
  // Without a path, this is a misspelt object with `columnName`.
  if (directions.length === 0) throw new InvalidInputError(`${label}: must name a column, as in ${FORMS}`);
  return directions.map(([columnName, direction]) => {
    const text = typeof direction === "string" ? direction.toLowerCase() : direction;
    if (text === "asc" || text === "desc") {
      return { label, columnName, ascending: text === "asc", nullsFirst: false };
    }
    throw new InvalidInputError(
      `${label}.${columnName.slice(0, 200)}: must be "asc" or "desc", not ${shortly(direction)}; a sorted column is written ${FORMS}`,
    );
  });
}

/** Returns the column of a text: its path, or its path after a minus. */
function textColumn(text: string, label: string): SortedColumn {
  const [, path, direction] = /^(\S+)\s+(asc|desc)$/i.exec(text) ?? [];
  if (direction !== undefined) {
    const ordered = /^asc/i.test(direction) ? path : `-${path}`;
    throw new InvalidInputError(`${label}: write ${shortly(ordered)}, not ${shortly(text)}`);
  }
  const ascending = !text.startsWith("-");
  return { label, columnName: ascending ? text : text.slice(1), ascending, nullsFirst: false };
}

function objectColumn(column: object, label: string): SortedColumn {
  checkOptionMembers(label, column, ["columnName", "ascending", "nullsFirst"]);
  const { columnName, ascending, nullsFirst } = column as Readonly<Record<string, unknown>>;
  if (typeof columnName !== "string") throw new InvalidInputError(`${label}.columnName: must be a text`);
  return {
    ...{ label, columnName },
    ascending: flag(ascending, `${label}.ascending`, true),
    nullsFirst: flag(nullsFirst, `${label}.nullsFirst`, false),
  };
}

function flag(value: unknown, label: string, otherwise: boolean): boolean {
  if (value === undefined || value === null) return otherwise;
  if (typeof value === "boolean") return value;
  throw new InvalidInputError(`${label}: must be true or false`);
}
