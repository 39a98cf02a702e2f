/** Constants: literals, values of programs, and numbers with the digits of the text. */

import { type Bound, type Constant, constantOf } from "../evaluate/bound.js";
import { parseDecimal } from "../kernels/casts.js";
import type { NumberLiteral } from "../parse/syntax.js";
import { columnOfScalars, type Scalar } from "../values/scalars.js";
import { FLOAT64, type ValueType } from "../values/types.js";
import { wholeType } from "./coercion.js";

export const scalarConstant = (type: ValueType, value: Scalar): Constant =>
  constantOf(type, columnOfScalars(type, [value]));

export function numberConstant({ value, isWhole, text }: NumberLiteral): Constant {
  if (!isWhole) return { ...scalarConstant(FLOAT64, Number(value)), text };
  const integer = BigInt(value);
  const type = wholeType(integer);
  return { ...scalarConstant(type, type.kind === "float" ? Number(value) : integer), text };
}

/** Returns a number with the digits of the text, to compare it exactly with integers and decimals. */
export function writtenDecimal(operand: Bound, typed: Bound): Bound {
  if (operand.kind !== "constant" || operand.text === undefined || operand.type.kind !== "float")
    return operand;
  if (typed.kind !== "column" || (typed.type.kind !== "int" && typed.type.kind !== "decimal")) return operand;
  return decimalOfText(operand.text) ?? operand;
}

/** Returns the exact value of a number with a point or exponent; null if it has too many digits. */
export function decimalOfText(text: string): Constant | null {
  const match = /^-?(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (match === null) return null;
  const scale = Math.max(0, match[2].length - Number(match[3] ?? 0));
  const value = scale > MAX_DIGITS ? null : parseDecimal(text, scale);
  if (value === null || value >= 10n ** 38n || value <= -(10n ** 38n)) return null;
  const type: ValueType = { kind: "decimal", bits: 128, precision: MAX_DIGITS, scale };
  return scalarConstant(type, value);
}

const MAX_DIGITS = 38;
