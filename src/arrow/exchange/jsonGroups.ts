/**
 * Marks rows that JSON.parse made. The mark is global, because the entry points of a program may be ES
 * modules and CommonJS at once.
 */

const FROM_JSON = Symbol.for("tiltyard.fromJson");

/** Marks groups of rows: an infinite number in them is refused, because the text had none. */
export const markFromJson = <Groups extends object>(groups: Groups): Groups =>
  Object.assign(groups, { [FROM_JSON]: true });

/** True for rows that have the mark. */
export const isFromJson = (data: unknown): boolean =>
  typeof data === "object" &&
  data !== null &&
  (data as { readonly [FROM_JSON]?: unknown })[FROM_JSON] === true;
