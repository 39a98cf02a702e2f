/**
 * Infers the schema of plain objects if neither a table nor the caller has one:
 *
 *     number          float64
 *     bigint          int64
 *     boolean         bool
 *     string          utf8
 *     Date            timestamp in milliseconds, UTC
 *     Uint8Array      binary, like other views of bytes, and ArrayBuffer
 *     array           list of the items' type; numbers are vectors if the column's name is `vector` or
 *                     `embedding`, or ends in `_vector` or `_embedding`: fixed-size lists of float32
 *     typed array     fixed-size list of the typed array's item type if all have one length, otherwise list
 *     object          struct
 *
 * A column has one type. Null and undefined are null in any type. All columns are nullable.
 */

import {
  Binary,
  Bool,
  type DataType,
  Field,
  FixedSizeList,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  List,
  Schema,
  Struct,
  TimestampMillisecond,
  Uint16,
  Uint32,
  Uint64,
  Utf8,
} from "apache-arrow";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { tagOf } from "../../bytes/anyRealm.js";
import { InvalidInputError } from "../../errors.js";
import { describeValue } from "./faults.js";

/** Column names that make arrays of numbers vectors. */
const VECTOR_NAME = /^(.*_)?(vector|embedding)$/;
/** Maximum levels of nesting. Also stops at objects that contain themselves. */
const MAX_DEPTH = 32;
/** Maximum columns and members whose types are inferred. */
const MAX_MEMBERS = 2 ** 16;
/** Rows visited between two turns of the event loop. */
const ROWS_AT_ONCE = 256;

/** Infers the types of columns from the values of rows. */
export class SchemaInference {
  readonly #members = new Members("", { count: 0 });
  #rowCount = 0;

  /** @throws InvalidInputError naming row and column, for values of several types */
  async add(rows: Iterable<object>): Promise<void> {
    for (const row of rows) {
      if (this.#rowCount % ROWS_AT_ONCE === 0) await yieldToEventLoop();
      this.#members.add(row, this.#rowCount++, 0);
    }
  }

  /** True if values of a column, a member or the items of lists were nulls only. */
  get hasUnknown(): boolean {
    return this.#members.hasUnknown;
  }

  /**
   * @param hasMore true if further rows follow, for messages
   * @throws InvalidInputError naming the column, for only nulls
   */
  schema(hasMore: boolean): Schema {
    return new Schema(
      this.#members.fields(hasMore ? `the first ${this.#rowCount} rows` : rowsText(this.#rowCount)),
    );
  }
}

const rowsText = (count: number): string => (count === 1 ? "the only row" : `all ${count} rows`);

/** Summary of a column's values so far. */
type Seen =
  | { readonly kind: "scalar"; readonly name: string; readonly type: DataType }
  | { readonly kind: "array"; readonly items: Values; length: number | null; isNumeric: boolean }
  | { readonly kind: "object"; readonly members: Members };

/** Number of members of all objects so far. */
interface MemberTally {
  count: number;
}

/** Summary of the members of objects. */
class Members {
  readonly #path: string;
  readonly #tally: MemberTally;
  readonly #values = new Map<string, Values>();

  constructor(path: string, tally: MemberTally) {
    this.#path = path;
    this.#tally = tally;
  }

  add(value: object, row: number, depth: number): void {
    for (const name of Object.keys(value)) {
      let values = this.#values.get(name);
      if (values === undefined) {
        this.#tally.count++;
        if (this.#tally.count > MAX_MEMBERS) {
          throw new InvalidInputError(`the rows have more than ${MAX_MEMBERS} members; pass a schema`);
        }
        values = new Values(this.#path === "" ? name : `${this.#path}.${name}`, name, this.#tally);
        this.#values.set(name, values);
      }
      values.add((value as Record<string, unknown>)[name], row, depth);
    }
  }

  get hasUnknown(): boolean {
    for (const values of this.#values.values()) if (values.hasUnknown) return true;
    return false;
  }

  /** @param looked describes the rows that were read */
  fields(looked: string): Field[] {
    return [...this.#values].map(([name, values]) => new Field(name, values.type(looked), true));
  }
}

/** Summary of the values of a column, of a member or of the items of lists. */
class Values {
  readonly #path: string;
  readonly #name: string;
  readonly #tally: MemberTally;
  #seen: Seen | null = null;
  #firstRow = 0;

  constructor(path: string, name: string, tally: MemberTally) {
    this.#path = path;
    this.#name = name;
    this.#tally = tally;
  }

  add(value: unknown, row: number, depth: number): void {
    if (value === null || value === undefined) return;
    if (depth > MAX_DEPTH) {
      throw new InvalidInputError(`row ${row}, column ${this.#path}: nested deeper than ${MAX_DEPTH} levels`);
    }
    const valueKind = kindOf(value);
    if (valueKind === null) {
      throw new InvalidInputError(
        `row ${row}, column ${this.#path}: no type is known for ${describeValue(value)}; pass a schema, or leave the column out`,
      );
    }
    if (this.#seen === null) {
      this.#firstRow = row;
      this.#seen = this.#begin(valueKind);
    }
    this.#merge(this.#seen, valueKind, value, row, depth);
  }

  #begin(first: Found): Seen {
    if (first.kind === "scalar") return first;
    if (first.kind === "object") return { kind: "object", members: new Members(this.#path, this.#tally) };
    // The items of several vectors per row are vectors.
    const items = new Values(`${this.#path}[]`, this.#isVector ? this.#name : "", this.#tally);
    return { kind: "array", items, length: first.items.length, isNumeric: true };
  }

  #merge(seen: Seen, valueKind: Found, value: unknown, row: number, depth: number): void {
    if (seen.kind === "array" && valueKind.kind === "array") {
      if (seen.length !== valueKind.items.length) seen.length = null;
      addItems(seen, valueKind, row, depth);
    } else if (seen.kind === "object" && valueKind.kind === "object") {
      seen.members.add(value as object, row, depth + 1);
    } else if (seen.kind !== "scalar" || valueKind.kind !== "scalar" || seen.name !== valueKind.name) {
      throw new InvalidInputError(
        `row ${row}, column ${this.#path}: ${describeValue(value)} in a column whose value in row ${this.#firstRow} is ${kindName(seen)}; pass a schema to say which type is meant`,
      );
    }
  }

  get hasUnknown(): boolean {
    const seen = this.#seen;
    if (seen === null) return true;
    if (seen.kind === "scalar") return false;
    return seen.kind === "object" ? seen.members.hasUnknown : seen.items.hasUnknown;
  }

  get #isVector(): boolean {
    return VECTOR_NAME.test(this.#name);
  }

  /** @param looked describes the rows that were read */
  type(looked: string): DataType {
    const seen = this.#seen;
    if (seen === null) {
      throw new InvalidInputError(
        `column ${this.#path}: its type is unknown because it has ${this.#path.endsWith("[]") ? "no values but nulls" : "only nulls"} in ${looked}; pass a schema`,
      );
    }
    if (seen.kind === "scalar") return seen.type;
    if (seen.kind === "object") return new Struct(seen.members.fields(looked));
    const { items, length, isNumeric } = seen;
    const isVector = isNumeric && (this.#isVector || items.isTyped);
    if (isVector && length !== null && length > 0) {
      const item = items.type(looked);
      const type = item instanceof Float64 && !items.isTyped ? new Float32() : item;
      return new FixedSizeList(length, new Field("item", type, true));
    }
    if (isVector && length === null && this.#isVector) {
      throw new InvalidInputError(
        `column ${this.#path}: its vectors have different lengths; pass a schema if they are meant to be lists`,
      );
    }
    return new List(new Field("item", items.type(looked), true));
  }

  /** True if all values so far are numbers, and there is at least one. */
  get isNumber(): boolean {
    return this.#seen === NUMBER;
  }

  /** True if the items came in typed arrays, which fix the item type. */
  isTyped = false;

  /** Adds the item type of a typed array. */
  addTyped(type: DataType, name: string, row: number, value: unknown): void {
    this.isTyped = true;
    this.#seen ??= { kind: "scalar", name, type };
    this.#merge(this.#seen, { kind: "scalar", name, type }, value, row, 0);
  }
}

type Found =
  | { readonly kind: "scalar"; readonly name: string; readonly type: DataType }
  | { readonly kind: "array"; readonly items: ArrayLike<unknown>; readonly typed: DataType | null }
  | { readonly kind: "object" };

function addItems(
  seen: Extract<Seen, { kind: "array" }>,
  { items, typed }: Extract<Found, { kind: "array" }>,
  row: number,
  depth: number,
): void {
  if (typed !== null) {
    seen.items.addTyped(typed, `${typed}`, row, items);
    return;
  }
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    // Vectors have many numbers, and a further number adds no information.
    if (typeof item === "number" && seen.items.isNumber) continue;
    if (typeof item !== "number") seen.isNumeric = false;
    seen.items.add(item, row, depth + 1);
  }
}

const scalar = (name: string, type: DataType) => ({ kind: "scalar", name, type }) as const;

const NUMBER = scalar("a number", new Float64());
const BYTES = scalar("bytes", new Binary());

/** Kinds of scalars, by what `typeof` or the tag of an object says. */
const SCALARS: ReadonlyMap<string, Found> = new Map([
  ["number", NUMBER],
  ["bigint", scalar("a bigint", new Int64())],
  ["boolean", scalar("a boolean", new Bool())],
  ["string", scalar("a text", new Utf8())],
  ["Date", scalar("a Date", new TimestampMillisecond("UTC"))],
  ["Uint8Array", BYTES],
  ["Uint8ClampedArray", BYTES],
  ["DataView", BYTES],
  ["ArrayBuffer", BYTES],
  ["SharedArrayBuffer", BYTES],
]);

/** Null for values without a type: functions, symbols, maps, and objects that are not plain. */
function kindOf(value: unknown): Found | null {
  if (typeof value !== "object" || value === null) return SCALARS.get(typeof value) ?? null;
  if (Array.isArray(value)) return { kind: "array", items: value, typed: null };
  const tag = tagOf(value);
  const typed = TYPED_ARRAYS.get(tag);
  if (typed !== undefined) {
    return { kind: "array", items: value as unknown as ArrayLike<unknown>, typed: new typed() };
  }
  if (tag !== "Object") return SCALARS.get(tag) ?? null;
  return typeof (value as Iterable<unknown>)[Symbol.iterator] === "function" ? null : { kind: "object" };
}

/** Item types of typed arrays of numbers. Arrays of bytes are binary. */
const TYPED_ARRAYS: ReadonlyMap<string, new () => DataType> = new Map<string, new () => DataType>([
  ["Int8Array", Int8],
  ["Int16Array", Int16],
  ["Uint16Array", Uint16],
  ["Int32Array", Int32],
  ["Uint32Array", Uint32],
  ["Float32Array", Float32],
  ["Float64Array", Float64],
  ["BigInt64Array", Int64],
  ["BigUint64Array", Uint64],
]);

function kindName(seen: Seen): string {
  if (seen.kind === "scalar") return seen.name;
  return seen.kind === "array" ? "an array" : "an object";
}
