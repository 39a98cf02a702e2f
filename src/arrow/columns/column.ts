/**
 * A column in physical form: as the file layer stores it and Arrow buffers hold it, without Arrow's classes.
 * All members are views of memory that others may own. Nobody writes into a column that was passed in.
 * `data.ts` converts columns to and from apache-arrow `Data`.
 */

import type { LazyFixedValues, LazyTexts } from "./lazyValues.js";

/** Layout of the values of an Arrow type in memory and in a file. Every Arrow type maps to one layout. */
export type Layout = LeafLayout | ListLayout | SizedListLayout | StructLayout;

/** Layouts that a file keeps in one physical column. */
export type LeafLayout =
  | FixedLayout
  | BitsLayout
  | VariableLayout
  | FixedSizeListLayout
  | DictionaryLayout
  | PackedStructLayout
  | NullLayout;

/** Values of one byte or more each: integers, floats, temporal types, decimals, fixed-size binary. */
export interface FixedLayout {
  readonly kind: "fixed";
  /** Bytes per value, ≥ 1. */
  readonly byteWidth: number;
}

/** Booleans, one bit each, least significant bit first. */
export interface BitsLayout {
  readonly kind: "bits";
}

/** Strings and binaries. */
export interface VariableLayout {
  readonly kind: "variable";
  /** Width of the Arrow offsets; the large types have 64. */
  readonly offsetBits: 32 | 64;
  /** UTF-8 text rather than arbitrary bytes. */
  readonly text: boolean;
}

/** The layout of JSON in a file, and of large binaries anywhere. */
export const JSONB_LAYOUT: VariableLayout = { kind: "variable", offsetBits: 64, text: false };

/** `dimension` items per value, each with a validity of its own. */
export interface FixedSizeListLayout {
  readonly kind: "fixedSizeList";
  readonly dimension: number;
  readonly item: FixedLayout | BitsLayout | FixedSizeListLayout;
}

/** Indices into a dictionary that is stored with the column. */
export interface DictionaryLayout {
  readonly kind: "dictionary";
  /** Width of the indices: 1, 2, 4 or 8 bytes. */
  readonly index: FixedLayout;
  readonly indexSigned: boolean;
  readonly value: VariableLayout | FixedLayout;
}

/** Any number of items per value; maps are lists of structs of key and value. */
export interface ListLayout {
  readonly kind: "list";
  /** Width of the Arrow offsets; large lists have 64. */
  readonly offsetBits: 32 | 64;
  readonly item: Layout;
  /** Items may be null. */
  readonly itemNullable: boolean;
  /** True for a map of Arrow. */
  readonly isMap: boolean;
}

/** `dimension` structs per value, whose members have columns of their own; see also fixedSizeList. */
export interface SizedListLayout {
  readonly kind: "sizedList";
  readonly dimension: number;
  readonly item: StructLayout | PackedStructLayout;
  /** Items may be null. */
  readonly itemNullable: boolean;
}

/**
 * Named members whose values lie row by row in one column, never null by themselves. In memory it is a struct
 * like any other. A struct without members has this layout too.
 */
export interface PackedStructLayout {
  readonly kind: "packedStruct";
  readonly children: readonly PackedMember[];
}

export const isEmptyStruct = (layout: Layout): boolean =>
  layout.kind === "packedStruct" && layout.children.length === 0;

export interface PackedMember extends StructChild {
  readonly layout: FixedLayout | VariableLayout | FixedSizeListLayout;
}

/** Named members, each a column of its own. */
export interface StructLayout {
  readonly kind: "struct";
  readonly children: readonly StructChild[];
}

export interface StructChild {
  readonly name: string;
  readonly layout: Layout;
  readonly nullable: boolean;
}

/** Every value is null; nothing is stored. */
export interface NullLayout {
  readonly kind: "null";
}

/** One bit per value, least significant first, 1 = valid. Bit `bitOffset + i` belongs to value `i`. */
export interface Validity {
  readonly bytes: Uint8Array;
  readonly bitOffset: number;
  /** Number of zero bits, > 0 (a column without nulls has no validity). */
  readonly nullCount: number;
}

interface ColumnBase {
  readonly length: number;
  /** Null if no value is null. */
  readonly validity: Validity | null;
}

export interface FixedColumn extends ColumnBase {
  readonly kind: "fixed";
  readonly byteWidth: number;
  /** `length · byteWidth` bytes, little-endian values; slots of nulls hold anything. */
  readonly values: Uint8Array;
  /** Lazy form of the values, which are made when first read; absent once they exist. Spreads drop it. */
  readonly lazy?: LazyFixedValues;
}

export interface BitsColumn extends ColumnBase {
  readonly kind: "bits";
  /** Bit `bitOffset + i` is value `i`. */
  readonly bits: Uint8Array;
  readonly bitOffset: number;
}

export interface VariableColumn extends ColumnBase {
  readonly kind: "variable";
  /** `length + 1` ascending offsets into `bytes`, the first ≥ 0. Slots of nulls may be non-empty. */
  readonly offsets: Int32Array | BigInt64Array;
  readonly bytes: Uint8Array;
  /** Lazy form of the values, which are decoded when first read; absent once they exist. Spreads drop it. */
  readonly lazy?: LazyTexts;
}

export interface FixedSizeListColumn extends ColumnBase {
  readonly kind: "fixedSizeList";
  readonly dimension: number;
  /** `length · dimension` items, those of null lists included. */
  readonly items: FixedColumn | BitsColumn | FixedSizeListColumn;
}

export interface DictionaryColumn extends ColumnBase {
  readonly kind: "dictionary";
  /** Has no validity: nulls are those of the column. Slots of nulls hold a valid index or anything. */
  readonly indices: FixedColumn;
  /** Values of the dictionary; may hold nulls. */
  readonly dictionary: VariableColumn | FixedColumn;
}

export interface NullColumn extends ColumnBase {
  readonly kind: "null";
}

export interface ListColumn extends ColumnBase {
  readonly kind: "list";
  /** `length + 1` ascending offsets into `items`; the first may be positive. Null lists may be non-empty. */
  readonly offsets: Int32Array | BigInt64Array;
  readonly items: Column;
}

export interface StructColumn extends ColumnBase {
  readonly kind: "struct";
  /** Columns of the struct's length; members of null structs hold anything. */
  readonly children: readonly Column[];
}

export interface SizedListColumn extends ColumnBase {
  readonly kind: "sizedList";
  readonly dimension: number;
  /** `length · dimension` items, those of null lists included. */
  readonly items: Column;
}

export interface PackedStructColumn extends ColumnBase {
  readonly kind: "packedStruct";
  /** Columns of the struct's length; members of null structs hold anything. */
  readonly children: readonly PackedMemberColumn[];
}

export type PackedMemberColumn = FixedColumn | VariableColumn | FixedSizeListColumn;

export type Column = LeafColumn | ListColumn | SizedListColumn | StructColumn;

export type LeafColumn =
  | FixedColumn
  | BitsColumn
  | VariableColumn
  | FixedSizeListColumn
  | DictionaryColumn
  | PackedStructColumn
  | NullColumn;
