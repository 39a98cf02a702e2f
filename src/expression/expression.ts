/**
 * Filters and constants of SQL, ready to run: parsing, binding and evaluation in one. Programs write long
 * filters, so they are made ready in steps; a short one is ready within the first.
 */

import type { Column } from "../arrow/columns/column.js";
import type { Steps } from "../async/eventLoop.js";
import { isUint8Array } from "../bytes/anyRealm.js";
import { InvalidInputError, UnsupportedError } from "../errors.js";
import type { FilterParameters } from "../namespace/queries.js";
import { Binder } from "./bind/bind.js";
import { Names } from "./bind/names.js";
import { type Expression, isExpression } from "./build.js";
import { type Bound, type Condition, type Effort, effortOf } from "./evaluate/bound.js";
import { conditionInSteps } from "./evaluate/condition.js";
import { countSelected, evaluate, selectRows } from "./evaluate/evaluate.js";
import { parseInSteps } from "./parse/parse.js";
import type { Syntax } from "./parse/syntax.js";
import { isNullConstant } from "./values/scalars.js";
import type { PlainType, TypedField, ValueType } from "./values/types.js";

/** An expression as a caller passes it: SQL text, or one that a program made. */
export type ExpressionInput = string | Expression;

/** An expression over the columns of a table. */
export class BoundExpression {
  readonly type: ValueType;
  /** The columns that it needs, each as the segments of a path, in the order in which they are passed. */
  readonly paths: readonly (readonly string[])[];
  /** Types of the columns that it needs, in their order. */
  readonly inputTypes: readonly ValueType[];
  /** A batch takes time in proportion to this and to its rows. */
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

  /** The path of the column that it is, and nothing but that; null for all else. */
  get column(): readonly string[] | null {
    return this.#node.kind === "column" ? this.paths[this.#node.index] : null;
  }

  /** What it says about columns, if it is a condition; the columns by their places in {@link paths}. */
  condition(): Steps<Condition> {
    return conditionInSteps(this.#node);
  }

  /** Whether it is the same for all rows. */
  get isConstant(): boolean {
    return this.#node.kind === "constant";
  }

  /**
   * The value for each row.
   * @throws InvalidInputError for a row that has none: a division by zero, a cast of a text that is no number
   */
  evaluate(columns: readonly Column[], rowCount: number): Steps<Column> {
    return evaluate(this.#node, { columns, rowCount });
  }

  /**
   * The rows for which a condition holds, ascending; null for all rows.
   * @throws InvalidInputError for a row that has no value
   */
  select(columns: readonly Column[], rowCount: number): Steps<Uint32Array | null> {
    return selectRows(this.#node, { columns, rowCount });
  }

  /** The number of these rows. */
  count(columns: readonly Column[], rowCount: number): Steps<number> {
    return countSelected(this.#node, { columns, rowCount });
  }
}

/**
 * A condition on the rows of a table.
 * @param fields of the table, and the columns that rows have besides
 * @param label what the caller passed it as, for messages
 * @throws InvalidInputError for what is no condition, TableColumnNotFoundError for a column that is not
 * there, UnsupportedError for functions and types that this build does not have
 */
export function bindFilter(
  input: ExpressionInput,
  parameters: FilterParameters,
  fields: readonly TypedField[],
  label: string,
): Steps<BoundExpression> {
  return bound(input, parameters, fields, label, (binder, syntax) => binder.filter(syntax));
}

/**
 * The value of an expression for each row of a table.
 * @param fields of the table, and the columns that rows have besides
 * @param label what the caller passed it as, for messages
 * @throws as {@link bindFilter}
 */
export function bindExpression(
  input: ExpressionInput,
  parameters: FilterParameters,
  fields: readonly TypedField[],
  label: string,
): Steps<BoundExpression> {
  return bound(input, parameters, fields, label, (binder, syntax) => binder.expression(syntax));
}

/**
 * An expression whose values are to be kept in a column. Values of other types are cast, as by CAST; lists
 * may come in another layout than the column's, and with another number of items.
 * @param wanted the type of the column, by the type of the expression
 * @throws as {@link bindFilter}; InvalidInputError for an expression whose type can't be cast
 */
export function bindAssigned(
  input: ExpressionInput,
  parameters: FilterParameters,
  fields: readonly TypedField[],
  wanted: (type: ValueType) => ValueType,
  label: string,
): Steps<BoundExpression> {
  return bound(input, parameters, fields, label, (binder, syntax) => binder.assigned(syntax, wanted));
}

function* bound(
  input: ExpressionInput,
  parameters: FilterParameters,
  fields: readonly TypedField[],
  label: string,
  bind: (binder: Binder, syntax: Syntax) => Steps<Bound>,
): Steps<BoundExpression> {
  const names = new Names(fields);
  const binder = new Binder({ label, text: typeof input === "string" ? input : null }, names, parameters);
  const syntax = yield* syntaxOf(input, label);
  const node = yield* bind(binder, syntax);
  return new BoundExpression(node, yield* effortOf(node), names);
}

/** A constant, with the type that SQL gives it. */
export interface SqlConstant {
  readonly type: PlainType;
  /** One value; null for NULL. */
  readonly value: Column | null;
}

/** Maximum characters of the expression of a column. */
const MAX_EXPRESSION = 2 ** 16;

/**
 * The values of a new column of a table; null for a constant, see {@link parseConstant}.
 * @param label what the caller passed it as, for messages
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
    throw new InvalidInputError(`${label}: it has more than ${MAX_EXPRESSION} characters`);
  }
  return yield* parseInSteps(text, label);
}

/**
 * The value of an expression that is the same for every row.
 * @param label what the caller passed it as, for messages
 * @throws UnsupportedError for an expression that is no constant, InvalidInputError for one without a value
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
    throw new UnsupportedError(`${label}: a constant of its type is not supported by this release`);
  }
  return { type, value: isNullConstant(bound.column) ? null : bound.column };
}

function* syntaxOf(input: ExpressionInput, label: string): Steps<Syntax> {
  if (typeof input === "string") return yield* parseInSteps(input, label);
  if (isExpression(input)) return input.syntax;
  throw new InvalidInputError(`${label}: must be a text or an expression`);
}

/** Whether an expression names a column somewhere. */
function namesColumn(root: Syntax): boolean {
  const stack: unknown[] = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (typeof node !== "object" || node === null || isUint8Array(node)) continue;
    if ("kind" in node && node.kind === "name") return true;
    for (const child of Object.values(node)) if (typeof child === "object") stack.push(child);
  }
  return false;
}
