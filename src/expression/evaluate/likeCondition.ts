/** Finds the condition of LIKE, which indexes answer. */

import { piecesOf, solePart } from "../kernels/like.js";
import { columnOfScalars } from "../values/scalars.js";
import type { Bound, ColumnTest, Condition } from "./bound.js";
import { testOf, UNKNOWN_CONDITION } from "./condition.js";

/** Returns the condition of LIKE with a constant pattern. @param escaping as for `likeKernel` */
export function likeCondition(operand: Bound, pattern: string, escaping: string): Condition {
  if (operand.kind !== "column") return UNKNOWN_CONDITION;
  const pieces = piecesOf(pattern, escaping);
  const part = solePart(pieces);
  switch (part?.where) {
    case "whole":
      return testOf(operand, { kind: "in", values: columnOfScalars(operand.type, [part.text]) });
    case "start":
      return testOf(operand, { kind: "startsWith", prefix: part.text });
    case "any":
      return testOf(operand, { kind: "contains", text: part.text });
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
