/**
 * Infers the schema of rows that are objects, as LanceDB does. The types of values are:
 *
 *     boolean         Bool
 *     number          Float64
 *     bigint          Int64
 *     string          Utf8, or a dictionary of texts
 *     Buffer          Binary; also ArrayBuffer
 *     typed array     FixedSizeList of its element type
 *     array           List; of numbers, in a column of vectors, FixedSizeList of floats
 *     object          Struct; its fields are those of all rows
 *
 * All fields are nullable. A column of vectors is one that the options name, or whose name has "vector" or
 * "embedding" in it. Values of a column must agree in type. Missing values, and members that are undefined,
 * tell nothing.
 *
 * With a schema, the result is that part of it which the rows name, in its order.
 */

import type { DataType, Schema } from "apache-arrow";
import * as arrow from "apache-arrow";
import { isRecord } from "../arrow/objects/valueKinds.js";
import { runSync, type Steps } from "../async/eventLoop.js";
import { tagOf } from "../bytes/anyRealm.js";
import { isBlobField } from "./blobField.js";
import { isMap, isStruct } from "./like.js";
import { sanitizeType } from "./sanitizeTypes.js";
import { isBuffer } from "./util.js";

/** Choices of {@link inferSchema}. */
export interface InferenceOptions {
  /** Infers dictionaries for texts. */
  readonly dictionaryEncodeStrings: boolean;
  /** Types of the items of vectors, by column. */
  readonly vectorColumns: Readonly<Record<string, { readonly type: unknown }>>;
}

/**
 * Returns the schema of rows: inferred, or the part of `schema` that they name.
 * @throws Error that names the field and the row of a value without a type, or of another type than before
 */
export function inferSchema(
  data: Array<Record<string, unknown>>,
  schema: Schema | undefined,
  options: InferenceOptions,
): Schema {
  return runSync(inferSchemaInSteps(data, schema, options, [data.length]));
}

/**
 * Does what {@link inferSchema} does, and can be interrupted.
 * @param pieces where pieces of the rows end, after each of which it may be
 */
export function* inferSchemaInSteps(
  data: Array<Record<string, unknown>>,
  schema: Schema | undefined,
  options: InferenceOptions,
  pieces: readonly number[],
): Steps<Schema> {
  const named = schema && new NamedFields(schema.fields);
  const inferred = new InferredFields(options, 0);
  const rows = named ?? inferred;
  let row = 0;
  for (const end of pieces) {
    for (; row < end; row++) rows.add(requireRow(data[row], row), row, "");
    yield;
  }
  if (named === undefined) return new arrow.Schema(inferred.fields(""));
  return new arrow.Schema(named.fields(), schema?.metadata);
}

/** Maximum nesting of a value. */
const MAX_DEPTH = 64;

/** @throws TypeError for a row that is not an object */
export function requireRow(row: unknown, index: number): object {
  if (typeof row === "object" && row !== null) return row;
  throw new TypeError(`Expected an object at row ${index} but found ${row === null ? "null" : typeof row}`);
}

/** True for a value whose members are the fields of a struct. */
const isStructValue = (value: unknown): value is object =>
  isRecord(value) && !isVector(value) && (isPlain(value) || Object.keys(value).length > 0);

/** True for a vector of any copy of apache-arrow, which is a list of values. */
export const isVector = (value: object): boolean =>
  Symbol.isConcatSpreadable in value && "data" in value && "get" in value;

const pathOf = (parent: string, name: string): string => (parent === "" ? name : `${parent}.${name}`);

function checkDepth(depth: number, path: string, row: number): void {
  if (depth <= MAX_DEPTH) return;
  const shown = path.length > 60 ? `${path.slice(0, 60)}…` : path;
  throw new Error(`Objects are nested more than ${MAX_DEPTH} deep in field ${shown} at row ${row}`);
}

/** The fields of a schema, or of a struct in it, that rows name. */
class NamedFields {
  readonly #fields: ReadonlyMap<string, arrow.Field>;
  readonly #all: readonly arrow.Field[];
  /** By name: the named fields of a struct whose members rows name; null for a field as a whole. */
  readonly #named = new Map<string, NamedFields | null>();

  constructor(fields: readonly arrow.Field[]) {
    this.#all = fields;
    this.#fields = new Map(fields.map((field) => [field.name, field]));
  }

  add(value: object, row: number, parent: string): void {
    for (const name of Object.keys(value)) {
      const member = (value as Record<string, unknown>)[name];
      if (isAbsent(member)) continue;
      const field = this.#fields.get(name);
      const path = pathOf(parent, name);
      if (field === undefined) throw new Error(`Found field not in schema: ${path} at row ${row}`);
      this.#addMember(field, member, row, path);
    }
  }

  #addMember(field: arrow.Field, member: unknown, row: number, path: string): void {
    const { name, type } = field;
    const named = this.#named.get(name) ?? null;
    if (!isStructValue(member) || isMap(type)) {
      this.#named.set(name, named);
      return;
    }
    const inner = named ?? new NamedFields(isStruct(type) ? type.children : []);
    inner.add(member, row, path);
    // Values of blobs are completed, so their column has all fields.
    this.#named.set(name, isBlobField(field) ? null : inner);
  }

  get isEmpty(): boolean {
    return this.#named.size === 0;
  }

  fields(): arrow.Field[] {
    return this.#all.flatMap((field) => {
      const { name, nullable, metadata } = field;
      const inner = this.#named.get(name);
      if (inner === undefined) return [];
      if (inner === null) return [field];
      if (inner.isEmpty) return [];
      return [new arrow.Field(name, new arrow.Struct(inner.fields()), nullable, metadata) as arrow.Field];
    });
  }
}

/** Facts that rows tell about a field. */
type Guess =
  /** Only nulls so far, or lists without items that tell their type. */
  | { readonly kind: "open"; readonly shown: string; readonly items: Guess | null; readonly row: number }
  | { readonly kind: "type"; readonly type: DataType; readonly row: number }
  | { readonly kind: "struct"; readonly fields: InferredFields; readonly row: number };

const shownGuess = (guess: Guess): string =>
  guess.kind === "open" ? guess.shown : guess.kind === "type" ? `${guess.type}` : "Struct";

/** The fields of rows, or of the objects in a member of them, in the order in which rows first name them. */
class InferredFields {
  readonly #options: InferenceOptions;
  readonly #depth: number;
  readonly #guesses = new Map<string, Guess>();

  constructor(options: InferenceOptions, depth: number) {
    this.#options = options;
    this.#depth = depth;
  }

  add(value: object, row: number, parent: string): void {
    for (const name of Object.keys(value)) {
      const member = (value as Record<string, unknown>)[name];
      const prior = this.#guesses.get(name);
      if (isAbsent(member) || (prior !== undefined && tellsNothingNew(prior, member))) continue;
      const path = pathOf(parent, name);
      checkDepth(this.#depth, path, row);
      if (prior?.kind === "struct" && isStructValue(member)) prior.fields.add(member, row, path);
      else this.#guesses.set(name, this.#combined(prior, member, { name, path, row }));
    }
  }

  #combined(prior: Guess | undefined, member: unknown, { name, path, row }: Place): Guess {
    const isOpen = prior === undefined || isUntold(prior);
    const guess = isStructValue(member)
      ? this.#structGuess(isOpen ? member : {}, path, row)
      : guessOf(member, this.#vectors(name), row, this.#depth);
    if (guess === null && prior === undefined) throw untold(path, row);
    const combined = guess === null ? null : prior === undefined ? guess : merged(prior, guess);
    if (combined !== null) return combined;
    const shown = guess === null ? "an unsupported value" : shownGuess(guess);
    throw new Error(
      `Failed to infer schema for data. Previously inferred type ${shownGuess(prior as Guess)} but found ${shown} for field ${path} at row ${row}. ${CONSIDER}`,
    );
  }

  #structGuess(member: object, path: string, row: number): Guess | null {
    const fields = new InferredFields(this.#options, this.#depth + 1);
    fields.add(member, row, path);
    return { kind: "struct", fields, row };
  }

  #vectors(name: string): Vectors {
    const { dictionaryEncodeStrings, vectorColumns } = this.#options;
    const isListed = this.#depth === 0 && Object.hasOwn(vectorColumns, name);
    return {
      listedType: isListed ? vectorColumns[name].type : null,
      isListed,
      isNamed: /vector|embedding/i.test(name),
      text: dictionaryEncodeStrings ? DICTIONARY : TYPES.string,
    };
  }

  /** @throws Error for a field whose type no row tells */
  fields(parent: string): arrow.Field[] {
    return [...this.#guesses].flatMap(([name, guess]) => {
      const path = pathOf(parent, name);
      if (guess.kind === "open") throw untold(path, guess.row);
      const type = guess.kind === "type" ? guess.type : new arrow.Struct(guess.fields.fields(path));
      return [new arrow.Field(name, type, true) as arrow.Field];
    });
  }
}

interface Place {
  readonly name: string;
  readonly path: string;
  readonly row: number;
}

const CONSIDER = "Consider providing an explicit schema.";

const untold = (path: string, row: number): Error =>
  new Error(`Failed to infer data type for field ${path} at row ${row}. ${CONSIDER}`);

/**
 * True for a member that counts as absent: undefined, or an object whose members are all absent. Objects
 * whose content is not in members, such as a URL, are not absent.
 */
export function isAbsent(value: unknown, depth = 0): boolean {
  if (value === undefined) return true;
  if (!isStructValue(value) || depth > MAX_DEPTH) return false;
  return Object.keys(value).every((name) => isAbsent((value as Record<string, unknown>)[name], depth + 1));
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** True if rows had only nulls so far. */
const isUntold = (guess: Guess): boolean =>
  guess.kind === "open" && guess.items === null && guess.shown === "null";

const TYPES: Readonly<Record<string, DataType>> = {
  boolean: new arrow.Bool(),
  number: new arrow.Float64(),
  bigint: new arrow.Int64(),
  string: new arrow.Utf8(),
};
const BINARY = new arrow.Binary();
const DICTIONARY = new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32());

/** Rules for the values of a column: which lists are vectors, and the type of texts. */
interface Vectors {
  /** True if the options name the column. */
  readonly isListed: boolean;
  /** Type of the items, as the options have it. */
  readonly listedType: unknown;
  /** True if the name of the column is that of vectors. */
  readonly isNamed: boolean;
  readonly text: DataType;
}

/** Tells quickly of most values that they are of the type that is known already. */
function tellsNothingNew(prior: Guess, member: unknown): boolean {
  if (member === null) return true;
  if (prior.kind !== "type") return false;
  const { type } = prior;
  switch (typeof member) {
    case "string":
      return type === TYPES.string || type === DICTIONARY;
    case "number":
      return type === TYPES.number;
    case "boolean":
      return type === TYPES.boolean;
    case "bigint":
      return type === TYPES.bigint;
    default:
      break;
  }
  if (!Array.isArray(member) || member.length === 0) return false;
  const { typeId, listSize, children } = type as DataType & { listSize?: number };
  const isVector = typeId === arrow.Type.FixedSizeList && listSize === member.length;
  if (!isVector && !(typeId === arrow.Type.List && children[0].type === TYPES.number)) return false;
  for (let index = 0; index < member.length; index++) if (typeof member[index] !== "number") return false;
  return true;
}

/** Returns the guess that a value tells; null for a value without a type. */
function guessOf(value: unknown, vectors: Vectors, row: number, depth: number): Guess | null {
  if (value === null || value === undefined) return { kind: "open", shown: "null", items: null, row };
  const typed = (type: DataType): Guess => ({ kind: "type", type, row });
  if (typeof value === "string") return typed(vectors.text);
  if (Object.hasOwn(TYPES, typeof value)) return typed(TYPES[typeof value]);
  if (typeof value !== "object") return null;
  const tag = tagOf(value);
  if (isBuffer(value) || tag === "ArrayBuffer" || tag === "SharedArrayBuffer") return typed(BINARY);
  if (ArrayBuffer.isView(value)) {
    const array = typedArrayToArrowType(value);
    return array === undefined ? null : typed(newList(array.length, array.elementType));
  }
  if (isVector(value)) {
    const { type, length } = value as { type: DataType; length: number };
    return typed(newList(arrow.DataType.isFloat(type) ? length : null, sanitizeType(type)));
  }
  return Array.isArray(value) ? listGuess(value, vectors, row, depth) : null;
}

function listGuess(list: readonly unknown[], vectors: Vectors, row: number, depth: number): Guess | null {
  const { length } = list;
  if (vectors.isListed && length > 0) {
    return { kind: "type", type: newList(length, sanitizeType(vectors.listedType)), row };
  }
  if (depth > MAX_DEPTH) return null;
  const ofItems = { ...vectors, isListed: false, isNamed: false };
  let items: Guess | null = null;
  for (let index = 0; index < length; index++) {
    const item = list[index];
    if (items !== null && tellsNothingNew(items, item)) continue;
    const guess = guessOf(item, ofItems, row, depth + 1);
    const combined: Guess | null = guess === null || items === null ? guess : merged(items, guess);
    if (combined === null) return null;
    items = combined;
  }
  if (items?.kind !== "type") return { kind: "open", shown: `List[${length}]`, items, row };
  const isNumeric = items.type !== vectors.text && Object.values(TYPES).includes(items.type);
  return vectors.isNamed && isNumeric
    ? { kind: "type", type: newList(length, new arrow.Float32()), row }
    : { kind: "type", type: newList(null, items.type), row };
}

/** @param size number of items of each list; null if it varies */
function newList(size: number | null, itemType: DataType): DataType {
  const item = new arrow.Field("item", itemType, true);
  return size === null ? new arrow.List(item) : new arrow.FixedSizeList(size, item);
}

/** Returns what two guesses tell together; null if they contradict each other. */
function merged(first: Guess, second: Guess): Guess | null {
  if (isUntold(first)) return { ...second, row: first.row };
  if (isUntold(second)) return first;
  if (first.kind === "struct" || second.kind === "struct") return null;
  if (first.kind === "type" && second.kind === "type") {
    return first.type === second.type || `${first.type}` === `${second.type}` ? first : null;
  }
  const firstItems = itemsOf(first, second);
  const secondItems = itemsOf(second, first);
  if (firstItems === false || secondItems === false) return null;
  const items = firstItems === null || secondItems === null ? null : merged(firstItems, secondItems);
  if (firstItems !== null && secondItems !== null && items === null) return null;
  if (first.kind === "type") return first;
  if (second.kind === "type") return { ...second, row: first.row };
  return { ...first, items: items ?? firstItems ?? secondItems };
}

/**
 * Returns the facts about the items of a list; null if there are none, false for a guess that is not a list.
 * @param partner the guess to merge with: a list of a fixed size needs lists of that size
 */
function itemsOf(guess: Guess, partner: Guess): Guess | null | false {
  if (guess.kind === "open") return guess.items;
  if (guess.kind === "struct") return false;
  const { typeId, children, listSize } = guess.type as DataType & { listSize?: number };
  const isSized = typeId === arrow.Type.FixedSizeList && shownGuess(partner) === `List[${listSize}]`;
  if (typeId !== arrow.Type.List && !isSized) return false;
  return { kind: "type", type: children[0].type, row: guess.row };
}

/** Element types by the names of typed arrays. */
const ELEMENT_TYPES: ReadonlyMap<string, () => DataType> = new Map<string, () => DataType>([
  ["Int8Array", () => new arrow.Int8()],
  ["Uint8Array", () => new arrow.Uint8()],
  ["Int16Array", () => new arrow.Int16()],
  ["Uint16Array", () => new arrow.Uint16()],
  ["Int32Array", () => new arrow.Int32()],
  ["Uint32Array", () => new arrow.Uint32()],
  ["Float16Array", () => new arrow.Float16()],
  ["Float32Array", () => new arrow.Float32()],
  ["Float64Array", () => new arrow.Float64()],
]);

/** Returns the type and the number of the elements of a typed array; undefined for other views. */
export function typedArrayToArrowType(
  value: ArrayBufferView,
): { elementType: DataType; length: number } | undefined {
  const elementType = ELEMENT_TYPES.get(tagOf(value))?.();
  return elementType && { elementType, length: (value as Uint8Array).length };
}
