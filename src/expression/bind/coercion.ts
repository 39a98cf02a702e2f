/** Casts of literals to the type of a column beside them. The column keeps its type, as in the reference. */

import type { Scalar } from "../values/scalars.js";
import {
  areSame,
  FLOAT64,
  greatestInteger,
  INT64,
  leastInteger,
  UINT64,
  type ValueType,
} from "../values/types.js";

/** A literal to cast to the type of a column. */
export interface Literal {
  readonly type: ValueType;
  readonly value: Scalar;
}

/**
 * Casts a literal. Returns undefined if the column has no such value and the reference refuses the literal.
 */
export function literalAs({ type, value }: Literal, targetType: ValueType): Scalar | undefined {
  if (value === null || areSame(type, targetType)) return value;
  switch (type.kind) {
    case "int":
      return integerAs(value as number | bigint, targetType);
    case "float":
      return targetType.kind === "float" ? value : undefined;
    case "string":
      return targetType.kind === "string" ? value : undefined;
    case "bool":
      return targetType.kind === "bool" ? value : undefined;
    case "binary":
      if (targetType.kind === "binary") return value;
      return targetType.kind === "fixedSizeBinary" && (value as Uint8Array).length === targetType.bytes
        ? value
        : undefined;
    case "list": {
      if (
        targetType.kind !== "list" ||
        (targetType.size !== null && targetType.size !== (value as Scalar[]).length)
      )
        return undefined;
      const items = (value as Scalar[]).map((item) =>
        literalAs({ type: type.item, value: item }, targetType.item),
      );
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
