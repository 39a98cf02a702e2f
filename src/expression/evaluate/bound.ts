/** Bound expressions, whose columns and types are resolved. Evaluation runs them. */

import type { Column } from "../../arrow/columns/column.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import type { ValueKernel } from "../values/operands.js";
import { isNullConstant, nullsOf } from "../values/scalars.js";
import { BOOL, UNSIZED, type ValueType } from "../values/types.js";

export interface Constant {
  readonly kind: "constant";
  readonly type: ValueType;
  /** One value. */
  readonly column: Column;
  /** The digits of a number in the text, from which a decimal is exact. */
  readonly text?: string;
  /** True if the SQL text casts the constant: a column beside it then does not change its type. */
  readonly isCast?: boolean;
}

export interface ColumnReference {
  readonly kind: "column";
  readonly type: ValueType;
  /** Index among the columns that the expression needs. */
  readonly index: number;
  /** True for a column of the table, false for a member of one. */
  readonly isTop: boolean;
}

/** Operator of float arithmetic, or the cast of a column of numbers to floats of 64 bits. */
export type FloatOperator = "+" | "-" | "*" | "/" | "cast";

export interface BoundCall {
  readonly kind: "call";
  readonly type: ValueType;
  readonly operands: readonly Bound[];
  readonly kernel: ValueKernel;
  /** True if null operands give a null result. A constant operand is then never null. */
  readonly isStrict: boolean;
  readonly isVolatile?: boolean;
  /** True if the call returns its first operand that is not null, and computes the others only if needed. */
  readonly takesFirst?: boolean;
  /** Operator of floats of 64 bits, if all operands are constants, columns or such calls. */
  readonly floats?: FloatOperator;
  /** A quicker kernel, null in the same rows. As a condition, the call is true in the other rows. */
  readonly nullKernel?: ValueKernel;
  /** The condition of a boolean call, if it says something about a column. */
  readonly condition?: Condition;
}

/**
 * A test of the values of a column, null for a null. `values` has the type of the column or, for `hasAny` and
 * `hasAll`, of its items. It has at least one value and no nulls. Floats compare as in kernels/compare: both
 * zeros are equal, and NaN comes after all numbers.
 */
export type ColumnTest =
  | { readonly kind: "in"; readonly values: Column }
  /** True if the value lies between bounds. Null: no bound. */
  | { readonly kind: "range"; readonly lower: RangeBound | null; readonly upper: RangeBound | null }
  | { readonly kind: "startsWith"; readonly prefix: string }
  | { readonly kind: "contains"; readonly text: string }
  | { readonly kind: "hasAny" | "hasAll"; readonly values: Column };

export interface RangeBound {
  /** One value. */
  readonly value: Column;
  readonly isInclusive: boolean;
}

/** The rows in which an expression is true, false or null. */
export type Condition =
  | { readonly kind: "and" | "or"; readonly parts: readonly Condition[] }
  | { readonly kind: "not"; readonly part: Condition }
  /** True in the rows in which the part is true. The other rows may be false or null. */
  | { readonly kind: "only"; readonly part: Condition }
  /** True in some of the rows in which the part is true. The other rows may be false or null. */
  | { readonly kind: "within"; readonly part: Condition }
  | { readonly kind: "test"; readonly column: ColumnReference; readonly test: ColumnTest }
  | { readonly kind: "isNull"; readonly column: ColumnReference }
  | { readonly kind: "constant"; readonly value: boolean | null }
  | { readonly kind: "unknown" };

export interface BoundLogic {
  readonly kind: "and" | "or";
  readonly type: ValueType;
  readonly operands: readonly Bound[];
}

export interface NullTest {
  readonly kind: "nullTest";
  readonly type: ValueType;
  readonly operand: Bound;
  readonly isNegated: boolean;
}

export interface BoundCase {
  readonly kind: "case";
  readonly type: ValueType;
  readonly branches: readonly { readonly when: Bound; readonly result: Bound }[];
  readonly otherwise: Bound;
}

export type Bound = Constant | ColumnReference | BoundCall | BoundLogic | NullTest | BoundCase;

export const constantOf = (type: ValueType, column: Column): Constant => ({ kind: "constant", type, column });

export const nullOf = (type: ValueType): Constant => constantOf(type, nullsOf(type, 1));

export const isNull = (node: Bound): boolean => node.kind === "constant" && isNullConstant(node.column);

export const logic = (kind: "and" | "or", operands: readonly Bound[]): BoundLogic => ({
  kind,
  type: BOOL,
  operands,
});

/** The work per row. */
export interface Effort {
  readonly size: number;
  /** Maximum number of operands of a call whose results vary in size, such as texts or lists. */
  readonly widest: number;
  /** True if the expression only compares numbers with constants and tests them for null. */
  readonly isQuick: boolean;
}

export function* effortOf(root: Bound): Steps<Effort> {
  const pace = new Pace(PARTS);
  let size = 0;
  let widest = 0;
  let isQuick = true;
  const stack: Bound[] = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    size++;
    if (pace.isStep()) yield;
    if (node.kind === "call" || node.kind === "and" || node.kind === "or") {
      for (const operand of node.operands) stack.push(operand);
      if (node.kind === "call" && UNSIZED.has(node.type.kind))
        widest = Math.max(widest, node.operands.length);
      if (node.kind === "call" && !isNumberInRange(node)) isQuick = false;
    } else if (node.kind === "nullTest") {
      stack.push(node.operand);
      if (node.operand.type.kind !== "int" && node.operand.type.kind !== "float") isQuick = false;
    } else if (node.kind === "case") {
      for (const { when, result } of node.branches) stack.push(when, result);
      stack.push(node.otherwise);
      isQuick = false;
    }
  }
  return { size, widest, isQuick };
}

/** True if a call compares the numbers of a column with constants. */
const isNumberInRange = ({ operands, condition }: BoundCall): boolean =>
  condition?.kind === "test" &&
  (condition.test.kind === "range" || (condition.test.kind === "in" && condition.test.values.length === 1)) &&
  (condition.column.type.kind === "int" || condition.column.type.kind === "float") &&
  operands.every((operand) => operand === condition.column || operand.kind === "constant");

/** Parts per step. */
const PARTS = 1024;
