/**
 * Holds the content of the catalog: one row per namespace and table, found by id. `catalogTable.ts` stores
 * it. A catalog is immutable: a change makes a new one.
 *
 *     object_id     string   path of the object, its parts joined by `$`; unique
 *     object_type   string   `namespace` or `table`; rows of other types are kept unchanged
 *     location      string?  of tables: directory below the namespace's root, with `/`
 *     metadata      string?  properties, a JSON object of strings
 *     anything else          kept unchanged; null in added rows
 */

import type { Column, VariableColumn } from "../../arrow/columns/column.js";
import { concatColumns } from "../../arrow/columns/concatColumns.js";
import { nullColumn } from "../../arrow/columns/nullColumn.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { isValid } from "../../arrow/columns/validity.js";
import { layoutOf } from "../../arrow/types/layouts.js";
import { arrowFieldFromLogical } from "../../arrow/types/logicalTypes.js";
import { isSameType, type LogicalType } from "../../arrow/types/type.js";
import { CorruptFileError, UnsupportedError } from "../../errors.js";
import { DEFAULT_DELIMITER } from "../../ident.js";
import { textReader } from "../../platform/native.js";
import type { TableField } from "../../schema/schema.js";

export interface CatalogRow {
  readonly objectId: string;
  /** `namespace`, `table`, or another engine's type. */
  readonly objectType: string;
  readonly location: string | null;
  /** JSON text, as it is stored. */
  readonly metadata: string | null;
}

/** A change of the rows: replaced ones keep their position, added ones come last. */
export interface CatalogChange {
  readonly remove?: ReadonlySet<string>;
  /** New rows, by the ids of the rows that they replace. */
  readonly replace?: ReadonlyMap<string, CatalogRow>;
  readonly add?: readonly CatalogRow[];
}

/** Names of an object's children, ascending by bytes. */
export interface CatalogChildren {
  readonly namespaces: readonly string[];
  readonly tables: readonly string[];
}

const KNOWN_COLUMNS = ["object_id", "object_type", "location", "metadata"] as const;
/** Memory per character: a row's text is kept as a string, and as bytes in its column. */
const BYTES_PER_CHARACTER = 4;
/** Approximate memory of a row's strings and index entry, besides their characters. */
const ROW_BYTES = 250;
const NO_CHILDREN: CatalogChildren = { namespaces: [], tables: [] };

export class Catalog {
  readonly rows: readonly CatalogRow[];
  /** All columns, including unknown ones, in the order of `fields`. */
  readonly columns: readonly Column[];
  readonly fields: readonly TableField[];
  /** First id of several rows, or null. */
  readonly duplicateId: string | null;
  readonly #indices = new Map<string, number>();
  #children: Map<string, { namespaces: string[]; tables: string[] }> | undefined;

  private constructor(
    fields: readonly TableField[],
    columns: readonly Column[],
    rows: readonly CatalogRow[],
  ) {
    this.fields = fields;
    this.columns = columns;
    this.rows = rows;
    let duplicateId: string | null = null;
    for (let index = 0; index < rows.length; index++) {
      const { objectId } = rows[index];
      if (this.#indices.has(objectId)) duplicateId ??= objectId;
      else this.#indices.set(objectId, index);
    }
    this.duplicateId = duplicateId;
  }

  static readonly empty: Catalog = new Catalog([], [], []);

  /**
   * Makes the catalog from the columns of a version's rows.
   * @param path path of the version's manifest, for errors
   * @throws CorruptFileError if a row has no id or type, UnsupportedError if a column is missing
   */
  static decode(fields: readonly TableField[], columns: readonly Column[], path: string): Catalog {
    const [ids, types, locations, metadata] = KNOWN_COLUMNS.map((name) =>
      decodeStrings(columns[indexOfColumn(fields, name, path)] as VariableColumn),
    );
    const rows = ids.map((objectId, index): CatalogRow => {
      const objectType = types[index];
      if (objectId === null || objectType === null) {
        throw new CorruptFileError(path, 0, `row ${index} of the catalog has no id or no type`);
      }
      return { objectId, objectType, location: locations[index], metadata: metadata[index] };
    });
    return new Catalog(fields, columns, rows);
  }

  /** Approximate memory in bytes. */
  get byteLength(): number {
    let characters = 0;
    for (const { objectId, location, metadata } of this.rows) {
      characters += objectId.length + (location?.length ?? 0) + (metadata?.length ?? 0);
    }
    return BYTES_PER_CHARACTER * characters + ROW_BYTES * this.rows.length;
  }

  /**
   * Returns the row of an object, or null.
   * @throws CorruptFileError if it has several
   */
  find(objectId: string): CatalogRow | null {
    const index = this.#indices.get(objectId);
    if (index === undefined) return null;
    if (this.duplicateId !== null) this.#refuseDuplicate(objectId);
    return this.rows[index];
  }

  #refuseDuplicate(objectId: string): void {
    if (this.rows.filter((row) => row.objectId === objectId).length === 1) return;
    throw duplicateRows(objectId);
  }

  /** @throws CorruptFileError if ids are not unique: a rewrite would decide which of the rows counts */
  checkUnique(): void {
    if (this.duplicateId !== null) throw duplicateRows(this.duplicateId);
  }

  /** Returns the direct children of a namespace; "" is the root. */
  childrenOf(objectId: string): CatalogChildren {
    this.#children ??= this.#indexChildren();
    return this.#children.get(objectId) ?? NO_CHILDREN;
  }

  #indexChildren(): Map<string, { namespaces: string[]; tables: string[] }> {
    const children = new Map<string, { namespaces: string[]; tables: string[] }>();
    // Ids are the keys, so that a name of several rows appears once.
    for (const index of this.#indices.values()) {
      const { objectId, objectType } = this.rows[index];
      if (objectType !== "namespace" && objectType !== "table") continue;
      const end = objectId.lastIndexOf(DEFAULT_DELIMITER);
      const parent = end < 0 ? "" : objectId.slice(0, end);
      let siblings = children.get(parent);
      if (siblings === undefined) {
        siblings = { namespaces: [], tables: [] };
        children.set(parent, siblings);
      }
      const names = objectType === "namespace" ? siblings.namespaces : siblings.tables;
      names.push(objectId.slice(end + 1));
    }
    for (const { namespaces, tables } of children.values()) {
      namespaces.sort(compareNames);
      tables.sort(compareNames);
    }
    return children;
  }

  /** Returns the rows of objects of any type, anywhere below a namespace. */
  rowsBelow(objectId: string): CatalogRow[] {
    const prefix = objectId + DEFAULT_DELIMITER;
    return this.rows.filter((row) => row.objectId.startsWith(prefix));
  }

  /**
   * Returns the catalog after a change.
   * @throws UnsupportedError if rows are added and an unknown column accepts no nulls
   */
  after(change: CatalogChange): Catalog {
    const { remove = new Set(), replace = new Map<string, CatalogRow>(), add = [] } = change;
    const fresh = [...replace.values(), ...add];
    const replaced = [...replace.keys()];
    const rows: CatalogRow[] = [];
    const kept: number[] = [];
    /** Position of each row's values in the list of the old rows, followed by the new ones. */
    const sources: number[] = [];
    for (let index = 0; index < this.rows.length; index++) {
      const row = this.rows[index];
      if (remove.has(row.objectId)) continue;
      const position = replace.has(row.objectId) ? replaced.indexOf(row.objectId) : -1;
      rows.push(position < 0 ? row : fresh[position]);
      kept.push(index);
      sources.push(position < 0 ? index : this.rows.length + position);
    }
    for (let index = 0; index < add.length; index++) {
      rows.push(add[index]);
      sources.push(this.rows.length + replaced.length + index);
      kept.push(this.rows.length + index);
    }
    const columns = this.fields.map((field, index) => {
      const values = knownValues(field.name, fresh);
      if (values !== null) return selectRows(this.columns[index], encodeStrings(values), sources);
      if (!field.nullable && add.length > 0) {
        throw new UnsupportedError(
          `the catalog has a column ${field.name} that accepts no nulls, so rows can't be added`,
        );
      }
      const layout = layoutOf(arrowFieldFromLogical(field, field.name).type, field.name);
      return selectRows(this.columns[index], nullColumn(layout, add.length), kept);
    });
    return new Catalog(this.fields, columns, rows);
  }
}

/** Selects rows of `column`, followed by those of `added`, in the order of `indices`. */
function selectRows(column: Column, added: Column, indices: readonly number[]): Column {
  const all = added.length === 0 ? column : concatColumns([column, added]);
  const unchanged = indices.length === all.length && indices.every((source, index) => source === index);
  return unchanged ? all : takeColumn(all, Uint32Array.from(indices));
}

const duplicateRows = (objectId: string): CorruptFileError =>
  new CorruptFileError("__manifest", 0, `the catalog has several rows for ${objectId}`);

const STRING: LogicalType = { kind: "string", large: false };

function indexOfColumn(fields: readonly TableField[], name: string, path: string): number {
  const index = fields.findIndex((field) => field.name === name);
  if (index < 0 || !isSameType(fields[index].type, STRING)) {
    throw new UnsupportedError(`catalog ${path} has no column ${name} of type string`);
  }
  return index;
}

function knownValues(column: string, rows: readonly CatalogRow[]): (string | null)[] | null {
  switch (column) {
    case "object_id":
      return rows.map((row) => row.objectId);
    case "object_type":
      return rows.map((row) => row.objectType);
    case "location":
      return rows.map((row) => row.location);
    case "metadata":
      return rows.map((row) => row.metadata);
    default:
      return null;
  }
}

function decodeStrings({ length, offsets, bytes, validity }: VariableColumn): (string | null)[] {
  const textAt = textReader(bytes);
  return Array.from({ length }, (_, index) =>
    isValid(validity, index) ? textAt(Number(offsets[index]), Number(offsets[index + 1])) : null,
  );
}

function encodeStrings(values: readonly (string | null)[]): VariableColumn {
  const length = values.length;
  const encoder = new TextEncoder();
  const pieces = values.map((value) => encoder.encode(value ?? ""));
  const offsets = new Int32Array(length + 1);
  for (let index = 0; index < length; index++) offsets[index + 1] = offsets[index] + pieces[index].length;
  const bytes = new Uint8Array(offsets[length]);
  for (let index = 0; index < length; index++) bytes.set(pieces[index], offsets[index]);
  const nullCount = values.filter((value) => value === null).length;
  if (nullCount === 0) return { kind: "variable", length, validity: null, offsets, bytes };
  const bits = new Uint8Array((length + 7) >>> 3);
  for (let index = 0; index < length; index++) {
    if (values[index] !== null) bits[index >>> 3] |= 1 << (index & 7);
  }
  return {
    kind: "variable",
    length,
    validity: { bytes: bits, bitOffset: 0, nullCount },
    offsets,
    bytes,
  };
}

/** Compares names by their UTF-8 bytes, which is the order of code points and not that of UTF-16 units. */
export function compareNames(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left === right) continue;
    const leftIsSurrogate = (left & 0xf800) === 0xd800;
    const rightIsSurrogate = (right & 0xf800) === 0xd800;
    if (leftIsSurrogate !== rightIsSurrogate) return leftIsSurrogate ? 1 : -1;
    return left - right;
  }
  return a.length - b.length;
}
