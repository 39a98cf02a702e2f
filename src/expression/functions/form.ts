/** Definitions of functions: they get the types of operands, and return those of operands and result. */

import type { Column } from "../../arrow/columns/column.js";
import type { Steps } from "../../async/eventLoop.js";
import type { ColumnTest } from "../evaluate/bound.js";
import type { ValueKernel } from "../values/operands.js";
import type { Scalar } from "../values/scalars.js";
import { isNumeric, type ListValueType, type ValueType } from "../values/types.js";

export interface FunctionForm {
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

export const textOperands = "texts are expected";

/** Kinds of operands by letter, and what to say about another operand. */
const KINDS: Readonly<Record<string, readonly [fits: (type: ValueType) => boolean, refusal: string]>> = {
  t: [wantsText, textOperands],
  i: [({ kind }) => kind === "int" || kind === "null", "whole numbers are expected"],
  n: [(type) => isNumeric(type) || type.kind === "null", "numbers are expected"],
  l: [(type) => type.kind === "list", "a list is expected"],
  v: [() => true, ""],
};

/**
 * Checks the operands of a function.
 * @param kinds a letter for each operand: t text, i whole number, n number, l list, v any value. Those after
 * a question mark may be missing
 */
export function taking(kinds: string, define: FunctionDefinition): FunctionDefinition {
  const [required, optional = ""] = kinds.split("?");
  const letters = required + optional;
  return (types, constants) => {
    if (types.length < required.length || types.length > letters.length) {
      return operandCount(required.length, letters.length);
    }
    for (const [index, type] of types.entries()) {
      const [fits, refusal] = KINDS[letters[index]];
      if (!fits(type)) return refusal;
    }
    return define(types, constants);
  };
}

/** A function whose first operand is a list. @param kinds as for {@link taking} */
export const takingList = (
  kinds: string,
  define: (list: ListValueType, ...form: Parameters<FunctionDefinition>) => ReturnType<FunctionDefinition>,
): FunctionDefinition =>
  taking(kinds, (types, constants) => define(types[0] as ListValueType, types, constants));

/** Registers a function of lists under names that begin with `array_`, and with `list_`. */
export const listNames = (definition: FunctionDefinition, ...names: readonly string[]): Functions =>
  Object.fromEntries(
    names.flatMap((name) => [`array_${name}`, `list_${name}`]).map((name) => [name, definition]),
  );

export const operandCount = (min: number, max = min): string =>
  `expected ${min === max ? min : `${min} to ${max}`} operands`;
