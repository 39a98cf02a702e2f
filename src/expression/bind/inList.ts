/** Binds IN. Lists of constants are looked up in a table; other lists are compared item by item. */

import type { Column } from "../../arrow/columns/column.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { isValid } from "../../arrow/columns/validity.js";
import type { IntegerType } from "../../arrow/types/type.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { type Bound, type Condition, isNull, logic, nullOf } from "../evaluate/bound.js";
import {
  conditionOf,
  notCondition,
  testOf,
  UNKNOWN_CONDITION,
  withCondition,
} from "../evaluate/condition.js";
import { comparison } from "../kernels/compare.js";
import { not } from "../kernels/logic.js";
import { membership } from "../kernels/membership.js";
import type { Syntax, SyntaxOf } from "../parse/syntax.js";
import { unitedType } from "../values/commonTypes.js";
import { columnInSteps, type Scalar } from "../values/scalars.js";
import { BOOL, INT64, typeName, type ValueType } from "../values/types.js";
import { literalBeside } from "./comparisons.js";
import { literalAs } from "./constants.js";
import type { BoundNodes } from "./nodes.js";

/** From this number of items on, a list may be long. */
const FEW_ITEMS = 4;
/** Number of literals per step: each takes some ten nanoseconds. */
const LITERALS = 4096;

/**
 * @param operand the bound operand of IN
 * @param bindItems binds the items
 */
export function* listed(
  nodes: BoundNodes,
  node: SyntaxOf<"in">,
  operand: Bound,
  bindItems: () => Steps<Bound[]>,
  isDirect: boolean,
): Steps<Bound> {
  const quick = yield* literalList(nodes, node, operand, isDirect);
  if (quick !== null) return quick;
  const pace = new Pace();
  let items = yield* bindItems();
  let subject = operand;
  if (operand.kind === "column" && operand.isTop) {
    for (const [index, item] of items.entries()) {
      if (pace.isStep()) yield;
      if (item.kind === "constant") {
        items[index] = (yield* literalBeside(nodes, node, item, operand, isDirect)) ?? item;
      }
    }
  }
  const type = unitedType([subject.type, ...items.map((item) => item.type)]);
  if (type === null) throw nodes.invalid(node, `the values are not of type ${typeName(subject.type)}`);
  if (type.kind === "null") return nullOf(BOOL);
  subject = yield* nodes.cast(subject, type, false, node);
  items = yield* nodes.castAll(items, type, node);
  // If all items are null, it is unknown whether any value is among them.
  if (items.every(isNull)) return nullOf(BOOL);
  // There is no lookup table for lists and structs.
  const isNested = type.kind === "list" || type.kind === "struct";
  const values = isNested ? null : yield* nodes.constantsOf(items, type);
  if (values !== null) {
    return yield* member(nodes, node, subject, values);
  }
  const equal: Bound[] = [];
  for (const item of items) {
    if (pace.isStep()) yield;
    equal.push(yield* nodes.call(node, [subject, item], BOOL, comparison("=", type)));
  }
  const any = yield* nodes.folded(logic("or", equal));
  return node.isNegated
    ? withCondition(yield* nodes.call(node, [any], BOOL, not), notCondition(conditionOf(any)))
    : any;
}

function* member(
  nodes: BoundNodes,
  node: SyntaxOf<"in">,
  subject: Bound,
  values: readonly Scalar[],
): Steps<Bound> {
  const { type } = subject;
  const hasNull = values.includes(null);
  const items = yield* columnInSteps(type, values);
  if (values.length > LITERALS) yield;
  const kernel = yield* membership(items, type, hasNull, node.isNegated);
  if (values.length > LITERALS) yield;
  const bound = yield* nodes.call(node, [subject], BOOL, kernel);
  return withCondition(bound, memberCondition(subject, items, hasNull, node.isNegated));
}

function memberCondition(subject: Bound, items: Column, hasNull: boolean, isNegated: boolean): Condition {
  if (!hasNull) {
    const condition = testOf(subject, { kind: "in", values: items });
    return isNegated ? notCondition(condition) : condition;
  }
  // If an item is null, a value that is not in the list gives null.
  const presentRows = Uint32Array.from({ length: items.length }, (_, row) => row).filter((row) =>
    isValid(items.validity, row),
  );
  if (isNegated || presentRows.length === 0) return UNKNOWN_CONDITION;
  const test = testOf(subject, { kind: "in", values: takeColumn(items, presentRows) });
  return test.kind === "unknown" ? test : { kind: "only", part: test };
}

/** Binds a list that has only literals, all of them values of a column. This is quick for long lists. */
export function* literalList(
  nodes: BoundNodes,
  node: SyntaxOf<"in">,
  operand: Bound,
  isDirect: boolean,
): Steps<Bound | null> {
  if (operand.kind !== "column" || node.items.length < FEW_ITEMS) return null;
  const { type } = operand;
  const isRounded = isDirect && operand.isTop;
  const values = new Array<Scalar>(node.items.length);
  const pace = new Pace(LITERALS);
  for (let index = 0; index < values.length; index++) {
    if (pace.isStep()) yield;
    const item = node.items[index];
    const value = literalValue(item, type, isRounded);
    if (value === undefined) {
      if (isRounded && type.kind === "int" && item.kind === "number" && item.isWhole) {
        throw nodes.invalid(item, `${item.text} is not a value of type ${typeName(type)}`);
      }
      return null;
    }
    values[index] = value;
  }
  return yield* member(nodes, node, operand, values);
}

/** Returns a literal in the type of a column; undefined if the cast needs a step or fails. */
function literalValue(item: Syntax, type: ValueType, isRounded: boolean): Scalar | undefined {
  const value =
    item.kind === "number" || item.kind === "text" || item.kind === "value" ? item.value : undefined;
  if (type.kind === "string") return item.kind !== "number" && typeof value === "string" ? value : undefined;
  if (type.kind !== "int" && type.kind !== "float") return undefined;
  if (typeof value !== "number" && typeof value !== "bigint") return undefined;
  const isWhole =
    item.kind === "number"
      ? item.isWhole
      : typeof value === "bigint" || (Number.isSafeInteger(value) && !Object.is(value, -0));
  if (type.kind === "float") return isWhole || isRounded || type.bits === 64 ? Number(value) : undefined;
  if (!isWhole) return undefined;
  return typeof value === "number" && isSafely(value, type) ? value : literalAs(INT64, value, type);
}

/** True if an integer type has this number for sure. */
const isSafely = (value: number, { bits, signed }: IntegerType): boolean =>
  bits === 64
    ? signed || value >= 0
    : value >= (signed ? -(2 ** (bits - 1)) : 0) && value < 2 ** (signed ? bits - 1 : bits);
