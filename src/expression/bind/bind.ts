/**
 * Binds an expression to the columns of a table. Names become columns, every node gets a type, and operands
 * are cast to common types. Parts that depend on no row are computed at once.
 *
 * The reference decides how a literal beside a column is typed, and this file follows it. If the comparison
 * stands directly in the filter, or in an AND or OR of the filter, the literal takes the column's type. It is
 * refused if the column cannot have its value. Elsewhere both take the wider type.
 */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { lazyModule, lazySteps } from "../../async/lazy.js";
import { isDate, isUint8Array } from "../../bytes/anyRealm.js";
import type { FilterParameters, FilterValue } from "../../namespace/queries.js";
import { type Bound, type Condition, type Constant, logic, nullOf } from "../evaluate/bound.js";
import { conditionOf, notCondition, UNKNOWN_CONDITION, withCondition } from "../evaluate/condition.js";
import { isTruth, not } from "../kernels/logic.js";
import type { ExpressionSource } from "../parse/problem.js";
import type { Syntax, SyntaxOf } from "../parse/syntax.js";
import { unitedType } from "../values/commonTypes.js";
import { scalarOf } from "../values/scalars.js";
import {
  BINARY,
  BOOL,
  FLOAT64,
  INT64,
  NULL,
  STRING,
  timestamp,
  typeName,
  type ValueType,
} from "../values/types.js";
import { compared, distinctness } from "./comparisons.js";
import { numberConstant, scalarConstant, wholeType } from "./constants.js";
import { MergedTests } from "./mergedTests.js";
import type { Names } from "./names.js";
import { BoundNodes } from "./nodes.js";

/** Parts that many expressions do without. The first expression with such a part loads its module. */
const arithmetic = lazyModule(() => import("./arithmeticTypes.js"));
const calls = lazyModule(() => import("./calls.js"));
const inLists = lazyModule(() => import("./inList.js"));
const intervals = lazyModule(() => import("./intervals.js"));
const likes = lazyModule(() => import("./like.js"));
const printing = lazyModule(() => import("../parse/print.js"));
const typeNames = lazyModule(() => import("./typeNames.js"));

/** Maximum depth of an expression that a program built. */
const MAX_DEPTH = 1024;
/** From this number on, tests of one column in an AND or OR are merged before they are bound. */
const MANY_OPERANDS = 16;

export class Binder {
  readonly #nodes: BoundNodes;
  readonly #names: Names;
  readonly #parameters: FilterParameters;
  readonly #pace = new Pace();
  #depth = 0;
  /** Number of function calls around the node. */
  #callDepth = 0;

  constructor(source: ExpressionSource, names: Names, parameters: FilterParameters) {
    this.#nodes = new BoundNodes(source);
    this.#names = names;
    this.#parameters = parameters;
  }

  *filter(node: Syntax): Steps<Bound> {
    const bound = yield* this.#bind(node, true);
    if (bound.type.kind === "null") throw this.#nodes.invalid(node, "expected a condition, not null");
    return yield* this.#nodes.condition(bound, node);
  }

  /** Binds any expression. In the whole expression, a literal beside a column takes the column's type. */
  expression(node: Syntax): Steps<Bound> {
    return this.#bind(node, true);
  }

  /** Binds an expression whose values are stored in a column. @param targetOf as for `bindAssigned` */
  *assigned(node: Syntax, targetOf: (type: ValueType) => ValueType): Steps<Bound> {
    const bound = yield* this.#bind(node, true);
    const type = targetOf(bound.type);
    // The number of items of a list is only known after the list is computed.
    const isSized = type.kind === "list" && bound.type.kind === "list";
    return yield* this.#nodes.cast(bound, isSized ? { ...type, size: bound.type.size } : type, false, node);
  }

  /** @param isDirect true if the node stands directly in the filter, or in an AND or OR of the filter */
  *#bind(node: Syntax, isDirect = false): Steps<Bound> {
    if (++this.#depth > MAX_DEPTH)
      throw this.#nodes.invalid(node, `the expression is nested deeper than ${MAX_DEPTH}`);
    if (this.#pace.isStep()) yield;
    try {
      return yield* this.#bindNode(node, isDirect);
    } finally {
      this.#depth--;
    }
  }

  *#bindNode(node: Syntax, isDirect: boolean): Steps<Bound> {
    switch (node.kind) {
      case "null":
        return nullOf(NULL);
      case "boolean":
        return scalarConstant(BOOL, node.value);
      case "number":
        return numberConstant(node);
      case "text":
        return scalarConstant(STRING, node.value);
      case "bytes":
        return scalarConstant(BINARY, node.value);
      case "value":
        return yield* this.#value(node.value, node);
      case "parameter":
        if (!Object.hasOwn(this.#parameters, node.name)) {
          throw this.#nodes.invalid(node, `no value is passed for the parameter $${node.name}`);
        }
        return yield* this.#value(this.#parameters[node.name], node);
      case "name":
        return this.#names.resolve(node, this.#nodes.source);
      case "nameOrText": {
        const { name, offset } = node;
        if (!this.#names.has(name)) return scalarConstant(STRING, name);
        return this.#names.resolve(
          { kind: "name", segments: [name], isExact: true, offset },
          this.#nodes.source,
        );
      }
      case "negative": {
        const { negated } = yield* lazySteps(arithmetic);
        return yield* negated(this.#nodes, node, yield* this.#bind(node.operand));
      }
      case "not": {
        const operand = yield* this.#nodes.condition(yield* this.#bind(node.operand), node.operand);
        return yield* this.#not(node, operand);
      }
      case "interval":
        throw this.#nodes.unsupported(node, "an interval that is not added to an instant or a day");
      case "arithmetic":
        return yield* this.#arithmetic(node, isDirect);
      case "comparison": {
        const left = yield* this.#bind(node.left);
        const right = yield* this.#bind(node.right);
        return yield* compared(this.#nodes, node, node.operator, left, right, isDirect);
      }
      case "distinct":
        return yield* distinctness(
          this.#nodes,
          node,
          yield* this.#bind(node.left),
          yield* this.#bind(node.right),
          node.isNegated,
        );
      case "and":
      case "or":
        return yield* this.#logic(node, isDirect);
      case "in": {
        const operand = yield* this.#bind(node.operand);
        const items = operand.type.kind === "list" ? node.items : this.#itemsOf(node.items);
        if (items.length === 0) return scalarConstant(BOOL, node.isNegated);
        const bindItems = () => this.#bindAll(items);
        const { listed } = yield* lazySteps(inLists);
        return yield* listed(this.#nodes, { ...node, items }, operand, bindItems, isDirect);
      }
      case "between":
        return yield* this.#between(node, isDirect);
      case "like":
        return yield* this.#like(node);
      case "is":
        return yield* this.#is(node);
      case "cast":
        return yield* this.#casts(node);
      case "case":
        return yield* this.#case(node);
      case "call": {
        const { called, checkOperandCount } = yield* lazySteps(calls);
        checkOperandCount(this.#nodes, node);
        if (node.name === "date_bin" && node.operands[0]?.kind === "interval") {
          return yield* this.#bins(node, node.operands[0]);
        }
        return yield* called(this.#nodes, node, yield* this.#operandsOf(node));
      }
      case "aggregate": {
        const { printExpression } = yield* lazySteps(printing);
        throw this.#nodes.invalid(
          node,
          `${printExpression(node)} needs many rows; table.aggregate({ values: { name: ${JSON.stringify(printExpression(node))} } }) computes it`,
        );
      }
      case "subscript":
        return yield* this.#subscript(node);
      case "array": {
        const { boundList } = yield* lazySteps(calls);
        return yield* boundList(this.#nodes, node, yield* this.#bindAll(node.items));
      }
    }
  }

  *#arithmetic(node: SyntaxOf<"arithmetic">, isDirect: boolean): Steps<Bound> {
    const { left, right, operator } = node;
    if (right.kind === "interval" && (operator === "+" || operator === "-")) {
      const { moved } = yield* lazySteps(intervals);
      return yield* moved(this.#nodes, node, yield* this.#bind(left), right.text, operator === "+" ? 1 : -1);
    }
    if (left.kind === "interval" && operator === "+") {
      const { moved } = yield* lazySteps(intervals);
      return yield* moved(this.#nodes, node, yield* this.#bind(right), left.text, 1);
    }
    const { computed } = yield* lazySteps(arithmetic);
    return yield* computed(this.#nodes, node, [yield* this.#bind(left), yield* this.#bind(right)], isDirect);
  }

  *#between(node: SyntaxOf<"between">, isDirect: boolean): Steps<Bound> {
    const operand = yield* this.#bind(node.operand);
    const low = yield* compared(this.#nodes, node, ">=", operand, yield* this.#bind(node.low), isDirect);
    const high = yield* compared(this.#nodes, node, "<=", operand, yield* this.#bind(node.high), isDirect);
    const both = yield* this.#nodes.folded(logic("and", [low, high]));
    return node.isNegated ? yield* this.#not(node, both) : both;
  }

  *#is(node: SyntaxOf<"is">): Steps<Bound> {
    const { isNegated } = node;
    const operand = yield* this.#bind(node.operand);
    if (node.truth === "null") return yield* this.#nodes.nullTest(operand, isNegated);
    const condition = yield* this.#nodes.condition(operand, node.operand);
    const truth = yield* this.#nodes.call(node, [condition], BOOL, isTruth(node.truth, isNegated), false);
    return withCondition(truth, truthCondition(conditionOf(condition), node));
  }

  *#subscript(node: SyntaxOf<"subscript">): Steps<Bound> {
    const operand = yield* this.#bind(node.operand);
    const index = yield* this.#bind(node.index);
    if (operand.type.kind === "struct" && operand.kind === "column" && index.kind === "constant") {
      const name = scalarOf(index.column, index.type);
      const column = typeof name === "string" ? this.#names.member(operand, name) : null;
      if (column === null) throw this.#nodes.invalid(node, `there is no member ${String(name)}`);
      return column;
    }
    const { subscripted } = yield* lazySteps(calls);
    return yield* subscripted(this.#nodes, node, operand, index);
  }

  /** Binds bins whose length is an interval, not a text. Local times keep their unit. */
  *#bins(call: SyntaxOf<"call">, stride: SyntaxOf<"interval">): Steps<Bound> {
    const { strideText } = yield* lazySteps(intervals);
    const value = strideText(this.#nodes, stride, stride.text);
    const operands = [{ kind: "text", value, offset: stride.offset } as const, ...call.operands.slice(1)];
    const bound = yield* this.#operandsOf({ ...call, operands });
    const type = bound.at(1)?.type;
    const { called } = yield* lazySteps(calls);
    const bins = yield* called(this.#nodes, call, bound);
    const isLocal = type?.kind === "timestamp" && type.timezone === null;
    return isLocal ? yield* this.#nodes.cast(bins, type, false, call) : bins;
  }

  *#operandsOf(call: SyntaxOf<"call">): Steps<Bound[]> {
    this.#callDepth++;
    try {
      return yield* this.#bindAll(call.operands);
    } finally {
      this.#callDepth--;
    }
  }

  *#bindAll(nodes: readonly Syntax[]): Steps<Bound[]> {
    const bound: Bound[] = [];
    for (const node of nodes) bound.push(yield* this.#bind(node));
    return bound;
  }

  *#value(value: FilterValue, node: Syntax): Steps<Constant> {
    if (value === null || value === undefined) return nullOf(NULL);
    switch (typeof value) {
      case "boolean":
        return scalarConstant(BOOL, value);
      case "bigint": {
        const type = wholeType(value);
        return scalarConstant(type, type.kind === "float" ? Number(value) : value);
      }
      case "number":
        return Number.isSafeInteger(value) && !Object.is(value, -0)
          ? scalarConstant(INT64, BigInt(value))
          : { ...scalarConstant(FLOAT64, value), text: String(value) };
      case "string":
        return scalarConstant(STRING, value);
    }
    if (isUint8Array(value)) return scalarConstant(BINARY, value);
    if (isDate(value)) {
      const ms = value.getTime();
      if (Number.isNaN(ms)) throw this.#nodes.invalid(node, "a value is not a valid date");
      return scalarConstant(timestamp("ms", "UTC"), BigInt(ms));
    }
    if (Array.isArray(value)) {
      const items: Constant[] = [];
      for (const item of value) {
        if (this.#pace.isStep()) yield;
        items.push(yield* this.#value(item as FilterValue, node));
      }
      const { boundList } = yield* lazySteps(calls);
      const list = yield* boundList(this.#nodes, node, items);
      if (list.kind === "constant") return list;
    }
    throw this.#nodes.invalid(node, `an expression cannot hold a value of type ${typeof value}`);
  }

  /** Returns the items of a list. A parameter that holds an array stands for its items. */
  #itemsOf(items: readonly Syntax[]): readonly Syntax[] {
    const isArray = (item: Syntax): item is SyntaxOf<"parameter"> =>
      item.kind === "parameter" &&
      Object.hasOwn(this.#parameters, item.name) &&
      Array.isArray(this.#parameters[item.name]);
    if (!items.some(isArray)) return items;
    return items.flatMap((item): readonly Syntax[] => {
      if (!isArray(item)) return [item];
      const values = this.#parameters[item.name] as readonly FilterValue[];
      return values.map((value) => ({ kind: "value", value, offset: item.offset }));
    });
  }

  *#logic(node: SyntaxOf<"and" | "or">, isDirect: boolean): Steps<Bound> {
    const merged = new MergedTests(this.#nodes, node);
    const inLists = yield* this.#lists(node, isDirect, merged);
    for (const operand of node.operands) {
      if (inLists.has(operand)) continue;
      merged.add(yield* this.#nodes.condition(yield* this.#bind(operand, isDirect), operand));
    }
    return yield* this.#nodes.folded(logic(node.kind, yield* merged.finish()));
  }

  /**
   * Merges the operands that compare one column with literals into one list for each column. Binding
   * thousands of them one by one takes long.
   * @returns the operands that are in the lists
   */
  *#lists(node: SyntaxOf<"and" | "or">, isDirect: boolean, merged: MergedTests): Steps<ReadonlySet<Syntax>> {
    const listed = new Set<Syntax>();
    if (node.operands.length < MANY_OPERANDS) return listed;
    const isNegated = node.kind === "and";
    const operator = isNegated ? "!=" : "=";
    const groups = new Map<string, { name: SyntaxOf<"name">; tests: Syntax[]; items: Syntax[] }>();
    for (const operand of node.operands) {
      if (this.#pace.isStep()) yield;
      const test = operand.kind === "comparison" && operand.operator === operator ? operand : null;
      if (test?.left.kind !== "name") continue;
      const { left: name, right } = test;
      if (right.kind !== "number" && right.kind !== "text" && right.kind !== "value") continue;
      const key = `${name.isExact}.${name.segments.length === 1 ? name.segments[0] : JSON.stringify(name.segments)}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { name, tests: [operand], items: [right] });
      else {
        group.tests.push(operand);
        group.items.push(right);
      }
    }
    for (const { name, tests, items } of groups.values()) {
      if (tests.length < MANY_OPERANDS) continue;
      const list: SyntaxOf<"in"> = { kind: "in", isNegated, operand: name, items, offset: tests[0].offset };
      const { literalList } = yield* lazySteps(inLists);
      const bound = yield* literalList(this.#nodes, list, yield* this.#bind(name), isDirect);
      if (bound === null) continue;
      merged.add(bound);
      for (const test of tests) listed.add(test);
    }
    return listed;
  }

  *#like(node: SyntaxOf<"like">): Steps<Bound> {
    const operand = this.#text(yield* this.#bind(node.operand), node.operand);
    const pattern = this.#text(yield* this.#bind(node.pattern), node.pattern);
    const { like } = yield* lazySteps(likes);
    return yield* like(this.#nodes, node, operand, pattern);
  }

  *#not(node: Syntax, operand: Bound): Steps<Bound> {
    const negation = yield* this.#nodes.call(node, [operand], BOOL, not);
    return withCondition(negation, notCondition(conditionOf(operand)));
  }

  #text(bound: Bound, node: Syntax): Bound {
    if (bound.type.kind === "string") return bound;
    if (bound.type.kind === "null") return nullOf(STRING);
    throw this.#nodes.invalid(node, `expected a text, not ${typeName(bound.type)}`);
  }

  *#casts(node: SyntaxOf<"cast">): Steps<Bound> {
    let bound = yield* this.#bind(node.operand);
    // The reference plans function calls with another planner, in which instants have nanoseconds. There a
    // cast of a 64-bit integer to an instant counts seconds.
    const precision = this.#callDepth > 0 ? 9 : 6;
    const { sqlTypeNamed } = yield* lazySteps(typeNames);
    for (const { type, isTry } of node.types) {
      const targetType = sqlTypeNamed(this.#nodes, type, precision);
      if (this.#depth + chainLength(bound) > MAX_DEPTH) {
        throw this.#nodes.invalid(node, `there are more than ${MAX_DEPTH} casts in a row`);
      }
      const isSeconds =
        precision === 9 &&
        !isTry &&
        isWhole64(bound.type) &&
        targetType.kind === "timestamp" &&
        targetType.unit === "ns";
      if (isSeconds) bound = yield* this.#nodes.cast(bound, timestamp("s", null), isTry, node);
      bound = yield* this.#nodes.cast(bound, targetType, isTry, node);
    }
    if (bound.kind === "constant") return { ...bound, isCast: true };
    // A column of texts may be a dictionary. A cast to text makes it plain.
    const isText = bound.kind === "column" && bound.type.kind === "string";
    return isText ? yield* this.#nodes.call(node, [bound], bound.type, ([{ column }]) => column) : bound;
  }

  *#case(node: SyntaxOf<"case">): Steps<Bound> {
    const subject = node.subject === null ? null : yield* this.#bind(node.subject);
    const branches: { when: Bound; result: Bound }[] = [];
    for (const { when, result } of node.branches) {
      const condition =
        subject === null
          ? yield* this.#nodes.condition(yield* this.#bind(when), when)
          : yield* compared(this.#nodes, when, "=", subject, yield* this.#bind(when), false);
      branches.push({ when: condition, result: yield* this.#bind(result) });
    }
    const otherwise = node.otherwise === null ? nullOf(NULL) : yield* this.#bind(node.otherwise);
    const type = unitedType([...branches.map(({ result }) => result.type), otherwise.type]);
    if (type === null) throw this.#nodes.invalid(node, "the results of CASE have no common type");
    const cast: { when: Bound; result: Bound }[] = [];
    for (const { when, result } of branches) {
      if (this.#pace.isStep()) yield;
      cast.push({ when, result: yield* this.#nodes.cast(result, type, false, node) });
    }
    return yield* this.#nodes.folded({
      kind: "case",
      type,
      branches: cast,
      otherwise: yield* this.#nodes.cast(otherwise, type, false, node),
    });
  }
}

function truthCondition(of: Condition, { truth, isNegated }: SyntaxOf<"is">): Condition {
  if (isNegated || of.kind === "unknown" || (truth !== "true" && truth !== "false")) return UNKNOWN_CONDITION;
  return { kind: "only", part: truth === "true" ? of : notCondition(of) };
}

const isWhole64 = (type: ValueType): boolean => type.kind === "int" && type.bits === 64 && type.signed;

/** Counts calls of one operand that are nested in each other. */
function chainLength(bound: Bound): number {
  let length = 0;
  for (let node = bound; node.kind === "call" && node.operands.length === 1; node = node.operands[0])
    length++;
  return length;
}
