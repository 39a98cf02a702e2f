/**
 * Definitions of tables: the columns of a table in a program, from which the Arrow schema and the type of the
 * rows follow. A definition has the members of an Arrow schema, so it works with any release of apache-arrow
 * and loads none.
 */

import { InvalidInputError } from "../errors.js";
import { isObject, shortly } from "../optionMembers.js";

/** Numbers of types in the Arrow format, as apache-arrow has them. */
const NULL = 1;
const INT = 2;
const FLOAT = 3;
const BINARY = 4;
const UTF8 = 5;
const BOOL = 6;
const DECIMAL = 7;
const DATE = 8;
const TIME = 9;
const TIMESTAMP = 10;
const LIST = 12;
const STRUCT = 13;
const FIXED_SIZE_BINARY = 15;
const FIXED_SIZE_LIST = 16;
const MAP = 17;
const DURATION = 18;
const LARGE_BINARY = 19;
const LARGE_UTF8 = 20;
const LARGE_LIST = 21;
const DICTIONARY = -1;

/** Unit of times, timestamps and durations. */
export type TimeUnitName = "s" | "ms" | "us" | "ns";
const UNITS: readonly TimeUnitName[] = ["s", "ms", "us", "ns"];

/** Type of a column in the form of apache-arrow. */
interface DefinedType {
  readonly typeId: number;
  readonly children: readonly DefinedField[];
  readonly [parameter: string]: unknown;
}

/** Field in the form of apache-arrow. */
interface DefinedField {
  readonly name: string;
  readonly type: DefinedType;
  readonly nullable: boolean;
  readonly metadata: ReadonlyMap<string, string>;
}

/** A column of a definition, whose values are read as `Value`. Values may not be null unless it says so. */
export interface ColumnDefinition<Value> {
  /** Type in the form of apache-arrow. */
  readonly type: DefinedType;
  /** True if values may be null. */
  readonly nullable: boolean;
  /** Metadata of the field. */
  readonly metadata: ReadonlyMap<string, string>;
  /** Type of the values. Absent at run time. */
  readonly value?: Value;
}

/** Columns of a definition by name. */
export type ColumnDefinitions = Readonly<Record<string, ColumnDefinition<unknown>>>;

/** Row with the columns of a definition. */
type RowOfColumns<Columns> = {
  -readonly [Name in keyof Columns]: Columns[Name] extends ColumnDefinition<infer Value> ? Value : never;
};

/** Definition of a table: an Arrow schema whose rows the compiler knows. */
export interface TableDefinition<Row extends object = Record<string, unknown>> {
  /** Fields of the Arrow schema. */
  readonly fields: readonly DefinedField[];
  /** Metadata of the Arrow schema. */
  readonly metadata: ReadonlyMap<string, string>;
  /** Type of the rows. Absent at run time. */
  readonly row?: Row;
}

/** Type of the rows of a definition: `type Order = InferRow<typeof orders>`. */
export type InferRow<Definition extends TableDefinition<object>> = NonNullable<Definition["row"]>;

/**
 * Defines the columns of a table:
 *
 *     const orders = defineTable({ id: int64(), tags: list(utf8()), vector: vector(384) });
 *     type Order = InferRow<typeof orders>;
 *     const table = ns.table("orders", { schema: orders });
 *     await table.create([{ id: 1, tags: [], vector: new Float32Array(384) }]);
 *
 * A column without {@link nullable} refuses null.
 * @throws InvalidInputError for a value that is not a column
 */
export function defineTable<const Columns extends ColumnDefinitions>(
  columns: Columns,
): TableDefinition<RowOfColumns<Columns>> {
  return { fields: fieldsOf(columns, "defineTable"), metadata: new Map() };
}

function fieldsOf(columns: ColumnDefinitions, label: string): DefinedField[] {
  if (!isObject(columns)) {
    throw new InvalidInputError(
      `${label}: must be an object of columns, as in { id: int64() }, not ${shortly(columns)}`,
    );
  }
  return Object.entries(columns).map(([name, column]) => fieldOf(name, column));
}

function fieldOf(name: string, column: ColumnDefinition<unknown>): DefinedField {
  if (!isObject(column) || !isObject(column.type)) {
    const what = typeof column === "function" ? "a function: call it, as in int64()" : shortly(column);
    throw new InvalidInputError(`${name}: must be a column, as in int64() or list(utf8()), not ${what}`);
  }
  const { type, nullable: isNullable, metadata } = column;
  return { name, type, nullable: isNullable, metadata };
}

function columnOf<Value>(
  typeId: number,
  parameters: Readonly<Record<string, unknown>> = {},
  children: readonly DefinedField[] = [],
  metadata: Readonly<Record<string, string>> = {},
): ColumnDefinition<Value> {
  return {
    type: { typeId, children, ...parameters },
    nullable: false,
    metadata: new Map(Object.entries(metadata)),
  };
}

const integer = <Value>(bitWidth: number, isSigned: boolean) => columnOf<Value>(INT, { bitWidth, isSigned });
const float = (precision: number) => columnOf<number>(FLOAT, { precision });

/** Lets values of a column be null. Rows to insert may then lack the column. */
export const nullable = <Value>(column: ColumnDefinition<Value>): ColumnDefinition<Value | null> => ({
  ...column,
  type: fieldOf("nullable", column).type,
  nullable: true,
});

/** Integer from -128 to 127. */
export const int8 = (): ColumnDefinition<number> => integer(8, true);
/** Integer of 16 bits. */
export const int16 = (): ColumnDefinition<number> => integer(16, true);
/** Integer of 32 bits. */
export const int32 = (): ColumnDefinition<number> => integer(32, true);
/** Integer of 64 bits. It is read as a bigint; rows to insert may have a number. */
export const int64 = (): ColumnDefinition<bigint> => integer(64, true);
/** Integer from 0 to 255. */
export const uint8 = (): ColumnDefinition<number> => integer(8, false);
/** Integer of 16 bits without a sign. */
export const uint16 = (): ColumnDefinition<number> => integer(16, false);
/** Integer of 32 bits without a sign. */
export const uint32 = (): ColumnDefinition<number> => integer(32, false);
/** Integer of 64 bits without a sign. It is read as a bigint; rows to insert may have a number. */
export const uint64 = (): ColumnDefinition<bigint> => integer(64, false);
/** Number of 16 bits. */
export const float16 = (): ColumnDefinition<number> => float(0);
/** Number of 32 bits. */
export const float32 = (): ColumnDefinition<number> => float(1);
/** Number of 64 bits, as those of JavaScript. */
export const float64 = (): ColumnDefinition<number> => float(2);
/** True or false. */
export const bool = (): ColumnDefinition<boolean> => columnOf(BOOL);
/** Text. */
export const utf8 = (): ColumnDefinition<string> => columnOf(UTF8);
/** Text, of more than 2 GiB per batch. */
export const largeUtf8 = (): ColumnDefinition<string> => columnOf(LARGE_UTF8);
/** Bytes. */
export const binary = (): ColumnDefinition<Uint8Array> => columnOf(BINARY);
/** Bytes, of more than 2 GiB per batch. */
export const largeBinary = (): ColumnDefinition<Uint8Array> => columnOf(LARGE_BINARY);
/** Bytes of one length. */
export const fixedSizeBinary = (byteWidth: number): ColumnDefinition<Uint8Array> =>
  columnOf(FIXED_SIZE_BINARY, { byteWidth: countOf(byteWidth, "fixedSizeBinary") });
/** JSON, which is read as its text. */
export const json = (): ColumnDefinition<string> =>
  columnOf(UTF8, {}, [], { "ARROW:extension:name": "arrow.json" });
/** Only nulls. */
export const nulls = (): ColumnDefinition<null> => ({ ...columnOf(NULL), nullable: true });
/** Decimal number, which is read as its text: `decimal(12, 2)`. */
export const decimal = (precision: number, scale = 0): ColumnDefinition<string> =>
  columnOf(DECIMAL, { precision, scale, bitWidth: precision > 38 ? 256 : 128 });
/** Day. */
export const date = (): ColumnDefinition<Date> => columnOf(DATE, { unit: 0 });
/** Moment. Default: milliseconds in UTC. Without a time zone, null, it is a local time. */
export const timestamp = (
  unit: TimeUnitName = "ms",
  timezone: string | null = "UTC",
): ColumnDefinition<Date> => columnOf(TIMESTAMP, { unit: unitOf(unit, "timestamp"), timezone });
/** Time of day, as a number of units: a bigint for `us` and `ns`. */
export const time = <Unit extends TimeUnitName = "ms">(
  unit: Unit = "ms" as Unit,
): ColumnDefinition<Unit extends "s" | "ms" ? number : bigint> =>
  columnOf(TIME, { unit: unitOf(unit, "time"), bitWidth: unit === "s" || unit === "ms" ? 32 : 64 });
/** Duration, as a bigint number of units. */
export const duration = (unit: TimeUnitName = "ms"): ColumnDefinition<bigint> =>
  columnOf(DURATION, { unit: unitOf(unit, "duration") });

/** List of any length: `list(utf8())`, or `list(nullable(utf8()))` if items may be null. */
export const list = <Value>(item: ColumnDefinition<Value>): ColumnDefinition<Value[]> =>
  columnOf(LIST, {}, [fieldOf("item", item)]);
/** List of any length, of more than 2^31 items per batch. */
export const largeList = <Value>(item: ColumnDefinition<Value>): ColumnDefinition<Value[]> =>
  columnOf(LARGE_LIST, {}, [fieldOf("item", item)]);
/** Object with members: `struct({ lat: float64(), lon: float64() })`. */
export const struct = <const Members extends ColumnDefinitions>(
  members: Members,
): ColumnDefinition<RowOfColumns<Members>> => columnOf(STRUCT, {}, fieldsOf(members, "struct"));
/** Map from keys to values. */
export const map = <Key, Value>(
  key: ColumnDefinition<Key>,
  value: ColumnDefinition<Value>,
): ColumnDefinition<Map<Key, Value>> => {
  const children = [fieldOf("key", key), { ...fieldOf("value", value), nullable: true }];
  const entries: DefinedField = {
    ...{ name: "entries", nullable: false, metadata: new Map() },
    type: { typeId: STRUCT, children },
  };
  return columnOf(MAP, { keysSorted: false }, [entries]);
};
/** Column that stores each distinct value once: `dictionary(utf8())`. */
export const dictionary = <Value>(values: ColumnDefinition<Value>): ColumnDefinition<Value> =>
  columnOf(DICTIONARY, {
    dictionary: fieldOf("dictionary", values).type,
    indices: int32().type,
    isOrdered: false,
  });

/** Arrays that vectors are read as, by the type of their items. */
interface VectorArrays {
  readonly float16: number[] | Uint16Array;
  readonly float32: Float32Array;
  readonly float64: Float64Array;
  readonly int8: Int8Array;
  readonly uint8: Uint8Array;
}
const VECTOR_ITEMS = { float16, float32, float64, int8, uint8 };

/** Vector of a fixed number of items, of float32 unless told otherwise: `vector(384)`. */
export const vector = <Item extends keyof VectorArrays = "float32">(
  dimension: number,
  item: Item = "float32" as Item,
): ColumnDefinition<VectorArrays[Item]> => {
  const itemOf = Object.hasOwn(VECTOR_ITEMS, item) ? VECTOR_ITEMS[item] : undefined;
  if (itemOf === undefined) {
    throw new InvalidInputError(
      `vector: items must be ${Object.keys(VECTOR_ITEMS).join(", ")}, not ${shortly(item)}`,
    );
  }
  const child = { ...fieldOf("item", itemOf()), nullable: true };
  return columnOf(FIXED_SIZE_LIST, { listSize: countOf(dimension, "vector") }, [child]);
};
/** List of a fixed number of items: numbers, or objects made with {@link struct}. */
export const fixedSizeList = <Value>(
  size: number,
  item: ColumnDefinition<Value>,
): ColumnDefinition<Value[]> =>
  columnOf(FIXED_SIZE_LIST, { listSize: countOf(size, "fixedSizeList") }, [
    { ...fieldOf("item", item), nullable: true },
  ]);

function countOf(count: unknown, name: string): number {
  if (typeof count === "number" && Number.isInteger(count) && count >= 1 && count < 2 ** 31) return count;
  throw new InvalidInputError(`${name}: the length must be an integer of at least 1, not ${shortly(count)}`);
}

function unitOf(unit: TimeUnitName, name: string): number {
  const index = UNITS.indexOf(unit);
  if (index >= 0) return index;
  throw new InvalidInputError(`${name}: the unit must be one of ${UNITS.join(", ")}, not ${shortly(unit)}`);
}
