/**
 * Finds the conditions of an expression on single columns. An index that finds such rows saves computing the
 * expression for every row.
 */

import type { Column } from "../../arrow/columns/column.js";
import { isValid } from "../../arrow/columns/validity.js";
import { Pace, runSync, type Steps } from "../../async/eventLoop.js";
import { piecesOf } from "../kernels/like.js";
import { columnOfScalars } from "../values/scalars.js";
import type { Bound, BoundLogic, ColumnTest, Condition } from "./bound.js";

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

export const withCondition = (node: Bound, condition: Condition): Bound =>
  node.kind === "call" && condition.kind !== "unknown" ? { ...node, condition } : node;

/**
 * Returns the condition of LIKE with a constant pattern.
 * @param escaping a character that makes the wildcard after it literal
 */
export function likeCondition(operand: Bound, pattern: string, escaping: string): Condition {
  if (operand.kind !== "column") return UNKNOWN_CONDITION;
  const pieces = piecesOf(pattern, escaping);
  const [first, second, third] = pieces;
  if (pieces.length === 0 || (pieces.length === 1 && first.kind === "text")) {
    const text = first?.kind === "text" ? first.text : "";
    return testOf(operand, { kind: "in", values: columnOfScalars(operand.type, [text]) });
  }
  if (pieces.length === 2 && first.kind === "text" && second.kind === "any") {
    return testOf(operand, { kind: "startsWith", prefix: first.text });
  }
  if (pieces.length === 3 && first.kind === "any" && second.kind === "text" && third.kind === "any") {
    return testOf(operand, { kind: "contains", text: second.text });
  }
  const tests: ColumnTest[] = [];
  for (const [index, piece] of pieces.entries()) {
    if (piece.kind !== "text") continue;
    tests.push(
      index === 0 ? { kind: "startsWith", prefix: piece.text } : { kind: "contains", text: piece.text },
    );
  }
  if (tests.length === 0) return UNKNOWN_CONDITION;
  const parts = tests.map((test) => testOf(operand, test));
  return { kind: "within", part: parts.length === 1 ? parts[0] : { kind: "and", parts } };
}
