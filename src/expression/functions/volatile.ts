/** Functions that return another value for every row and every run. */

import { Pace } from "../../async/eventLoop.js";
import { fixedColumn } from "../kernels/arithmetic.js";
import { textRows } from "../kernels/textRows.js";
import type { ValueKernel } from "../values/operands.js";
import { FLOAT64, STRING, type ValueType } from "../values/types.js";
import { type FunctionDefinition, type Functions, operandCount } from "./form.js";

const volatile =
  (type: ValueType, kernel: ValueKernel): FunctionDefinition =>
  (types) =>
    types.length > 0 ? operandCount(0) : { operands: [], type, isVolatile: true, kernel };

/** Random numbers per step. */
const STEP_NUMBERS = 2 ** 14;

const randomNumbers: ValueKernel = function* run(_, length) {
  const numbers = new Float64Array(length);
  const pace = new Pace(STEP_NUMBERS);
  for (let row = 0; row < length; row++) {
    numbers[row] = Math.random();
    if (pace.isStep()) yield;
  }
  return fixedColumn(numbers, length, null);
};

/** Writes identifiers as bytes directly: an array of many texts would be slow to collect. */
const identifiers: ValueKernel = (_, length) =>
  textRows(null, [], length, null, (_row, texts) => {
    texts.putText(crypto.randomUUID());
    return undefined;
  });

export const VOLATILE_FUNCTIONS: Functions = {
  /** From 0 up to, but without, 1. */
  random: volatile(FLOAT64, randomNumbers),
  uuid: volatile(STRING, identifiers),
};
