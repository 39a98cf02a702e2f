/**
 * SQL filters and constants: parses, binds and evaluates them. Programs write long filters, so they are
 * prepared in steps; a short filter takes one step.
 */

import type { Column } from "../arrow/columns/column.js";
import type { Steps } from "../async/eventLoop.js";
import { isUint8Array } from "../bytes/anyRealm.js";
import { countOnes, positionsOfOnes } from "../bytes/bits.js";
import { InvalidInputError, UnsupportedError } from "../errors.js";
import type { FilterParameters } from "../namespace/queries.js";
import { Binder } from "./bind/bind.js";
import { Names } from "./bind/names.js";
import type { Expression } from "./build.js";
import { type Bound, type Condition, type Effort, effortOf } from "./evaluate/bound.js";
import { conditionInSteps } from "./evaluate/condition.js";
import { evaluate, testRows } from "./evaluate/evaluate.js";
import { isExpression } from "./isExpression.js";
import { parseInSteps } from "./parse/parse.js";
import type { Syntax } from "./parse/syntax.js";
import type { AllocateResult } from "./values/operands.js";
import { isNullConstant } from "./values/scalars.js";
import type { PlainType, TypedField, ValueType } from "./values/types.js";

/** An expression of a caller: SQL text, or one that a program built. */
export type ExpressionInput = string | Expression;

/** An expression over the columns of a table. */
export class BoundExpression {
  readonly type: ValueType;
  /** Paths of the columns that it needs, each as its segments. Callers pass the columns in this order. */
  readonly paths: readonly (readonly string[])[];
  /** Types of the columns that it needs, in their order. */
  readonly inputTypes: readonly ValueType[];
  /** The time of a batch is proportional to this and to its rows. */
  readonly effort: Effort;
  readonly #node: Bound;

  /** @internal */
  constructor(node: Bound, effort: Effort, { paths, types }: Pick<Names, "paths" | "types">) {
    this.type = node.type;
    this.paths = paths;
    this.effort = effort;
    this.inputTypes = types;
    this.#node = node;
  }

  /** Path of the column, if the expression is just a column; otherwise null. */
  get column(): readonly string[] | null {
    return this.#node.kind === "column" ? this.paths[this.#node.index] : null;
  }

  /** Returns its condition on columns, which are numbered as in {@link paths}. */
  condition(): Steps<Condition> {
    return conditionInSteps(this.#node);
  }

  get isConstant(): boolean {
    return this.#node.kind === "constant";
  }

  /**
   * Computes the value of each row.
   * @param allocate may be called once, for the memory of floats or of joined texts. Default: new memory
   * @throws InvalidInputError if a row has none: a division by zero, a cast of a text that is not a number
   */
  evaluate(columns: readonly Column[], rowCount: number, allocate?: AllocateResult): Steps<Column> {
    return evaluate(this.#node, { columns, rowCount }, allocate);
  }

  /**
   * Returns the rows in which a condition is true, ascending; null for all rows.
   * @throws InvalidInputError if a row has no value
   */
  *select(columns: readonly Column[], rowCount: number): Steps<Uint32Array | null> {
    return positionsOfOnes(yield* this.test(columns, rowCount), rowCount);
  }

  /** Returns a bit for each row: one if a condition is true. @throws as {@link select} */
  test(columns: readonly Column[], rowCount: number): Steps<Uint8Array> {
    return testRows(this.#node, { columns, rowCount });
  }

  *count(columns: readonly Column[], rowCount: number): Steps<number> {
    return countOnes(yield* this.test(columns, rowCount), 0, rowCount);
  }
}

/** An expression, the fields of the table with the system columns, and the caller's name for messages. */
type Source = readonly [
  input: ExpressionInput,
  parameters: FilterParameters,
  fields: readonly TypedField[],
  label: string,
];

/**
 * Binds a condition on the rows of a table.
 * @throws InvalidInputError if it is not a condition, TableColumnNotFoundError for a missing column,
 * UnsupportedError for functions and types that this build lacks
 */
export const bindFilter = (...source: Source): Steps<BoundExpression> =>
  bound(source, (binder, syntax) => binder.filter(syntax));

/** Binds an expression on the rows of a table. @throws as {@link bindFilter} */
export const bindExpression = (...source: Source): Steps<BoundExpression> =>
  bound(source, (binder, syntax) => binder.expression(syntax));

/**
 * Binds an expression whose values are stored in a column. Values of other types are cast like by CAST. Lists
 * may have another layout than the column's, and another number of items.
 * @param targetOf returns the type of the column for the type of the expression
 * @throws as {@link bindFilter}; InvalidInputError if the type of the expression cannot be cast
 */
export function bindAssigned(
  input: ExpressionInput,
  parameters: FilterParameters,
  fields: readonly TypedField[],
  targetOf: (type: ValueType) => ValueType,
  label: string,
): Steps<BoundExpression> {
  const source = [input, parameters, fields, label] as const;
  return bound(source, (binder, syntax) => binder.assigned(syntax, targetOf));
}

function* bound(
  [input, parameters, fields, label]: Source,
  bind: (binder: Binder, syntax: Syntax) => Steps<Bound>,
): Steps<BoundExpression> {
  const names = new Names(fields);
  const binder = new Binder({ label, text: typeof input === "string" ? input : null }, names, parameters);
  const syntax = yield* syntaxOf(input, label);
  const node = yield* bind(binder, syntax);
  return new BoundExpression(node, yield* effortOf(node), names);
}

/**
 * Parses an expression that may hold aggregate functions.
 * @throws InvalidInputError for a text that is too long or does not parse
 */
export function* parseAggregates(input: ExpressionInput, label: string): Steps<Syntax> {
  return typeof input === "string" ? yield* parseShort(input, label) : yield* syntaxOf(input, label);
}

/**
 * Binds a part of an expression, or a tree that was made of one. Values are cast as in {@link bindAssigned}.
 * @param text of the whole expression, for messages; null without one
 * @param targetOf returns the type of the values for the type of the part
 */
export function* bindPart(
  syntax: Syntax,
  text: string | null,
  parameters: FilterParameters,
  fields: readonly TypedField[],
  label: string,
  targetOf: (type: ValueType) => ValueType = (type) => type,
): Steps<BoundExpression> {
  const names = new Names(fields);
  const binder = new Binder({ label, text }, names, parameters);
  const node = yield* binder.assigned(syntax, targetOf);
  return new BoundExpression(node, yield* effortOf(node), names);
}

export interface SqlConstant {
  readonly type: PlainType;
  /** A column of one value; null for NULL. */
  readonly value: Column | null;
}

const MAX_EXPRESSION = 2 ** 16;

/**
 * Binds the values of a new column of a table. Returns null for a constant, see {@link parseConstant}.
 * @throws as {@link bindFilter}
 */
export function* bindNewColumn(
  text: string,
  fields: readonly TypedField[],
  label: string,
): Steps<BoundExpression | null> {
  const syntax = yield* parseShort(text, label);
  if (!namesColumn(syntax)) return null;
  const names = new Names(fields);
  const node = yield* new Binder({ label, text }, names, {}).expression(syntax);
  return new BoundExpression(node, yield* effortOf(node), names);
}

function* parseShort(text: string, label: string): Steps<Syntax> {
  if (text.length > MAX_EXPRESSION) {
    throw new InvalidInputError(`${label}: the text has more than ${MAX_EXPRESSION} characters`);
  }
  return yield* parseInSteps(text, label);
}

/**
 * Computes an expression that is the same for every row.
 * @throws UnsupportedError if it is not a constant, InvalidInputError if it has no value
 */
export function* parseConstant(text: string, label: string): Steps<SqlConstant> {
  const syntax = yield* parseShort(text, label);
  if (namesColumn(syntax)) {
    throw new UnsupportedError(
      `${label}: ${text.length > 80 ? `${text.slice(0, 80)}…` : text} is not a constant`,
    );
  }
  const bound = yield* new Binder({ label, text }, new Names([]), {}).expression(syntax);
  const { type } = bound;
  if (bound.kind !== "constant" || type.kind === "list" || type.kind === "struct" || type.kind === "other") {
    throw new UnsupportedError(`${label}: constants of this type are not supported by this release`);
  }
  return { type, value: isNullConstant(bound.column) ? null : bound.column };
}

function* syntaxOf(input: ExpressionInput, label: string): Steps<Syntax> {
  if (typeof input === "string") return yield* parseInSteps(input, label);
  if (isExpression(input)) return input.syntax;
  throw new InvalidInputError(`${label}: must be a text or an expression`);
}

/** True if any part of an expression names a column. */
function namesColumn(root: Syntax): boolean {
  const stack: unknown[] = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (typeof node !== "object" || node === null || isUint8Array(node)) continue;
    if ("kind" in node && node.kind === "name") return true;
    for (const child of Object.values(node)) if (typeof child === "object") stack.push(child);
  }
  return false;
}
