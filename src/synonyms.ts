/**
 * Members of requests with several names. The engine reads one of them:
 *
 *     filter, predicate, where     the one that the table of operations lists first
 *     text                         fullTextQuery
 *     valuesSql                    updates
 */

import { InvalidInputError } from "./errors.js";
import { type OperationName, operationRow, type Rules } from "./operationTable.js";
import { isObject, shortly } from "./optionMembers.js";

type Members = Readonly<Record<string, unknown>>;

const CONDITIONS: ReadonlySet<string> = new Set(["filter", "predicate", "where"]);
/** Further members that have another name, or hold members that may have one. */
const OTHERS: ReadonlySet<string> = new Set(["text", "valuesSql", "query"]);

/**
 * Names of the conditions of a request; null if none of its members has another name. They are looked for
 * once, because every call needs them.
 */
const conditionsOfRules = new WeakMap<Rules, readonly string[] | null>();

function conditionsOf(rules: Rules): readonly string[] | null {
  let names = conditionsOfRules.get(rules);
  if (names === undefined) {
    const members = Object.keys(rules);
    const conditions = members.filter((name) => CONDITIONS.has(name));
    names = conditions.length > 1 || members.some((name) => OTHERS.has(name)) ? conditions : null;
    conditionsOfRules.set(rules, names);
  }
  return names;
}

const NOTHING: Members = {};

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/**
 * Returns the members that the engine reads in place of synonyms. The caller's request does not change.
 * @throws InvalidInputError if a request has different values for one member
 */
export const membersOfSynonyms = (name: OperationName, request: object): Members =>
  resolved(operationRow(name).members, request as Members);

function resolved(rules: Rules, members: Members): Members {
  const conditions = conditionsOf(rules);
  if (conditions === null) return NOTHING;
  const result: Record<string, unknown> = {};
  const [canonical, ...others] = conditions;
  if (others.some((name) => isGiven(members[name]))) {
    result[canonical] = conditionOf([canonical, ...others], members);
  }
  if ("text" in rules && isGiven(members.text)) {
    if (typeof members.text !== "string") {
      throw new InvalidInputError(`text: must be a string, not ${shortly(members.text)}`);
    }
    if (isGiven(members.fullTextQuery)) {
      throw new InvalidInputError("text: cannot be given together with fullTextQuery");
    }
    result.fullTextQuery = { stringQuery: { query: members.text } };
  }
  if ("valuesSql" in rules && isGiven(members.valuesSql)) result.updates = updatesOf(members);
  const { query } = rules;
  if (typeof query === "object" && !query.isList && isObject(members.query)) {
    const inner = members.query as Members;
    const changed = resolved(query.members, inner);
    if (Object.keys(changed).length > 0) result.query = { ...inner, ...changed };
  }
  return result;
}

/** Returns the only value of a condition that a request gives under several names. */
function conditionOf(names: readonly string[], members: Members): unknown {
  const [first, ...others] = names.filter((name) => isGiven(members[name]));
  const value = members[first];
  for (const name of others) {
    if (members[name] === value) continue;
    throw new InvalidInputError(
      `${name}: means the same as ${first}, which has another value; give one of them`,
    );
  }
  return value;
}

/** Returns the pairs of `updates`, then those of `valuesSql`. */
function updatesOf({ updates, valuesSql }: Members): unknown {
  if (!isObject(valuesSql)) {
    throw new InvalidInputError("valuesSql: must be an object with an SQL expression for each column");
  }
  if (isGiven(updates) && !Array.isArray(updates)) return updates;
  return [...((updates ?? []) as readonly unknown[]), ...Object.entries(valuesSql)];
}
