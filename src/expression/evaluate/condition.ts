/**
 * Finds the conditions of an expression on single columns. An index that finds such rows saves computing the
 * expression for every row.
 */

import type { Column } from "../../arrow/columns/column.js";
import { isValid } from "../../arrow/columns/validity.js";
import { Pace, runSync, type Steps } from "../../async/eventLoop.js";
import type { Bound, BoundLogic, ColumnTest, Condition } from "./bound.js";

export const UNKNOWN_CONDITION: Condition = { kind: "unknown" };

/** Returns the condition of a boolean expression. */
export const conditionOf = (node: Bound): Condition => runSync(conditionInSteps(node));

/** Returns the condition in steps, for expressions of many parts. */
export function* conditionInSteps(node: Bound, pace = new Pace(PARTS)): Steps<Condition> {
  switch (node.kind) {
    case "and":
    case "or": {
      const parts: Condition[] = [];
      for (const operand of node.operands) {
        if (pace.isStep()) yield;
        parts.push(yield* conditionInSteps(operand, pace));
      }
      return { kind: node.kind, parts };
    }
    default:
      return partCondition(node);
  }
}

/** Parts per step. */
const PARTS = 1024;

function partCondition(node: Exclude<Bound, BoundLogic>): Condition {
  switch (node.kind) {
    case "constant":
      return { kind: "constant", value: truthOfConstant(node.column) };
    case "column":
      return testOf(node, { kind: "in", values: TRUE });
    case "call":
      return node.condition ?? UNKNOWN_CONDITION;
    case "nullTest": {
      if (node.operand.kind !== "column") return UNKNOWN_CONDITION;
      const isNull: Condition = { kind: "isNull", column: node.operand };
      return node.isNegated ? { kind: "not", part: isNull } : isNull;
    }
    case "case":
      return UNKNOWN_CONDITION;
  }
}

const TRUE: Column = { kind: "bits", length: 1, validity: null, bits: Uint8Array.of(1), bitOffset: 0 };

function truthOfConstant(column: Column): boolean | null {
  if (column.kind !== "bits" || !isValid(column.validity, 0)) return null;
  return isValid({ bytes: column.bits, bitOffset: column.bitOffset, nullCount: 1 }, 0);
}

/** Returns the test of an operand that is a column. */
export const testOf = (operand: Bound, test: ColumnTest): Condition =>
  operand.kind === "column" ? { kind: "test", column: operand, test } : UNKNOWN_CONDITION;

export const notCondition = (part: Condition): Condition =>
  part.kind === "unknown" ? part : { kind: "not", part };

/** Returns a call with its condition. */
export const withCondition = (node: Bound, condition: Condition): Bound =>
  node.kind === "call" && condition.kind !== "unknown" ? { ...node, condition } : node;
