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
export function literalAs({ type, value }: Literal, wanted: ValueType): Scalar | undefined {
  if (value === null || areSame(type, wanted)) return value;
  switch (type.kind) {
    case "int":
      return integerAs(value as number | bigint, wanted);
    case "float":
      return wanted.kind === "float" ? value : undefined;
    case "string":
      return wanted.kind === "string" ? value : undefined;
    case "bool":
      return wanted.kind === "bool" ? value : undefined;
    case "binary":
      if (wanted.kind === "binary") return value;
      return wanted.kind === "fixedSizeBinary" && (value as Uint8Array).length === wanted.bytes
        ? value
        : undefined;
    case "list": {
      if (wanted.kind !== "list" || (wanted.size !== null && wanted.size !== (value as Scalar[]).length))
        return undefined;
      const items = (value as Scalar[]).map((item) =>
        literalAs({ type: type.item, value: item }, wanted.item),
      );
      return items.includes(undefined) ? undefined : (items as Scalar[]);
    }
    default:
      return undefined;
  }
}

function integerAs(value: number | bigint, wanted: ValueType): Scalar | undefined {
  switch (wanted.kind) {
    case "int": {
      const integer = BigInt(value);
      if (integer < leastInteger(wanted) || integer > greatestInteger(wanted)) return undefined;
      return wanted.bits === 64 ? integer : Number(integer);
    }
    case "float":
      return Number(value);
    case "decimal": {
      const scaled = BigInt(value) * 10n ** BigInt(Math.max(wanted.scale, 0));
      return scaled < 10n ** BigInt(wanted.precision) && scaled > -(10n ** BigInt(wanted.precision))
        ? scaled
        : undefined;
    }
    case "time":
      return wanted.unit === "s" || wanted.unit === "ms" ? Number(value) : undefined;
    default:
      return undefined;
  }
}

/** Returns the type of a whole number in a text. */
export function wholeType(value: bigint): ValueType {
  if (BigInt.asIntN(64, value) === value) return INT64;
  return BigInt.asUintN(64, value) === value ? UINT64 : FLOAT64;
}
