/**
 * Types of the Arrow data that programs may pass: objects of any copy of apache-arrow, or of their form.
 * Tests of types that work for all copies.
 */

import type {
  Data as ArrowData,
  Table as ArrowTable,
  Binary,
  BufferType,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  Float,
  Int,
  LargeBinary,
  List,
  Map_,
  Null,
  RecordBatch,
  Schema,
  Struct,
  Utf8,
} from "apache-arrow";

type Buffers = ArrowData["buffers"];

/** A schema of any copy of apache-arrow. */
export type SchemaLike =
  | Schema
  | {
      fields: FieldLike[];
      metadata: Map<string, string>;
      get names(): unknown[];
    };

/** A field of any copy of apache-arrow, or an object with the name of its type. */
export type FieldLike =
  | Field
  | {
      type: string;
      name: string;
      nullable: boolean;
      metadata?: Map<string, string>;
    };

/** Values of a column in any copy of apache-arrow. */
export type DataLike =
  | ArrowData
  | {
      // biome-ignore lint/suspicious/noExplicitAny: as LanceDB declares it
      type: any;
      length: number;
      offset: number;
      stride: number;
      nullable: boolean;
      children: DataLike[];
      dictionary?: { data: readonly DataLike[] };
      get nullCount(): number;
      values: Buffers[BufferType.DATA];
      typeIds: Buffers[BufferType.TYPE];
      nullBitmap: Buffers[BufferType.VALIDITY];
      valueOffsets: Buffers[BufferType.OFFSET];
    };

/** A record batch of any copy of apache-arrow. */
export type RecordBatchLike = RecordBatch | { schema: SchemaLike; data: DataLike };

/** A table of any copy of apache-arrow. */
export type TableLike = ArrowTable | { schema: SchemaLike; batches: RecordBatchLike[] };

/** Rows that LanceDB's calls take: objects, or a table. */
export type Data = Record<string, unknown>[] | TableLike;

/** True for tables of any copy of apache-arrow. */
export function isArrowTable(value: object): value is TableLike {
  return "schema" in value && "batches" in value;
}

/** Numbers of the types in apache-arrow's enumeration `Type`, in all releases. */
const hasTypeId = (value: unknown, typeId: number): boolean =>
  typeof value === "object" && value !== null && "typeId" in value && value.typeId === typeId;

export const isNull = (value: unknown): value is Null => hasTypeId(value, 1);
export const isInt = (value: unknown): value is Int => hasTypeId(value, 2);
export const isFloat = (value: unknown): value is Float => hasTypeId(value, 3);
export const isBinary = (value: unknown): value is Binary => hasTypeId(value, 4);
export const isUtf8 = (value: unknown): value is Utf8 => hasTypeId(value, 5);
export const isBool = (value: unknown): value is Utf8 => hasTypeId(value, 6);
export const isDecimal = (value: unknown): value is Utf8 => hasTypeId(value, 7);
export const isDate = (value: unknown): value is Utf8 => hasTypeId(value, 8);
export const isTime = (value: unknown): value is Utf8 => hasTypeId(value, 9);
export const isTimestamp = (value: unknown): value is Utf8 => hasTypeId(value, 10);
export const isInterval = (value: unknown): value is Utf8 => hasTypeId(value, 11);
export const isList = (value: unknown): value is List => hasTypeId(value, 12);
export const isStruct = (value: unknown): value is Struct => hasTypeId(value, 13);
export const isUnion = (value: unknown): value is Struct => hasTypeId(value, 14);
export const isFixedSizeBinary = (value: unknown): value is FixedSizeBinary => hasTypeId(value, 15);
export const isFixedSizeList = (value: unknown): value is FixedSizeList => hasTypeId(value, 16);
export const isMap = (value: unknown): value is Map_ => hasTypeId(value, 17);
export const isDuration = (value: unknown): value is Utf8 => hasTypeId(value, 18);
export const isLargeBinary = (value: unknown): value is LargeBinary => hasTypeId(value, 19);
export const isLargeUtf8 = (value: unknown): value is Utf8 => hasTypeId(value, 20);

/**
 * True for an instance of a class of this copy of apache-arrow. Since release 21, `instanceof` is true for
 * instances of other copies, too, which do not fit together with those of this one.
 */
export const isOfThisCopy = <Instance>(
  value: unknown,
  ofThisCopy: abstract new (...args: never[]) => Instance,
): value is Instance =>
  (value as { readonly constructor?: unknown } | null | undefined)?.constructor === ofThisCopy;
