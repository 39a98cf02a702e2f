/** Finds the conditions of an expression on single columns, which indexes answer. */

import { Pace, runSync, type Steps } from "../../async/eventLoop.js";
import { columnOfScalars, scalarOf } from "../values/scalars.js";
import { BOOL } from "../values/types.js";
import type { Bound, ColumnTest, Condition } from "./bound.js";

export const UNKNOWN_CONDITION: Condition = { kind: "unknown" };

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
    case "constant": {
      const value = scalarOf(node.column, node.type);
      return { kind: "constant", value: typeof value === "boolean" ? value : null };
    }
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

/** Parts per step. */
const PARTS = 1024;

const TRUE = columnOfScalars(BOOL, [true]);

/** Returns the test of an operand that is a column. */
export const testOf = (operand: Bound, test: ColumnTest): Condition =>
  operand.kind === "column" ? { kind: "test", column: operand, test } : UNKNOWN_CONDITION;

export const notCondition = (part: Condition): Condition =>
  part.kind === "unknown" ? part : { kind: "not", part };

export const withCondition = (node: Bound, condition: Condition): Bound =>
  node.kind === "call" && condition.kind !== "unknown" ? { ...node, condition } : node;
