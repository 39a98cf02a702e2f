/** Types of values in expressions. A dictionary has the type of its values. */

import type { Layout } from "../../arrow/columns/column.js";
import {
  type DecimalType,
  type FloatType,
  formatType,
  type IntegerType,
  isSameType,
  type LogicalType,
  type TimestampType,
  type TimeUnit,
} from "../../arrow/types/type.js";

export type PlainType = Exclude<
  LogicalType,
  { kind: "dictionary" | "list" | "fixedSizeList" | "struct" | "map" | "json" | "bfloat16" | "unknown" }
>;

/** Lists of any number of items, or of `size`. */
export interface ListValueType {
  readonly kind: "list";
  readonly large: boolean;
  /** Null where lists have any number of items. */
  readonly size: number | null;
  readonly item: ValueType;
}

export interface StructValueType {
  readonly kind: "struct";
  readonly members: readonly { readonly name: string; readonly type: ValueType }[];
}

/** Types that expressions can only pass on and test for null. */
export interface OtherValueType {
  readonly kind: "other";
  readonly name: string;
}

export type ValueType = PlainType | ListValueType | StructValueType | OtherValueType;

/** Kinds of types whose values vary in size. */
export const UNSIZED: ReadonlySet<ValueType["kind"]> = new Set(["string", "binary", "list", "struct"]);

export type NumericType = IntegerType | FloatType | DecimalType;

export const NULL: ValueType = { kind: "null" };
export const BOOL: ValueType = { kind: "bool" };
export const INT32: IntegerType = { kind: "int", bits: 32, signed: true };
export const INT64: IntegerType = { kind: "int", bits: 64, signed: true };
export const UINT64: IntegerType = { kind: "int", bits: 64, signed: false };
export const FLOAT16: FloatType = { kind: "float", bits: 16 };
export const FLOAT32: FloatType = { kind: "float", bits: 32 };
export const FLOAT64: FloatType = { kind: "float", bits: 64 };
export const STRING: PlainType = { kind: "string", large: false };
export const LARGE_STRING: PlainType = { kind: "string", large: true };
export const BINARY: PlainType = { kind: "binary", large: false };
export const DATE: PlainType = { kind: "date", bits: 32 };

export const timestamp = (unit: TimeUnit, timezone: string | null): TimestampType => ({
  kind: "timestamp",
  unit,
  timezone,
});

export const listTypeOf = (item: ValueType): ListValueType => ({
  kind: "list",
  large: false,
  size: null,
  item,
});

/** The part of a schema field that expressions need. */
export interface TypedField {
  readonly name: string;
  readonly type: LogicalType;
  readonly children: readonly TypedField[];
}

export function valueTypeOfField(field: TypedField): ValueType {
  return valueTypeOf(field.type, field.children);
}

function valueTypeOf(type: LogicalType, children: readonly TypedField[]): ValueType {
  switch (type.kind) {
    case "dictionary":
      return valueTypeOf(type.values, []);
    case "list":
      return { kind: "list", large: type.large, size: null, item: valueTypeOfField(children[0]) };
    case "fixedSizeList": {
      const item = children.length > 0 ? valueTypeOfField(children[0]) : valueTypeOf(type.of, []);
      return { kind: "list", large: false, size: type.size, item };
    }
    case "struct":
      return {
        kind: "struct",
        members: children.map((child) => ({ name: child.name, type: valueTypeOfField(child) })),
      };
    case "map":
    case "json":
    case "bfloat16":
      return { kind: "other", name: type.kind };
    case "unknown":
      return { kind: "other", name: type.text };
    default:
      return type;
  }
}

export function typeName(type: ValueType): string {
  switch (type.kind) {
    case "list":
      return type.size === null
        ? `list of ${typeName(type.item)}`
        : `list of ${type.size} ${typeName(type.item)}`;
    case "struct":
      return `struct of ${type.members.map(({ name }) => name).join(", ")}`;
    case "other":
      return type.name;
    default:
      return formatType(type);
  }
}

export function areSame(left: ValueType, right: ValueType): boolean {
  if (left === right) return true;
  switch (left.kind) {
    case "list":
      return (
        right.kind === "list" &&
        left.size === right.size &&
        left.large === right.large &&
        areSame(left.item, right.item)
      );
    case "struct":
      return (
        right.kind === "struct" &&
        left.members.length === right.members.length &&
        left.members.every(
          ({ name, type }, index) =>
            name === right.members[index].name && areSame(type, right.members[index].type),
        )
      );
    case "other":
      return right.kind === "other" && left.name === right.name;
    default:
      return (
        right.kind !== "list" && right.kind !== "struct" && right.kind !== "other" && isSameType(left, right)
      );
  }
}

export const isNumeric = (type: ValueType): type is NumericType =>
  type.kind === "int" || type.kind === "float" || type.kind === "decimal";

export const isTextType = (type: ValueType): boolean => type.kind === "string";

/** Returns the layout of the values that expressions compute. */
export function layoutOfValue(type: ValueType): Layout {
  switch (type.kind) {
    case "null":
      return { kind: "null" };
    case "bool":
      return { kind: "bits" };
    case "string":
    case "binary":
      return { kind: "variable", offsetBits: type.large ? 64 : 32, text: type.kind === "string" };
    case "list":
      return {
        kind: "list",
        offsetBits: 32,
        item: layoutOfValue(type.item),
        itemNullable: true,
        isMap: false,
      };
    case "struct":
      return {
        kind: "struct",
        children: type.members.map((member) => ({
          name: member.name,
          layout: layoutOfValue(member.type),
          nullable: true,
        })),
      };
    case "other":
      return { kind: "null" };
    default:
      return { kind: "fixed", byteWidth: byteWidthOf(type) };
  }
}

/** Bytes of a value of fixed width. */
export function byteWidthOf(type: ValueType): number {
  switch (type.kind) {
    case "int":
    case "float":
    case "decimal":
    case "date":
      return type.bits / 8;
    case "time":
      return type.unit === "s" || type.unit === "ms" ? 4 : 8;
    case "timestamp":
    case "duration":
      return 8;
    case "fixedSizeBinary":
      return type.bytes;
    default:
      return 0;
  }
}

export const TICKS_PER_SECOND: Readonly<Record<TimeUnit, number>> = {
  s: 1,
  ms: 1_000,
  us: 1_000_000,
  ns: 1_000_000_000,
};

export const leastInteger = ({ bits, signed }: IntegerType): bigint =>
  signed ? -(1n << BigInt(bits - 1)) : 0n;
export const greatestInteger = ({ bits, signed }: IntegerType): bigint =>
  (1n << BigInt(signed ? bits - 1 : bits)) - 1n;
