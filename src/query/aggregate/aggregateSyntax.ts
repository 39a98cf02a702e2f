/**
 * Takes expressions with aggregate functions apart. Keys and aggregates become names of columns, which have
 * one value per group. The rest is an expression over these columns. Keys come first: grouped by `tax`,
 *
 *     sum(price) / count(*) + tax     becomes     "1" / "2" + "0"
 */

import { InvalidInputError } from "../../errors.js";
import { printExpression } from "../../expression/parse/print.js";
import { problemText } from "../../expression/parse/problem.js";
import type { Syntax, SyntaxOf } from "../../expression/parse/syntax.js";

export type AggregateSyntax = SyntaxOf<"aggregate">;

/** An expression of a request. */
export interface SourceExpression {
  readonly syntax: Syntax;
  /** The text; null for an expression that a program built. */
  readonly text: string | null;
  /** The caller's name for the expression, for messages. */
  readonly label: string;
}

/** Maximum depth of an expression: functions here call themselves for each level. */
const MAX_DEPTH = 768;

/** Maximum number of parts: a program may use one expression in many places. */
const MAX_PARTS = 2 ** 18;

/** @throws InvalidInputError for an expression that is nested too deeply, or too large */
export function checkDepth(source: SourceExpression): void {
  let parts = 0;
  const nodes: (readonly [node: unknown, depth: number])[] = [[source.syntax, 0]];
  for (let next = nodes.pop(); next !== undefined; next = nodes.pop()) {
    const [node, depth] = next;
    if (++parts > MAX_PARTS) {
      throw invalid(source, source.syntax, `the expression has more than ${MAX_PARTS} parts`);
    }
    if (typeof node !== "object" || node === null || ArrayBuffer.isView(node)) continue;
    if (depth > MAX_DEPTH) {
      throw invalid(source, source.syntax, `the expression is nested deeper than ${MAX_DEPTH}`);
    }
    const isNode = "kind" in node;
    for (const member of Object.values(node)) nodes.push([member, isNode ? depth + 1 : depth]);
  }
}

/** Name of a column of groups: first come the keys, then the aggregates. */
export const groupColumn = (index: number): string => String(index);

/** Collects the aggregates of several expressions, each once. */
export class AggregateCollector {
  readonly #keys: readonly Syntax[];
  readonly calls: { readonly call: AggregateSyntax; readonly source: SourceExpression }[] = [];

  constructor(keys: readonly Syntax[]) {
    this.#keys = keys;
  }

  /**
   * Returns an expression over the columns of groups.
   * @param aliases expressions that names stand for, unless they are keys
   * @throws InvalidInputError for a column that is neither a key nor part of an aggregate
   */
  overGroups(source: SourceExpression, aliases: ReadonlyMap<string, SourceExpression> = new Map()): Syntax {
    const change = (node: Syntax, caller: string | null): Syntax => {
      const key = this.#keys.findIndex((each) => isSame(each, node));
      if (key >= 0) return named(groupColumn(key), node);
      if (node.kind === "aggregate") {
        return named(groupColumn(this.#keys.length + this.#numberOf(node, source)), node);
      }
      if (node.kind === "name") {
        const alias = node.segments.length === 1 ? aliases.get(node.segments[0]) : undefined;
        if (alias !== undefined) return this.overGroups(alias);
        const name = printExpression(node);
        const remark = caller === null ? "" : `, and ${caller} is not an aggregate`;
        throw invalid(
          source,
          node,
          `${name} has many values in a group${remark}; name it in groupBy, or put it in an aggregate such as max(${name})`,
        );
      }
      const inner = node.kind === "call" ? node.name : caller;
      return withChildren(node, (child) => change(child, inner));
    };
    return change(source.syntax, null);
  }

  #numberOf(call: AggregateSyntax, source: SourceExpression): number {
    const number = this.calls.findIndex((each) => isSame(each.call, call));
    return number >= 0 ? number : this.calls.push({ call, source }) - 1;
  }
}

/** Returns an error about a part of an expression. */
export const invalid = (source: SourceExpression, node: Syntax, reason: string): InvalidInputError =>
  new InvalidInputError(problemText({ label: source.label, text: source.text }, node.offset, reason));

const named = (name: string, { offset }: Syntax): Syntax => ({
  kind: "name",
  segments: [name],
  isExact: true,
  offset,
});

/**
 * Returns an expression whose names are spelled as the columns are.
 * @param columns names of the table's columns
 */
export function spelled(source: SourceExpression, columns: readonly string[]): SourceExpression {
  const exact = new Set(columns);
  const change = (node: Syntax): Syntax => {
    if (node.kind !== "name") return withChildren(node, change);
    const [first, ...members] = node.segments;
    if (exact.has(first)) return { ...node, isExact: true };
    const folded = first.toLowerCase();
    const matches = node.isExact ? [] : columns.filter((name) => name.toLowerCase() === folded);
    return matches.length === 1 ? { ...node, segments: [matches[0], ...members], isExact: true } : node;
  };
  return { ...source, syntax: change(source.syntax) };
}

/** True if an expression has an aggregate. */
export function hasAggregate(syntax: Syntax): boolean {
  if (syntax.kind === "aggregate") return true;
  let has = false;
  withChildren(syntax, (child) => {
    has ||= hasAggregate(child);
    return child;
  });
  return has;
}

/** Returns a node with changed children. */
function withChildren(node: Syntax, change: (child: Syntax) => Syntax): Syntax {
  if (node.kind === "value" || node.kind === "bytes") return node;
  const changed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(changed);
    if (typeof value !== "object" || value === null) return value;
    if ("kind" in value) return change(value as Syntax);
    return membersOf(value, changed);
  };
  return membersOf(node, changed) as Syntax;
}

const membersOf = (value: object, changed: (member: unknown) => unknown): object =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [name, changed(member)]));

/**
 * True if two trees are equal but for their positions. Trees of another size are not compared: in nested
 * expressions, each node would be compared to its end with each key.
 */
const isSame = (left: Syntax, right: Syntax): boolean =>
  sizeOf(left) === sizeOf(right) && areEqual(left, right);

/** Number of parts of each tree that was compared. */
const SIZES = new WeakMap<object, number>();

function sizeOf(node: unknown): number {
  if (typeof node !== "object" || node === null) return 1;
  if (ArrayBuffer.isView(node)) return node.byteLength;
  let size = SIZES.get(node);
  if (size === undefined) {
    size = Object.values(node).reduce<number>((sum, member) => sum + sizeOf(member), 1);
    SIZES.set(node, size);
  }
  return size;
}

function areEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  const members = Object.entries(left);
  if (members.length !== Object.keys(right).length) return false;
  return members.every(
    ([name, member]) =>
      name === "offset" || areEqual(member, (right as Readonly<Record<string, unknown>>)[name]),
  );
}
