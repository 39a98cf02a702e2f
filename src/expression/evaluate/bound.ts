/** Expressions whose names and types are known: what evaluation runs. */

import type { Column } from "../../arrow/columns/column.js";
import type { ValueKernel } from "../values/operands.js";
import { isNullConstant, nullsOf } from "../values/scalars.js";
import { BOOL, type ValueType } from "../values/types.js";
import type { Condition } from "./condition.js";

export interface Constant {
  readonly kind: "constant";
  readonly type: ValueType;
  /** One value. */
  readonly column: Column;
  /** The digits of a number that was written as such, so that a decimal made of it is exact. */
  readonly text?: string;
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
  /** Of a boolean call that says something about a column: what. */
  readonly condition?: Condition;
}

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

/** Number of steps that an expression takes per batch. */
export function stepsOf(root: Bound): number {
  let steps = 0;
  const stack: Bound[] = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    steps++;
    if (node.kind === "call" || node.kind === "and" || node.kind === "or") {
      for (const operand of node.operands) stack.push(operand);
    } else if (node.kind === "nullTest") {
      stack.push(node.operand);
    } else if (node.kind === "case") {
      for (const { when, result } of node.branches) stack.push(when, result);
      stack.push(node.otherwise);
    }
  }
  return steps;
}
