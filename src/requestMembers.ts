/** Checks that requests have no unknown members: `where` in place of `filter` would return every row. */

import { InvalidInputError } from "./errors.js";
import { COMMON_MEMBERS, type OperationName, operationRow, type Rules } from "./operationTable.js";
import { isObject, shortly, unknownMember } from "./optionMembers.js";

/** Returns the names of all members that a request may have. */
export const requestMembers = (name: OperationName): readonly string[] => [
  ...Object.keys(COMMON_MEMBERS),
  ...Object.keys(operationRow(name).members),
];

/** Names that callers use for the rows, which are a second argument. */
const ROWS: ReadonlySet<string> = new Set(["data", "rows", "records"]);

/**
 * Checks that a request is an object of known members. A member that is undefined counts as absent.
 * @throws InvalidInputError naming the first unknown member, and the most similar known one
 */
export function checkRequestMembers(name: OperationName, request: unknown): void {
  const { members, takesRows } = operationRow(name);
  if (!isObject(request)) {
    const shown = typeof request === "string" ? JSON.stringify(request.slice(0, 80)) : '"t"';
    const member = Object.hasOwn(members, "jobId") ? "jobId" : "id";
    const rowsArgument = takesRows ? ", rows" : "";
    throw new InvalidInputError(
      `${name}: a request object is needed, as in ${name}({ ${member}: ${shown} }${rowsArgument}), not ${shortly(request)}`,
    );
  }
  const rows = takesRows ? Object.keys(request).find((member) => ROWS.has(member)) : undefined;
  if (rows !== undefined) {
    throw new InvalidInputError(
      `${rows}: there is no such member of ${name}; the rows are its second argument`,
    );
  }
  checkMembers(rulesOf(name), request, "", `member of ${name}`);
  const { signal } = request as { readonly signal?: unknown };
  if (signal !== undefined && signal !== null && !isSignal(signal)) {
    throw new InvalidInputError(`signal: must be an AbortSignal, not ${shortly(signal)}`);
  }
}

const rulesByName = new Map<OperationName, Rules>();

/** Returns the rules for a request. They are put together once, because every call needs them. */
function rulesOf(name: OperationName): Rules {
  let rules = rulesByName.get(name);
  if (rules === undefined) {
    const { members, ignored } = operationRow(name);
    rules = { ...COMMON_MEMBERS, ...members, ...ignored };
    rulesByName.set(name, rules);
  }
  return rules;
}

/** True for an AbortSignal of any realm. */
const isSignal = (value: unknown): boolean =>
  isObject(value) &&
  typeof (value as unknown as Partial<AbortSignal>).throwIfAborted === "function" &&
  typeof (value as unknown as Partial<AbortSignal>).addEventListener === "function";

function checkMembers(rules: Rules, object: object, prefix: string, noun: string): void {
  for (const member of Object.keys(object)) {
    const rule = Object.hasOwn(rules, member) ? rules[member] : undefined;
    // The operation reads values, and nothing reads them before: `authorize` must see the values that are
    // used.
    if (rule === "value") continue;
    const content: unknown = (object as Readonly<Record<string, unknown>>)[member];
    if (content === undefined) continue;
    const label = prefix + member;
    if (rule === undefined) throw unknownMember(label, member, Object.keys(rules), noun);
    // The operation refuses content that is neither an object nor a list.
    if (!rule.isList && isObject(content)) {
      checkMembers(rule.members, content, `${label}.`, `member of ${label}`);
    }
    if (!rule.isList || !Array.isArray(content)) continue;
    for (const [index, entry] of content.entries()) {
      const location = `${label}[${index}]`;
      if (isObject(entry)) checkMembers(rule.members, entry, `${location}.`, `member of ${location}`);
    }
  }
}
