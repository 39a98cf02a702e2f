/**
 * Makes the nodes of bound expressions. It omits casts that change nothing, and a strict call of null becomes
 * null. Nodes that depend on no row are computed at once. Errors carry the offset in the text.
 */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { lazyModule, lazySteps } from "../../async/lazy.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import { type Bound, type BoundCall, constantOf, isNull, nullOf } from "../evaluate/bound.js";
import { evaluate } from "../evaluate/evaluate.js";
import { floatTrait } from "../evaluate/floatBlocks.js";
import { parseDecimal } from "../kernels/decimals.js";
import { type ExpressionSource, problemText } from "../parse/problem.js";
import type { ValueKernel } from "../values/operands.js";
import { oneOf, type Scalar, scalarOf } from "../values/scalars.js";
import { areSame, BOOL, FLOAT64, typeName, type ValueType } from "../values/types.js";
import { scalarConstant } from "./constants.js";

/** The first cast loads this module. */
const casts = lazyModule(() => import("../kernels/casts.js"));

/** Offset of a node in the text. */
export interface Place {
  readonly offset: number;
}

export class BoundNodes {
  readonly source: ExpressionSource;
  readonly #pace = new Pace();

  constructor(source: ExpressionSource) {
    this.source = source;
  }

  /** Makes a call, or its value if it depends on no row. */
  *call(
    node: Place,
    operands: readonly Bound[],
    type: ValueType,
    kernel: ValueKernel,
    isStrict = true,
    traits: Pick<BoundCall, "isVolatile" | "nullKernel" | "takesFirst" | "floats"> = {},
  ): Steps<Bound> {
    if (isStrict && operands.some(isNull)) return nullOf(type);
    const call: BoundCall = { kind: "call", type, operands, kernel, isStrict, ...traits };
    return yield* this.folded(call, node);
  }

  /** Makes a condition from a boolean, or from the matches of a regular expression. */
  *condition(bound: Bound, node: Place): Steps<Bound> {
    if (bound.type.kind === "bool") return bound;
    if (bound.type.kind === "null") return nullOf(BOOL);
    if (bound.kind === "call" && bound.nullKernel !== undefined) return yield* this.nullTest(bound, true);
    throw this.invalid(node, `expected a condition, not ${typeName(bound.type)}`);
  }

  *nullTest(operand: Bound, isNegated: boolean): Steps<Bound> {
    const shared =
      operand.kind === "call" && operand.nullKernel !== undefined
        ? { ...operand, type: BOOL, kernel: operand.nullKernel, nullKernel: undefined }
        : operand;
    return yield* this.folded({ kind: "nullTest", type: BOOL, operand: shared, isNegated });
  }

  *cast(operand: Bound, type: ValueType, isTry: boolean, node: Place): Steps<Bound> {
    if (areSame(operand.type, type)) return operand;
    if (operand.type.kind === "null") return nullOf(type);
    if (operand.kind === "constant" && operand.text !== undefined && type.kind === "decimal") {
      const value = parseDecimal(operand.text, type.scale);
      const limit = 10n ** BigInt(type.precision);
      if (value !== null && value < limit && value > -limit) return scalarConstant(type, value);
    }
    const { castKernel } = yield* lazySteps(casts);
    const kernel = castKernel(operand.type, type, isTry);
    if (kernel === null) {
      throw this.invalid(node, `${typeName(operand.type)} cannot be cast to ${typeName(type)}`);
    }
    const traits = areSame(type, FLOAT64) ? floatTrait("cast", [operand]) : {};
    return yield* this.call(node, [operand], type, kernel, true, traits);
  }

  *castAll(operands: readonly Bound[], type: ValueType, node: Place): Steps<Bound[]> {
    const cast: Bound[] = [];
    for (const operand of operands) {
      if (this.#pace.isStep()) yield;
      cast.push(yield* this.cast(operand, type, false, node));
    }
    return cast;
  }

  /** Returns the values of many operands of one type; null if any is not a constant. */
  *constantsOf(operands: readonly Bound[], type: ValueType): Steps<Scalar[] | null> {
    const values: Scalar[] = [];
    for (const operand of operands) {
      if (operand.kind !== "constant") return null;
      if (this.#pace.isStep()) yield;
      values.push(scalarOf(operand.column, type));
    }
    return values;
  }

  /** Returns a node, or its value if it depends on no row. */
  *folded(bound: Bound, node: Place = { offset: -1 }): Steps<Bound> {
    if (!isFoldable(bound)) return bound;
    const values = yield* this.makeInSteps(node, () => evaluate(bound, { columns: [], rowCount: 1 }));
    return constantOf(bound.type, oneOf(values, 0));
  }

  /** Calls `make` and adds the offset of the expression to its errors. */
  make<Made>(node: Place, make: () => Made): Made {
    try {
      return make();
    } catch (error) {
      throw this.#located(error, node);
    }
  }

  /** Calls `make` in steps and adds the offset of the expression to its errors. */
  *makeInSteps<Made>(node: Place, make: () => Steps<Made>): Steps<Made> {
    try {
      return yield* make();
    } catch (error) {
      throw this.#located(error, node);
    }
  }

  #located(error: unknown, node: Place): unknown {
    if (!(error instanceof InvalidInputError)) return error;
    return new InvalidInputError(problemText(this.source, node.offset, error.message), { cause: error });
  }

  invalid(node: Place, reason: string): InvalidInputError {
    return new InvalidInputError(problemText(this.source, node.offset, reason));
  }

  unsupported(span: Place, feature: string): UnsupportedError {
    return new UnsupportedError(
      problemText(this.source, span.offset, `${feature} is not supported by this release`),
    );
  }
}

function isFoldable(bound: Bound): boolean {
  switch (bound.kind) {
    case "call":
      return bound.isVolatile !== true && bound.operands.every((operand) => operand.kind === "constant");
    case "and":
    case "or":
      return bound.operands.every((operand) => operand.kind === "constant");
    case "nullTest":
      return bound.operand.kind === "constant";
    case "case":
      return (
        bound.otherwise.kind === "constant" &&
        bound.branches.every(({ when, result }) => when.kind === "constant" && result.kind === "constant")
      );
    default:
      return false;
  }
}
