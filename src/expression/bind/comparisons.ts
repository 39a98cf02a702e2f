/** Binds comparisons and chooses the type in which both sides are compared. See bind.ts for literals. */

import type { Column } from "../../arrow/columns/column.js";
import type { Steps } from "../../async/eventLoop.js";
import {
  type Bound,
  type ColumnReference,
  type Condition,
  type Constant,
  constantOf,
  isNull,
  logic,
} from "../evaluate/bound.js";
import { notCondition, testOf, withCondition } from "../evaluate/condition.js";
import { comparison } from "../kernels/compare.js";
import { not } from "../kernels/logic.js";
import type { ComparisonOperator } from "../parse/syntax.js";
import { comparedType } from "../values/commonTypes.js";
import { type Scalar, scalarOf, shownScalar } from "../values/scalars.js";
import { areSame, BOOL, typeName, type ValueType } from "../values/types.js";
import { decimalOfText, literalAs, scalarConstant, writtenDecimal } from "./constants.js";
import type { BoundNodes, Place } from "./nodes.js";

/** @param isDirect true if the comparison stands directly in the filter, or in an AND or OR of the filter */
export function* compared(
  nodes: BoundNodes,
  node: Place,
  operator: ComparisonOperator,
  left: Bound,
  right: Bound,
  isDirect: boolean,
): Steps<Bound> {
  const [castLeft, castRight] = yield* comparable(nodes, node, left, right, isDirect);
  const bound = yield* nodes.call(node, [castLeft, castRight], BOOL, comparison(operator, castLeft.type));
  if (castRight.kind === "constant")
    return withCondition(bound, comparedWith(castLeft, operator, castRight.column));
  if (castLeft.kind === "constant")
    return withCondition(bound, comparedWith(castRight, TURNED[operator], castLeft.column));
  return bound;
}

/** Operators after the sides are exchanged. */
const TURNED: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  "=": "=",
  "!=": "!=",
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};

/** @param value not null */
function comparedWith(operand: Bound, operator: ComparisonOperator, value: Column): Condition {
  if (operator === "=") return testOf(operand, { kind: "in", values: value });
  if (operator === "!=") return notCondition(testOf(operand, { kind: "in", values: value }));
  const bound = { value, isInclusive: operator.endsWith("=") };
  return operator.startsWith("<")
    ? testOf(operand, { kind: "range", lower: null, upper: bound })
    : testOf(operand, { kind: "range", lower: bound, upper: null });
}

export function* distinctness(
  nodes: BoundNodes,
  node: Place,
  left: Bound,
  right: Bound,
  isNegated: boolean,
): Steps<Bound> {
  const [castLeft, castRight] = yield* comparable(nodes, node, left, right, false);
  const test = (operand: Bound, negated: boolean): Steps<Bound> =>
    nodes.folded({ kind: "nullTest", type: BOOL, operand, isNegated: negated });
  const equal = yield* nodes.call(node, [castLeft, castRight], BOOL, comparison("=", castLeft.type));
  const areNull = [yield* test(castLeft, false), yield* test(castRight, false)];
  const areThere = [yield* test(castLeft, true), yield* test(castRight, true)];
  const bothNull = yield* nodes.folded(logic("and", areNull));
  const bothThere = yield* nodes.folded(logic("and", [...areThere, equal]));
  const same = yield* nodes.folded(logic("or", [bothNull, bothThere]));
  return isNegated ? same : yield* nodes.call(node, [same], BOOL, not);
}

function* comparable(
  nodes: BoundNodes,
  node: Place,
  left: Bound,
  right: Bound,
  isDirect: boolean,
): Steps<readonly [Bound, Bound]> {
  if (areSame(left.type, right.type)) return [left, right];
  if (left.kind === "column" && right.kind === "constant") {
    const literal = yield* literalBeside(nodes, node, right, left, isDirect);
    if (literal !== null) return [left, literal];
  }
  if (right.kind === "column" && left.kind === "constant") {
    const literal = yield* literalBeside(nodes, node, left, right, isDirect);
    if (literal !== null) return [literal, right];
  }
  const [castLeft, castRight] = [left, right].map((operand) =>
    writtenDecimal(operand, operand === left ? right : left),
  );
  const type = comparedType(castLeft.type, castRight.type);
  if (type === null) {
    throw nodes.invalid(node, `${typeName(left.type)} cannot be compared with ${typeName(right.type)}`);
  }
  return [yield* nodes.cast(castLeft, type, false, node), yield* nodes.cast(castRight, type, false, node)];
}

/** Casts a constant to the type of the column beside it. Returns null if both need another type. */
export function* literalBeside(
  nodes: BoundNodes,
  node: Place,
  literal: Constant,
  column: ColumnReference,
  isDirect: boolean,
): Steps<Constant | null> {
  const { type } = literal;
  const targetType = column.type;
  const value = scalarOf(literal.column, type);
  const isCast = literal.isCast === true;
  const isLost = isCast && targetType.kind === "float" && targetType.bits === 32 && !isFloat32(value);
  const rounds = type.kind === "float" && targetType.kind === "float" && (!isDirect || isLost);
  const coerced = rounds ? undefined : literalAs(type, value, targetType);
  if (coerced !== undefined) return scalarConstant(targetType, coerced);
  const exact = yield* exactly(nodes, literal, targetType, node);
  if (exact !== null) return exact;
  const isRefused =
    isDirect &&
    (comparedType(type, targetType) === null ||
      (type.kind === "int" && !isCast) ||
      (type.kind === "string" && targetType.kind !== "string"));
  if (isRefused) {
    if (TIMES.has(type.kind)) {
      throw nodes.invalid(node, `${typeName(targetType)} cannot be compared with ${typeName(type)}`);
    }
    const isMoment = type.kind === "string" && targetType.kind === "timestamp";
    const hint = isMoment ? `; a moment is written timestamp '${shownScalar(value)}'` : "";
    throw nodes.invalid(node, `${shownScalar(value)} is not a value of type ${typeName(targetType)}${hint}`);
  }
  return null;
}

/**
 * Casts a number or time exactly; null if the type has no such value. Beside a column of timestamps, a
 * timestamp loses digits that are finer than the column's unit.
 */
function* exactly(
  nodes: BoundNodes,
  literal: Constant,
  targetType: ValueType,
  node: Place,
): Steps<Constant | null> {
  const { type, text, column } = literal;
  const isNumber = type.kind === "float" && (targetType.kind === "int" || targetType.kind === "decimal");
  const isTime =
    TIMES.has(type.kind) && TIMES.has(targetType.kind) && comparedType(type, targetType) !== null;
  if (!isNumber && !isTime) return null;
  const decimal = isNumber && text !== undefined ? decimalOfText(text) : null;
  const source = decimal ?? constantOf(type, column);
  const value = yield* nodes.cast(source, targetType, true, node);
  if (value.kind !== "constant" || isNull(value)) return null;
  const back = yield* nodes.cast(value, source.type, true, node);
  if (back.kind !== "constant" || isNull(back)) return null;
  const isSame = scalarOf(back.column, source.type) === scalarOf(source.column, source.type);
  const isCut = type.kind === "timestamp" && targetType.kind === "timestamp";
  return isSame || isCut ? value : null;
}

const isFloat32 = (value: Scalar): boolean => Object.is(Math.fround(Number(value)), Number(value));

/** Kinds of types that have one value at several resolutions. */
const TIMES = new Set<ValueType["kind"]>(["date", "timestamp", "time", "duration"]);
