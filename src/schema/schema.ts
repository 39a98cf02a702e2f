/**
 * The schema of a table as a tree of fields, and its flat form in manifests. The flat form is depth-first,
 * with parents before children, linked by parent ids. It stores types as texts, which this module parses and
 * formats.
 */

import { EXTENSION_NAME_KEY } from "../arrow/types/logicalTypes.js";
import { formatType, isSameType, type LogicalType, parseType } from "../arrow/types/type.js";
import { CorruptFileError } from "../errors.js";
import type { Field } from "../format/file.js";
import type { DataFragment } from "../format/table.js";

/** One node of a schema. */
export interface TableField {
  /** Unique in the schema. A rename does not change it. */
  readonly id: number;
  /** One path segment. */
  readonly name: string;
  readonly type: LogicalType;
  readonly nullable: boolean;
  readonly metadata: ReadonlyMap<string, string>;
  readonly children: readonly TableField[];
}

/** A field that has no id yet. */
export interface NewField extends Omit<TableField, "id" | "children"> {
  readonly children: readonly NewField[];
}

export const NO_PARENT_ID = -1;
/** Key of the metadata that makes a field part of the primary key. */
export const PRIMARY_KEY = "lance-schema:unenforced-primary-key";
/** Key of the metadata that makes a field part of the primary key, and says which part it is. */
export const PRIMARY_KEY_POSITION = "lance-schema:unenforced-primary-key:position";
/** Shared, because making a decoder costs more than decoding most texts. */
const TEXT = new TextDecoder();
const BLOB_EXTENSION = "lance.blob.v2";
export const BLOB_METADATA_KEY = "lance-encoding:blob";
export const PACKED_METADATA_KEY = "lance-encoding:packed";

/** Assigns ids in depth-first order. The ids of a new or overwritten schema start at 0. */
export function assignFieldIds(fields: readonly NewField[], firstId = 0): TableField[] {
  let nextId = firstId;
  const assign = (field: NewField): TableField => {
    const id = nextId++;
    return { ...field, id, children: field.children.map(assign) };
  };
  return fields.map(assign);
}

/** Returns the lowest id for an added column: above all ids of the schema and of live data files. */
export function nextFieldId(fields: readonly Field[], fragments: readonly DataFragment[]): number {
  let highest = -1;
  for (const field of fields) highest = Math.max(highest, field.id);
  for (const fragment of fragments) {
    for (const file of fragment.files) for (const id of file.fields) highest = Math.max(highest, id);
  }
  return highest + 1;
}

const unsigned = (bits: 8 | 32 | 64): LogicalType => ({ kind: "int", bits, signed: false });
const STRING: LogicalType = { kind: "string", large: false };
const LARGE_BINARY: LogicalType = { kind: "binary", large: true };

/** Trees by their flat schemas, which never change. Most calls ask for the schema of an open version. */
const trees = new WeakMap<readonly Field[], readonly TableField[]>();

/**
 * The tree of a flat schema.
 * @throws CorruptFileError if ids repeat or are negative, a parent or a type is missing, or a type cannot
 *   have the children
 */
export function decodeSchema(flat: readonly Field[], path: string): readonly TableField[] {
  const cached = trees.get(flat);
  if (cached !== undefined) return cached;
  const tree = treeOf(flat, path);
  trees.set(flat, tree);
  return tree;
}

function treeOf(flat: readonly Field[], path: string): TableField[] {
  type Node = Omit<TableField, "children"> & { children: Node[] };
  const top: Node[] = [];
  const byId = new Map<number, Node>();
  for (const field of flat) {
    if (field.id < 0 || byId.has(field.id)) {
      throw new CorruptFileError(path, 0, `schema: field id ${field.id} is negative or repeated`);
    }
    if (field.logicalType === "") {
      throw new CorruptFileError(path, 0, `schema: field ${field.id} has no type`);
    }
    const node: Node = {
      id: field.id,
      name: field.name,
      type: parseType(field.logicalType),
      nullable: field.nullable,
      metadata: new Map([...field.metadata].map(([name, value]) => [name, TEXT.decode(value)])),
      children: [],
    };
    const siblings = field.parentId === NO_PARENT_ID ? top : byId.get(field.parentId)?.children;
    if (siblings === undefined) {
      throw new CorruptFileError(
        path,
        0,
        `schema: field ${field.id} comes before its parent ${field.parentId}`,
      );
    }
    siblings.push(node);
    byId.set(field.id, node);
  }
  for (const { id, type, children } of byId.values()) {
    if (mayHaveChildren(type, children)) continue;
    throw new CorruptFileError(
      path,
      0,
      `schema: field ${id}, ${formatType(type)}, has ${children.length} children`,
    );
  }
  return top;
}

const MAP_MEMBERS = 2;

/** True if a type may have these children. Unknown types may have any. */
function mayHaveChildren(
  type: LogicalType,
  children: readonly { readonly children: readonly unknown[] }[],
): boolean {
  switch (type.kind) {
    case "list":
      return children.length === 1;
    case "map":
      return children.length === 1 && children[0].children.length === MAP_MEMBERS;
    case "fixedSizeList":
      return type.of.kind !== "struct" || children.length === 1;
    case "struct":
    case "bfloat16":
    case "unknown":
      return true;
    default:
      return children.length === 0;
  }
}

/**
 * Returns the fields that a data file of the format version lists, in column order. The index in the list is
 * that of the column. From 2.1 on, only leaves have a column. A blob and a packed struct are one leaf each
 * although they have children: a packed struct in all versions.
 */
export function columnFields(fields: readonly TableField[], formatVersion: string): TableField[] {
  const withParents = formatVersion === "2.0" || formatVersion === "0.1";
  const listed: TableField[] = [];
  const visit = (field: TableField): void => {
    const isLeaf = field.children.length === 0 || storageOf(field) === "blobStructs";
    const isRows = isPacked(field);
    if (isLeaf || isRows || withParents) listed.push(field);
    if (!isRows && (!isLeaf || withParents)) field.children.forEach(visit);
  };
  fields.forEach(visit);
  return listed;
}

/** Returns the fields along `branch`, which holds the index of the child to follow at each field. */
export function fieldsAlong(field: TableField, branch: readonly number[]): TableField[] {
  const fields = [field];
  for (const index of branch) fields.push(fields[fields.length - 1].children[index]);
  return fields;
}

/** True if the members of a struct share one column, row by row, because its field asks for it. */
export function isPacked(field: TableField): boolean {
  return field.type.kind === "struct" && asksForPacking(field.metadata) && storageOf(field) === "values";
}

/** True if a field asks for packed members. Only structs heed this. */
export const asksForPacking = (metadata: ReadonlyMap<string, string>): boolean =>
  isFlagSet(metadata, PACKED_METADATA_KEY) || isFlagSet(metadata, "packed");

const isFlagSet = (metadata: ReadonlyMap<string, string>, key: string): boolean =>
  metadata.get(key)?.toLowerCase() === "true";

/**
 * The content of a field's pages:
 *
 *     values        the values of its type
 *     json          JSONB, for a field whose type is text
 *     blobs         where the values lie in the file: large binaries with the key
 *                   `lance-encoding:blob`, set to any value
 *     blobStructs   the same, for structs of data and uri with the extension `lance.blob.v2`
 */
export type FieldStorage = "values" | "json" | "blobs" | "blobStructs";

export function storageOf({ type, metadata }: Omit<NewField, "children">): FieldStorage {
  if (type.kind === "json") return "json";
  if (metadata.get(EXTENSION_NAME_KEY) === BLOB_EXTENSION && type.kind === "struct") return "blobStructs";
  return metadata.has(BLOB_METADATA_KEY) && isSameType(type, LARGE_BINARY) ? "blobs" : "values";
}

/** Members of a blob struct, all nullable. A struct has the first two or all. */
const BLOB_MEMBERS: readonly (readonly [string, LogicalType])[] = [
  ["data", LARGE_BINARY],
  ["uri", STRING],
  ["position", unsigned(64)],
  ["size", unsigned(64)],
];

/** Names the feature of a field whose storage this engine cannot read or write; null for any other field. */
export function specialStorage(field: TableField): string | null {
  const { type, metadata, children } = field;
  if (metadata.get(EXTENSION_NAME_KEY) === BLOB_EXTENSION) {
    const isKnown = children.every((child, index) => {
      const [name, memberType] = BLOB_MEMBERS[index] ?? [null, child.type];
      return child.name === name && isSameType(child.type, memberType) && child.nullable;
    });
    if (type.kind !== "struct" || !isKnown || (children.length !== 2 && children.length !== 4)) {
      return "blobs of version 2 (lance.blob.v2) other than nullable members data: large_binary, uri: utf8 and possibly position: uint64, size: uint64";
    }
  }
  if (metadata.has(BLOB_METADATA_KEY) && !isSameType(type, LARGE_BINARY))
    return `blobs of type ${formatType(type)}, other than large_binary,`;
  return null;
}

/** True if the metadata makes the field part of the table's primary key. Nothing enforces that key. */
export const isPrimaryKey = (metadata: ReadonlyMap<string, string>): boolean => primaryKeyOf(metadata).isPart;

export function primaryKeyOf(metadata: ReadonlyMap<string, string>): { isPart: boolean; position: number } {
  const position = Number.parseInt(metadata.get(PRIMARY_KEY_POSITION) ?? "", 10);
  if (Number.isInteger(position) && position >= 0) return { isPart: true, position };
  const flag = metadata.get(PRIMARY_KEY)?.toLowerCase() ?? "";
  return { isPart: flag === "true" || flag === "1" || flag === "yes", position: 0 };
}
