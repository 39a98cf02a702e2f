/** Types of arithmetic: those in which two operands are computed. */

import type { DecimalType, FloatType, IntegerType, TimestampType, TimeUnit } from "../../arrow/types/type.js";
import type { Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { type Bound, nullOf } from "../evaluate/bound.js";
import { floatTrait } from "../evaluate/floatBlocks.js";
import {
  arithmetic,
  concatenation,
  decimalArithmetic,
  decimalResult,
  type NumberOperator,
  negation,
  perRow,
} from "../kernels/arithmetic.js";
import type { SyntaxOf } from "../parse/syntax.js";
import { coarser, comparedType, numericType } from "../values/commonTypes.js";
import type { ValueKernel } from "../values/operands.js";
import { scalarReader } from "../values/scalars.js";
import {
  BINARY,
  DATE,
  FLOAT16,
  FLOAT32,
  FLOAT64,
  INT32,
  INT64,
  isNumeric,
  type NumericType,
  STRING,
  timestamp,
  typeName,
  type ValueType,
} from "../values/types.js";
import { literalBeside } from "./comparisons.js";
import type { BoundNodes, Place } from "./nodes.js";

/**
 * Binds arithmetic on two operands. Days, instants and durations have sums and differences; numbers have
 * every operator.
 * @param isDirect true if it is the whole expression: a literal beside a column then takes the column's type
 */
export function* computed(
  nodes: BoundNodes,
  node: SyntaxOf<"arithmetic">,
  operandPair: readonly [Bound, Bound],
  isDirect: boolean,
): Steps<Bound> {
  const { operator } = node;
  const [left, right] = isDirect ? yield* withLiteral(nodes, node, operandPair) : operandPair;
  if (operator === "||") {
    const kinds = [left.type.kind, right.type.kind];
    if (kinds.includes("list") && !kinds.includes("string")) throw noArithmetic(nodes, node, left, right);
    if (kinds.every((kind) => kind === "binary" || kind === "fixedSizeBinary")) {
      const isLarge = [left, right].some(({ type }) => type.kind === "binary" && type.large);
      const both = yield* nodes.castAll([left, right], BINARY, node);
      const call = yield* nodes.call(node, both, BINARY, concatenation);
      return isLarge ? yield* nodes.cast(call, { kind: "binary", large: true }, false, node) : call;
    }
    const operands = yield* nodes.castAll([left, right], STRING, node);
    return yield* nodes.call(node, operands, STRING, concatenation);
  }
  if (left.type.kind === "null" || right.type.kind === "null") {
    const typed = left.type.kind === "null" ? right.type : left.type;
    if (typed.kind !== "null" && !isNumeric(typed)) throw noArithmetic(nodes, node, left, right);
    return nullOf(typed.kind === "null" ? INT64 : typed);
  }
  if (operator === "+" || operator === "-") {
    const ofTimes = yield* timeArithmetic(nodes, node, operator, left, right);
    if (ofTimes !== null) return ofTimes;
  }
  if (!isNumeric(left.type) || !isNumeric(right.type)) throw noArithmetic(nodes, node, left, right);
  const isShift = operator === "<<" || operator === ">>";
  if ((left.type.kind === "decimal" || right.type.kind === "decimal") && !isShift) {
    const hasFloat = left.type.kind === "float" || right.type.kind === "float";
    if (!hasFloat) return yield* decimals(nodes, node, operator, left, right);
  }
  const common = numericType(left.type, right.type);
  if (common.kind === "decimal" && left.type.kind === "int" && right.type.kind === "int") {
    // Both sides are cast to the wider type, whose digits count in the result.
    const [castLeft, castRight] = yield* nodes.castAll([left, right], common, node);
    return yield* decimals(nodes, node, operator, castLeft, castRight);
  }
  const type = computedType(left.type, right.type, common);
  if (type.kind === "float" && isShift) throw noArithmetic(nodes, node, left, right);
  const operands = yield* nodes.castAll([left, right], type, node);
  const kernel = arithmetic(operator, type);
  return yield* nodes.call(node, operands, type, kernel, true, floatTraits(operator, type, operands));
}

/** Returns the trait of operators that are computed in blocks. */
const floatTraits = (operator: NumberOperator, type: ValueType, operands: readonly Bound[]) =>
  type.kind === "float" &&
  type.bits === 64 &&
  (operator === "+" || operator === "-" || operator === "*" || operator === "/")
    ? floatTrait(operator, operands)
    : {};

/** Returns the type of the result. Floats of 16 and 32 bits keep their type, also beside decimals. */
function computedType(left: NumericType, right: NumericType, common: NumericType): IntegerType | FloatType {
  const bits = (type: NumericType) => (type.kind === "float" ? type.bits : 0);
  const most = Math.max(bits(left), bits(right));
  const hasDecimal = left.kind === "decimal" || right.kind === "decimal";
  if (most === 32 || (most === 16 && !hasDecimal)) return most === 32 ? FLOAT32 : FLOAT16;
  return common.kind === "decimal" ? FLOAT64 : common;
}

/** Gives a literal the type of the column beside it. */
function* withLiteral(
  nodes: BoundNodes,
  node: SyntaxOf<"arithmetic">,
  [left, right]: readonly [Bound, Bound],
): Steps<readonly [Bound, Bound]> {
  const fits = (literal: Bound, column: Bound) =>
    isNumeric(column.type) && (literal.type.kind === "int" || column.type.kind === "float");
  if (left.kind === "column" && right.kind === "constant" && fits(right, left)) {
    return [left, (yield* literalBeside(nodes, node, right, left, true)) ?? right];
  }
  if (right.kind === "column" && left.kind === "constant" && fits(left, right)) {
    return [(yield* literalBeside(nodes, node, left, right, true)) ?? left, right];
  }
  return [left, right];
}

/** Binds `-a`. Unsigned integers become signed. */
export function* negated(nodes: BoundNodes, node: Place, operand: Bound): Steps<Bound> {
  if (operand.type.kind === "null") return operand;
  if (!isNumeric(operand.type)) throw nodes.invalid(node, `${typeName(operand.type)} cannot be negated`);
  const type = operand.type.kind === "int" && !operand.type.signed ? INT64 : operand.type;
  return yield* nodes.call(node, [yield* nodes.cast(operand, type, false, node)], type, negation(type));
}

function* decimals(
  nodes: BoundNodes,
  node: SyntaxOf<"arithmetic">,
  operator: NumberOperator,
  left: Bound,
  right: Bound,
): Steps<Bound> {
  const operands = [yield* decimal(nodes, left, node), yield* decimal(nodes, right, node)];
  const [leftType, rightType] = operands.map((operand) => operand.type as DecimalType);
  const type = decimalResult(operator, leftType, rightType);
  return yield* nodes.call(node, operands, type, decimalArithmetic(operator, leftType, rightType, type));
}

function* decimal(nodes: BoundNodes, operand: Bound, node: Place): Steps<Bound> {
  if (operand.type.kind !== "int") return operand;
  const precision = ({ 8: 3, 16: 5, 32: 10, 64: 20 } as const)[operand.type.bits];
  return yield* nodes.cast(operand, { kind: "decimal", bits: 128, precision, scale: 0 }, false, node);
}

function noArithmetic(
  nodes: BoundNodes,
  node: SyntaxOf<"arithmetic">,
  left: Bound,
  right: Bound,
): InvalidInputError {
  return nodes.invalid(node, `there is no ${typeName(left.type)} ${node.operator} ${typeName(right.type)}`);
}

/**
 * Binds sums and differences of days, instants and durations; null for other operands. Digits that are finer
 * than the unit of the result are cut off first. A result that its type has no room for is an error.
 */
function* timeArithmetic(
  nodes: BoundNodes,
  node: Place,
  operator: "+" | "-",
  left: Bound,
  right: Bound,
): Steps<Bound | null> {
  const [leftType, rightType] = [left.type, right.type];
  if (leftType.kind === "timestamp" && rightType.kind === "duration") {
    return yield* shifted(nodes, node, operator, left, leftType, right);
  }
  if (operator === "+" && leftType.kind === "duration" && rightType.kind === "timestamp") {
    return yield* shifted(nodes, node, "+", right, rightType, left);
  }
  if (leftType.kind === "duration" && rightType.kind === "duration") {
    const type = comparedType(leftType, rightType) ?? leftType;
    const operands = yield* nodes.castAll([left, right], type, node);
    return yield* nodes.call(node, operands, type, ticks(operator, type));
  }
  return operator === "-" ? yield* difference(nodes, node, left, right) : null;
}

/** Moves an instant by a duration. */
function* shifted(
  nodes: BoundNodes,
  node: Place,
  operator: "+" | "-",
  instant: Bound,
  type: TimestampType,
  by: Bound,
): Steps<Bound> {
  const duration = yield* nodes.cast(by, { kind: "duration", unit: type.unit }, false, node);
  return yield* nodes.call(node, [instant, duration], type, ticks(operator, type));
}

/** Returns the days between two days, or the time between two instants. A day counts as its first instant. */
function* difference(nodes: BoundNodes, node: Place, left: Bound, right: Bound): Steps<Bound | null> {
  const [leftType, rightType] = [left.type, right.type];
  if (leftType.kind === "date" && rightType.kind === "date") {
    let days = yield* nodes.castAll([left, right], DATE, node);
    days = yield* nodes.castAll(days, INT32, node);
    days = yield* nodes.castAll(days, INT64, node);
    return yield* nodes.call(node, days, INT64, arithmetic("-", INT64));
  }
  const [unit, otherUnit] = [unitOf(leftType), unitOf(rightType)];
  if (unit === null || otherUnit === null) return null;
  const hasDay = leftType.kind === "date" || rightType.kind === "date";
  const common = timestamp(hasDay ? "ns" : coarser(unit, otherUnit), zoneOf(leftType) ?? zoneOf(rightType));
  const times = yield* nodes.castAll([left, right], common, node);
  const type: ValueType = { kind: "duration", unit: common.unit };
  return yield* nodes.call(node, times, type, ticks("-", type));
}

const unitOf = (type: ValueType): TimeUnit | null =>
  type.kind === "timestamp" ? type.unit : type.kind === "date" ? "ns" : null;

const zoneOf = (type: ValueType): string | null => (type.kind === "timestamp" ? type.timezone : null);

function ticks(operator: "+" | "-", type: ValueType): ValueKernel {
  return ([left, right], length, valid) => {
    const a = scalarReader(left, INT64);
    const b = scalarReader(right, INT64);
    return perRow(type, length, valid, (row) => {
      const [x, y] = [a(row) as bigint, b(row) as bigint];
      const result = operator === "+" ? x + y : x - y;
      if (result !== BigInt.asIntN(64, result)) {
        throw new InvalidInputError(`a result is too large for ${typeName(type)}`);
      }
      return result;
    });
  };
}
