/** Conditions of LIKE with a constant pattern on a column of texts. */

import type { Bound, ColumnTest, Condition } from "../evaluate/bound.js";
import { testOf, UNKNOWN_CONDITION } from "../evaluate/condition.js";
import { piecesOf } from "../kernels/like.js";
import { columnOfScalars } from "../values/scalars.js";

/** @param escaping a character that makes the wildcard after it literal */
export function likeCondition(operand: Bound, pattern: string, escaping: string): Condition {
  if (operand.kind !== "column") return UNKNOWN_CONDITION;
  const pieces = piecesOf(pattern, escaping);
  const [first, second, third] = pieces;
  if (pieces.length === 0)
    return testOf(operand, { kind: "in", values: columnOfScalars(operand.type, [""]) });
  if (pieces.length === 1 && first.kind === "text") {
    return testOf(operand, { kind: "in", values: columnOfScalars(operand.type, [first.text]) });
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
