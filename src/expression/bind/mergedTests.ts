/**
 * Merges tests of one column in an AND or OR, because programs write filters with thousands of them.
 *
 * The equalities of an OR become a list that each row is looked up in, and so do the inequalities of an AND.
 * Among bounds on numbers, an AND keeps the narrowest and an OR the widest. The result stays the same: all of
 * these tests are null in the same rows, those in which the column is null.
 */

import type { Column } from "../../arrow/columns/column.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { lazyModule, lazySteps } from "../../async/lazy.js";
import type { Bound, ColumnReference, Condition, RangeBound } from "../evaluate/bound.js";
import { notCondition, testOf, withCondition } from "../evaluate/condition.js";
import type { SyntaxOf } from "../parse/syntax.js";
import { columnInSteps, type Scalar, scalarOf } from "../values/scalars.js";
import { BOOL } from "../values/types.js";
import type { BoundNodes } from "./nodes.js";

/** The first lookup loads this module. */
const lookups = lazyModule(() => import("../kernels/membership.js"));

/** From this number of values on, a column has one lookup for all of them. */
const FEW_VALUES = 4;

/** A bound and its index among the operands. */
interface Placed {
  readonly index: number;
  readonly value: number | bigint;
  readonly isInclusive: boolean;
}

type Side = "lower" | "upper";

export class MergedTests {
  readonly #nodes: BoundNodes;
  readonly #node: SyntaxOf<"and" | "or">;
  readonly #operands: Bound[] = [];
  readonly #values = new Map<ColumnReference, Column[]>();
  readonly #bounds: Readonly<Record<Side, Map<ColumnReference, Placed>>> = {
    lower: new Map(),
    upper: new Map(),
  };

  constructor(nodes: BoundNodes, node: SyntaxOf<"and" | "or">) {
    this.#nodes = nodes;
    this.#node = node;
  }

  add(operand: Bound): void {
    const condition = operand.kind === "call" ? operand.condition : undefined;
    if (condition !== undefined && (this.#addValue(operand, condition) || this.#addBound(operand, condition)))
      return;
    this.#operands.push(operand);
  }

  /** Returns the remaining operands. The earliest keep their order. */
  *finish(): Steps<Bound[]> {
    const pace = new Pace();
    const isNegated = this.#node.kind === "and";
    for (const [column, values] of this.#values) {
      if (values.length < FEW_VALUES) continue;
      const { type } = column;
      // The lookup has the first few too. That does not change the result.
      const scalars: Scalar[] = [];
      for (const value of values) {
        if (pace.isStep()) yield;
        scalars.push(scalarOf(value, type));
      }
      const items = yield* columnInSteps(type, scalars);
      const { membership } = yield* lazySteps(lookups);
      const kernel = yield* membership(items, type, false, isNegated);
      const test = yield* this.#nodes.call(this.#node, [column], BOOL, kernel);
      const condition = testOf(column, { kind: "in", values: items });
      this.#operands.push(withCondition(test, isNegated ? notCondition(condition) : condition));
    }
    return this.#operands;
  }

  /** Takes an equality of an OR, or an inequality of an AND. The first few of a column also stay operands. */
  #addValue(operand: Bound, condition: Condition): boolean {
    const tested =
      this.#node.kind === "or" ? condition : condition.kind === "not" ? condition.part : undefined;
    if (tested?.kind !== "test" || tested.test.kind !== "in" || tested.test.values.length !== 1) return false;
    const earlier = this.#values.get(tested.column);
    if (earlier === undefined) this.#values.set(tested.column, [tested.test.values]);
    else earlier.push(tested.test.values);
    if (earlier === undefined || earlier.length < FEW_VALUES) this.#operands.push(operand);
    return true;
  }

  /** Merges a bound with an earlier bound of the column on the same side. One of them replaces both. */
  #addBound(operand: Bound, condition: Condition): boolean {
    if (condition.kind !== "test" || condition.test.kind !== "range") return false;
    const { column, test } = condition;
    if (test.lower !== null && test.upper !== null) return false;
    const side = test.lower !== null ? "lower" : "upper";
    const placed = placedBound(column, (test.lower ?? test.upper) as RangeBound, this.#operands.length);
    if (placed === null) return false;
    const earlier = this.#bounds[side].get(column);
    if (earlier === undefined) {
      this.#bounds[side].set(column, placed);
      return false;
    }
    const { index: position } = earlier;
    if (this.#counts(placed, earlier, side)) {
      this.#operands[position] = operand;
      this.#bounds[side].set(column, { ...placed, index: position });
    }
    return true;
  }

  #counts(bound: Placed, earlier: Placed, side: Side): boolean {
    const isAnd = this.#node.kind === "and";
    if (bound.value === earlier.value) return bound.isInclusive !== isAnd;
    return (bound.value > earlier.value === (side === "lower")) === isAnd;
  }
}

/** Returns null for a value that JavaScript orders differently from the engine. */
function placedBound(
  column: ColumnReference,
  { value, isInclusive }: RangeBound,
  position: number,
): Placed | null {
  const scalar = scalarOf(value, column.type);
  if (typeof scalar !== "bigint" && (typeof scalar !== "number" || Number.isNaN(scalar))) return null;
  return { index: position, value: scalar, isInclusive };
}
