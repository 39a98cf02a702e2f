/** Expressions whose names and types are known: what evaluation runs. */

import type { Column } from "../../arrow/columns/column.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import type { ValueKernel } from "../values/operands.js";
import { isNullConstant, nullsOf } from "../values/scalars.js";
import { BOOL, type ValueType } from "../values/types.js";

export interface Constant {
  readonly kind: "constant";
  readonly type: ValueType;
  /** One value. */
  readonly column: Column;
  /** The digits of a number that was written as such, so that a decimal made of it is exact. */
  readonly text?: string;
  /** Whether it was cast to its type by name: a column beside it does not change its value. */
  readonly isCast?: boolean;
}

export interface ColumnReference {
  readonly kind: "column";
  readonly type: ValueType;
  /** Place among the columns that the expression needs. */
  readonly index: number;
  /** Whether it is a column of the table, not a member of one. */
  readonly isTop: boolean;
}

export interface BoundCall {
  readonly kind: "call";
  readonly type: ValueType;
  readonly operands: readonly Bound[];
  readonly kernel: ValueKernel;
  /** Whether null operands make a null result. Operands that are constants are then never null. */
  readonly isStrict: boolean;
  readonly isVolatile?: boolean;
  /**
   * Whether it takes the first operand that is not null: the others are not computed for a row, and can't
   * fail on it.
   */
  readonly takesFirst?: boolean;
  /**
   * A quicker kernel whose result is null in the same rows. Conditions may be such calls, and hold where they
   * are not null.
   */
  readonly nullKernel?: ValueKernel;
  /** Of a boolean call that says something about a column: what. */
  readonly condition?: Condition;
}

/**
 * A test of the values of a column; it is null for those that are null. Values are columns of the type of the
 * column, or of its items for `hasAny` and `hasAll`. They hold at least one value and no nulls. Floats are
 * compared as in kernels/compare: both zeros are equal, and NaN comes after all numbers.
 */
export type ColumnTest =
  /** The value is one of some. */
  | { readonly kind: "in"; readonly values: Column }
  /** The value lies between bounds; null for no bound. */
  | { readonly kind: "range"; readonly lower: RangeBound | null; readonly upper: RangeBound | null }
  | { readonly kind: "startsWith"; readonly prefix: string }
  | { readonly kind: "contains"; readonly text: string }
  /** A list has any, or all, of some items. */
  | { readonly kind: "hasAny" | "hasAll"; readonly values: Column };

export interface RangeBound {
  /** One value. */
  readonly value: Column;
  readonly isInclusive: boolean;
}

/** When a condition is true, false and null. */
export type Condition =
  | { readonly kind: "and" | "or"; readonly parts: readonly Condition[] }
  | { readonly kind: "not"; readonly part: Condition }
  /**
   * True for the rows for which the part is true. Which of the others are false, and which null, is not
   * known.
   */
  | { readonly kind: "only"; readonly part: Condition }
  /** As `only`, but not for all of those rows. */
  | { readonly kind: "within"; readonly part: Condition }
  | { readonly kind: "test"; readonly column: ColumnReference; readonly test: ColumnTest }
  | { readonly kind: "isNull"; readonly column: ColumnReference }
  | { readonly kind: "constant"; readonly value: boolean | null }
  /** Known only once it is computed. */
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

/** How much is computed for each row. */
export interface Effort {
  /** Number of the parts of an expression. */
  readonly size: number;
  /** Most operands of one of its calls whose values are of no fixed size: texts, lists. */
  readonly widest: number;
  /** Whether nothing is computed but comparisons of numbers with constants, and whether they are null. */
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

/** Whether a call compares the numbers of a column with constants. */
const isNumberInRange = ({ operands, condition }: BoundCall): boolean =>
  condition?.kind === "test" &&
  (condition.test.kind === "range" || (condition.test.kind === "in" && condition.test.values.length === 1)) &&
  (condition.column.type.kind === "int" || condition.column.type.kind === "float") &&
  operands.every((operand) => operand === condition.column || operand.kind === "constant");

/** Parts from one step to the next. */
const PARTS = 1024;
const UNSIZED: ReadonlySet<ValueType["kind"]> = new Set(["string", "binary", "list", "struct"]);
