/** Binds calls of functions. */

import type { Column } from "../../arrow/columns/column.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { type Bound, type Constant, constantOf, nullOf } from "../evaluate/bound.js";
import { testOf, withCondition } from "../evaluate/condition.js";
import type { FunctionDefinition } from "../functions/form.js";
import { sqlFunction } from "../functions/functionTable.js";
import { arrayElement } from "../functions/lists.js";
import { member } from "../functions/structs.js";
import { coalesce, extreme, listKernel, nullIf } from "../kernels/choice.js";
import type { SyntaxOf } from "../parse/syntax.js";
import { unitedType } from "../values/commonTypes.js";
import { byteLane, type ValueKernel } from "../values/operands.js";
import { columnInSteps, isNullConstant, type Scalar, scalarOf, textOfBytes } from "../values/scalars.js";
import { BOOL, listTypeOf, NULL, STRING, timestamp, type ValueType } from "../values/types.js";
import { scalarConstant } from "./constants.js";
import type { BoundNodes, Place } from "./nodes.js";
import { arrowNameOf, arrowTypeNamed } from "./typeNames.js";

/** Maximum number of operands, and of items of a list that are not constants. A step computes them. */
const MAX_OPERANDS = 1024;
/** Functions whose operands may be the constant items of a long list. */
const LIST_MAKERS: ReadonlySet<string> = new Set(["make_array", "make_list"]);

/** @throws InvalidInputError for too many operands, before they are bound */
export function checkOperandCount(nodes: BoundNodes, node: SyntaxOf<"call">): void {
  if (node.operands.length > MAX_OPERANDS && !LIST_MAKERS.has(node.name)) {
    throw nodes.invalid(node, `${node.name}: it has more than ${MAX_OPERANDS} operands`);
  }
}

export function* called(nodes: BoundNodes, node: SyntaxOf<"call">, operands: readonly Bound[]): Steps<Bound> {
  const { name } = node;
  switch (name) {
    case "coalesce":
    case "nvl":
    case "ifnull":
      return yield* chosen(nodes, node, operands, 1, coalesce);
    case "greatest":
      return yield* chosen(nodes, node, operands, 1, (type) => extreme(type, 1));
    case "least":
      return yield* chosen(nodes, node, operands, 1, (type) => extreme(type, -1));
    case "nullif":
      return yield* chosen(nodes, node, operands, 2, nullIf, 2);
    case "nvl2": {
      if (operands.length !== 3) throw nodes.invalid(node, "nvl2: expected 3 operands");
      const type = unitedType(operands.slice(1).map((operand) => operand.type));
      if (type === null) throw nodes.invalid(node, "nvl2: the operands have no common type");
      const when: Bound = { kind: "nullTest", type: BOOL, operand: operands[0], isNegated: true };
      const [result, otherwise] = yield* nodes.castAll(operands.slice(1), type, node);
      return yield* nodes.folded({ kind: "case", type, branches: [{ when, result }], otherwise });
    }
    case "is_valid": {
      if (operands.length !== 1) throw nodes.invalid(node, "is_valid: expected 1 operand");
      return yield* nodes.nullTest(operands[0], true);
    }
    case "arrow_cast":
    case "arrow_try_cast": {
      const [operand, name] = operands;
      if (operands.length !== 2 || name.kind !== "constant" || name.type.kind !== "string") {
        throw nodes.invalid(node, `${node.name}: expected an operand and the name of a type as a constant`);
      }
      const text = scalarOf(name.column, name.type);
      const type = typeof text === "string" ? arrowTypeNamed(text) : null;
      if (type === null) throw nodes.invalid(node, `${node.name}: there is no type ${String(text)}`);
      const isTry = node.name === "arrow_try_cast";
      // In a cast, a day begins at midnight in the zone; in a comparison, at midnight in UTC.
      const isMidnight = operand.type.kind === "date" && type.kind === "timestamp" && type.timezone !== null;
      const day = isMidnight ? yield* nodes.cast(operand, timestamp(type.unit, null), isTry, node) : operand;
      return yield* nodes.cast(day, type, isTry, node);
    }
    case "arrow_typeof": {
      if (operands.length !== 1) throw nodes.invalid(node, "arrow_typeof: expected 1 operand");
      return scalarConstant(STRING, arrowNameOf(operands[0].type));
    }
    case "make_array":
    case "make_list":
      return yield* boundList(nodes, node, operands);
  }
  const definition = yield* sqlFunction(name);
  if (definition === null) throw nodes.unsupported(node, `the function ${name}`);
  return yield* applied(nodes, node, name, definition, operands);
}

/** Returns the value of a constant for a function definition, without the items of a list. */
function* knownValue({ column, type }: Constant): Steps<Scalar> {
  if (type.kind === "list") return isNullConstant(column) ? null : [];
  if (type.kind !== "string" || isNullConstant(column)) return scalarOf(column, type);
  const { bytes, offsets } = byteLane({ column, step: 0 });
  return yield* textOfBytes(bytes, offsets[0], offsets[1]);
}

function* applied(
  nodes: BoundNodes,
  node: Place,
  name: string,
  definition: FunctionDefinition,
  operands: readonly Bound[],
): Steps<Bound> {
  const pace = new Pace();
  const constants: (Scalar | undefined)[] = [];
  for (const operand of operands) {
    if (pace.isStep()) yield;
    constants.push(operand.kind === "constant" ? yield* knownValue(operand) : undefined);
  }
  const types = operands.map((operand) => operand.type);
  const form = nodes.make(node, () => definition(types, constants));
  if (typeof form === "string") throw nodes.invalid(node, `${name}: ${form}`);
  const { type, kernel, isStrict = true, isVolatile, nullKernel, prepare } = form;
  if (prepare !== undefined) yield* nodes.makeInSteps(node, prepare);
  const targetTypes = form.operands;
  const cast: Bound[] = [];
  for (const [index, operand] of operands.entries()) {
    if (pace.isStep()) yield;
    cast.push(yield* nodes.cast(operand, targetTypes[index], false, node));
  }
  const call = yield* nodes.call(node, cast, type, kernel, isStrict, { isVolatile, nullKernel });
  const [first, ...others] = cast;
  if (form.test === undefined || !others.every((operand) => operand.kind === "constant")) return call;
  const test = form.test(others.map(({ column }) => column));
  if (test === null) return call;
  // Offsets of either width keep the same texts, so a test of the cast column is a test of the column.
  const isText = first.type.kind === "string" && operands[0].type.kind === "string";
  return withCondition(call, testOf(isText ? operands[0] : first, test));
}

/** Binds a function whose operands and result have one type. */
function* chosen(
  nodes: BoundNodes,
  node: SyntaxOf<"call">,
  operands: readonly Bound[],
  min: number,
  kernelOf: (type: ValueType) => ValueKernel,
  max = Number.POSITIVE_INFINITY,
): Steps<Bound> {
  if (operands.length < min || operands.length > max) {
    throw nodes.invalid(node, `${node.name}: the number of operands is wrong`);
  }
  const type = unitedType(operands.map((operand) => operand.type));
  if (type === null) throw nodes.invalid(node, `${node.name}: the operands have no common type`);
  if (type.kind === "null") return nullOf(NULL);
  const cast = yield* nodes.castAll(operands, type, node);
  return yield* nodes.call(node, cast, type, kernelOf(type), false, { takesFirst: kernelOf === coalesce });
}

/** Binds the subscript of a struct or a list. */
export const subscripted = (nodes: BoundNodes, node: Place, operand: Bound, index: Bound): Steps<Bound> =>
  applied(nodes, node, "a subscript", operand.type.kind === "struct" ? member : arrayElement, [
    operand,
    index,
  ]);

export function* boundList(nodes: BoundNodes, node: Place, items: readonly Bound[]): Steps<Bound> {
  const item = unitedType(items.map((bound) => bound.type));
  if (item === null) throw nodes.invalid(node, "the items of a list have no common type");
  const cast = yield* nodes.castAll(items, item, node);
  const values = yield* nodes.constantsOf(cast, item);
  if (values !== null) {
    const items = yield* columnInSteps(item, values);
    const offsets = Int32Array.of(0, items.length);
    const list: Column = { kind: "list", length: 1, validity: null, offsets, items };
    return constantOf(listTypeOf(item), list);
  }
  if (items.length > MAX_OPERANDS) {
    throw nodes.invalid(node, `the list has more than ${MAX_OPERANDS} items that are not constants`);
  }
  return yield* nodes.call(node, cast, listTypeOf(item), listKernel(item), false);
}
