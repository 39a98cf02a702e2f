/** Functions that give another value for every row, and for every run. */

import { perRow } from "../kernels/arithmetic.js";
import { FLOAT64, STRING, type ValueType } from "../values/types.js";
import { type FunctionDefinition, type Functions, operandCount } from "./form.js";

const volatile =
  (type: ValueType, make: () => number | string): FunctionDefinition =>
  (types) =>
    types.length > 0
      ? operandCount(0)
      : { operands: [], type, isVolatile: true, kernel: (_, length) => perRow(type, length, null, make) };

export const VOLATILE_FUNCTIONS: Functions = {
  /** From 0 up to, but without, 1. */
  random: volatile(FLOAT64, Math.random),
  uuid: volatile(STRING, () => crypto.randomUUID()),
};
