/**
 * Sums and differences of days, instants and durations. Digits that are finer than the unit of the result are
 * cut off first. A result that its type has no room for is an error.
 */

import type { TimestampType, TimeUnit } from "../../arrow/types/type.js";
import type { Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import type { Bound } from "../evaluate/bound.js";
import { arithmetic, perRow } from "../kernels/arithmetic.js";
import { coarser, comparedType } from "../values/commonTypes.js";
import type { ValueKernel } from "../values/operands.js";
import { scalarReader } from "../values/scalars.js";
import { DATE, INT32, INT64, timestamp, typeName, type ValueType } from "../values/types.js";
import type { BoundNodes, Place } from "./nodes.js";

/** Null where an operand is no time, or the two have no sum or difference. */
export function* timeArithmetic(
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
