/** Constants: literals, values of programs, numbers with the digits of the text, and casts of literals. */

import { type Bound, type Constant, constantOf } from "../evaluate/bound.js";
import { parseDecimal } from "../kernels/decimals.js";
import type { SyntaxOf } from "../parse/syntax.js";
import { columnOfScalars, type Scalar } from "../values/scalars.js";
import {
  areSame,
  FLOAT64,
  greatestInteger,
  INT64,
  leastInteger,
  UINT64,
  type ValueType,
} from "../values/types.js";

export const scalarConstant = (type: ValueType, value: Scalar): Constant =>
  constantOf(type, columnOfScalars(type, [value]));

export function numberConstant({ value, isWhole, text }: SyntaxOf<"number">): Constant {
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

/**
 * Casts a literal to the type of the column beside it. The column keeps its type, as in the reference.
 * @returns undefined if the column has no such value and the reference refuses the literal
 */
export function literalAs(type: ValueType, value: Scalar, targetType: ValueType): Scalar | undefined {
  if (value === null || areSame(type, targetType)) return value;
  switch (type.kind) {
    case "int":
      return integerAs(value as number | bigint, targetType);
    case "float":
    case "string":
    case "bool":
      return targetType.kind === type.kind ? value : undefined;
    case "binary":
      if (targetType.kind === "binary") return value;
      return targetType.kind === "fixedSizeBinary" && (value as Uint8Array).length === targetType.bytes
        ? value
        : undefined;
    case "list": {
      const list = value as Scalar[];
      if (targetType.kind !== "list") return undefined;
      if (targetType.size !== null && targetType.size !== list.length) return undefined;
      const items = list.map((item) => literalAs(type.item, item, targetType.item));
      return items.includes(undefined) ? undefined : (items as Scalar[]);
    }
    default:
      return undefined;
  }
}

function integerAs(value: number | bigint, targetType: ValueType): Scalar | undefined {
  switch (targetType.kind) {
    case "int": {
      const integer = BigInt(value);
      if (integer < leastInteger(targetType) || integer > greatestInteger(targetType)) return undefined;
      return targetType.bits === 64 ? integer : Number(integer);
    }
    case "float":
      return Number(value);
    case "decimal": {
      const scaled = BigInt(value) * 10n ** BigInt(Math.max(targetType.scale, 0));
      return scaled < 10n ** BigInt(targetType.precision) && scaled > -(10n ** BigInt(targetType.precision))
        ? scaled
        : undefined;
    }
    case "time":
      return targetType.unit === "s" || targetType.unit === "ms" ? Number(value) : undefined;
    default:
      return undefined;
  }
}

/** Returns the type of a whole number in a text. */
export function wholeType(value: bigint): ValueType {
  if (BigInt.asIntN(64, value) === value) return INT64;
  return BigInt.asUintN(64, value) === value ? UINT64 : FLOAT64;
}
