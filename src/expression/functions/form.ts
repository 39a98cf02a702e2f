/**
 * The definition of a function for binding: it receives the types of the operands, and returns those it wants
 * and the type of the result.
 */

import type { Column } from "../../arrow/columns/column.js";
import type { Steps } from "../../async/eventLoop.js";
import type { ColumnTest } from "../evaluate/bound.js";
import type { ValueKernel } from "../values/operands.js";
import type { Scalar } from "../values/scalars.js";
import { isNumeric, type ValueType } from "../values/types.js";

export interface FunctionForm {
  /** Types to cast the operands to. */
  readonly operands: readonly ValueType[];
  readonly type: ValueType;
  readonly kernel: ValueKernel;
  /** Prepares data for the kernels before they first run. */
  readonly prepare?: () => Steps<void>;
  /** True if null operands give a null result, so that the kernel never sees them. Default true. */
  readonly isStrict?: boolean;
  /** True if each call returns another value, even for the same operands. Default false. */
  readonly isVolatile?: boolean;
  /** A quicker kernel whose result is null in the same rows, for callers that only need the nulls. */
  readonly nullKernel?: ValueKernel;
  /**
   * Returns the test of the first operand, if the others are constants.
   * @param others the constants, cast and not null
   * @returns null if there is no such test
   */
  readonly test?: (others: readonly Column[]) => ColumnTest | null;
}

/**
 * @param types of the operands
 * @param constants the values of operands that are constants, without the items of lists; undefined for all
 * others
 * @returns the form, or a text about the first error
 */
export type FunctionDefinition = (
  types: readonly ValueType[],
  constants: readonly (Scalar | undefined)[],
) => FunctionForm | string;

export type Functions = Readonly<Record<string, FunctionDefinition>>;

export const wantsText = (type: ValueType): boolean => type.kind === "string" || type.kind === "null";
export const wantsNumber = (type: ValueType): boolean => isNumeric(type) || type.kind === "null";
export const wantsInteger = (type: ValueType): boolean => type.kind === "int" || type.kind === "null";

export const textOperands = "texts are expected";
export const integerOperands = "whole numbers are expected";

export const operandCount = (min: number, max = min): string =>
  `expected ${min === max ? min : `${min} to ${max}`} operands`;
