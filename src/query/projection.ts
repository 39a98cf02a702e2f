/**
 * The columns a query returns: resolved against a version's schema before anything is read. Pure.
 */

import { Field as ArrowField, Schema, Uint64 } from "apache-arrow";
import { type Column, JSONB_LAYOUT, type Layout } from "../arrow/column.js";
import { jsonTextColumn } from "../arrow/json.js";
import { arrowFieldFromLogical } from "../arrow/logicalTypes.js";
import { eventsPerValue, mapLeaf, mergeSpines, spinesOf, unwrapStructs, withLeaf } from "../arrow/spine.js";
import { InvalidInputError, TableColumnNotFoundError, UnsupportedError } from "../errors.js";
import { DESCRIPTOR_LAYOUT, PACKED_DESCRIPTOR_LAYOUT } from "../file/blobDescriptors.js";
import { formatFieldPath, parseFieldPath } from "../ident.js";
import type { ColumnSelection } from "../namespace.js";
import {
  type FieldStorage,
  fieldsAlong,
  isPacked,
  specialStorage,
  storageOf,
  type TableField,
} from "../table/schema.js";
import { storedLayoutOf } from "../table/storedLayout.js";

/** Name of the pseudo-column that holds row ids. */
const ROW_ID_COLUMN = "_rowid";

/** One physical column to read: a leaf, and what is around it. */
export interface ProjectedColumn {
  /** Of the leaf. */
  readonly fieldId: number;
  /** Of the lists around it, outer-most first. */
  readonly listFieldIds: readonly number[];
  /** Values that its pages count for each row: more than one in fixed-size lists of structs. */
  readonly valuesPerRow: number;
  /** Why it can't be read, in words: it does not lie in pages of its own. Null where it does. */
  readonly specialStorage: string | null;
  /** Canonical path, for messages. */
  readonly path: string;
  /** What is in the leaf's pages. */
  readonly storage: FieldStorage;
  /** Members of the structs that the leaf's values are where they are blobs; 0 for other leaves. */
  readonly blobMembers: number;
  /** A spine, from the top-level column down to the leaf, with the leaf as it is in its pages. */
  readonly layout: Layout;
}

/** One column to return. */
interface OutputColumn {
  /**
   * From the top-level column on; structs on the way to the column have one child, but for packed ones. Blobs are
   * descriptors.
   */
  readonly layout: Layout;
  /** Which member of each struct around it the column is in; the structs are left out. */
  readonly members: readonly number[];
  /** Physical columns it is made of, in the order of its leaves. */
  readonly leafCount: number;
}

export interface Projection {
  /** What is read. */
  readonly columns: readonly ProjectedColumn[];
  /** What is returned, made of `columns` in their order. */
  readonly outputs: readonly OutputColumn[];
  /** Row ids come last, as a column of their own. */
  readonly withRowId: boolean;
  /** Some outputs hold blobs, whose values {@link readBlobs} puts in the place of their descriptors. */
  readonly hasBlobs: boolean;
  readonly schema: Schema;
}

/**
 * @throws TableColumnNotFoundError for a path that is not in the schema, InvalidInputError for a malformed one,
 *   UnsupportedError for a column of a type this build does not read
 */
export function resolveProjection(
  fields: readonly TableField[],
  schemaMetadata: ReadonlyMap<string, string>,
  selection: ColumnSelection | undefined,
  withRowId: boolean,
): Projection {
  const find = fieldFinder();
  const wanted = wantedColumns(fields, selection).map(({ path, name }) =>
    projectColumn(fields, path, name, find),
  );
  const names = new Set<string>();
  for (const { field } of wanted) {
    if (names.has(field.name))
      throw new InvalidInputError(`columns: ${formatFieldPath([field.name])} appears twice`);
    names.add(field.name);
  }
  const arrowFields = wanted.map((column) => column.field);
  if (withRowId) arrowFields.push(new ArrowField(ROW_ID_COLUMN, new Uint64(), true));
  const columns = wanted.flatMap((column) => column.leaves);
  return {
    columns,
    hasBlobs: columns.some(({ storage }) => isBlob(storage)),
    outputs: wanted.map(({ layout, members, leaves }) => ({ layout, members, leafCount: leaves.length })),
    withRowId,
    schema: new Schema(arrowFields, new Map(schemaMetadata)),
  };
}

/**
 * All columns, with JSON as the JSONB that files hold: for rows that go from files into files.
 * @throws UnsupportedError for a column of a type this build does not read
 */
export function storedProjection(fields: readonly TableField[]): Projection {
  const projection = resolveProjection(fields, new Map(), undefined, false);
  return {
    ...projection,
    columns: projection.columns.map((column) =>
      column.storage === "json" ? { ...column, storage: "values" } : column,
    ),
    outputs: projection.outputs.map((output, index) => ({
      ...output,
      layout: jsonbLayout(output.layout, fields[index]),
    })),
  };
}

function wantedColumns(
  fields: readonly TableField[],
  selection: ColumnSelection | undefined,
): { path: string; name: string | null }[] {
  if (selection === undefined || selection === null) {
    return fields.map((field) => ({ path: formatFieldPath([field.name]), name: null }));
  }
  const byName = (path: unknown) => {
    if (typeof path !== "string") throw new InvalidInputError("columns: must be strings");
    return { path, name: null };
  };
  if (isArray(selection)) return selection.map(byName);
  const { columnNames, columnAliases } = selection;
  if (isArray(columnNames)) return columnNames.map(byName);
  if (isPresent(columnAliases) && !isPresent(columnNames) && typeof columnAliases === "object") {
    return Object.entries(columnAliases).map(([name, path]) => ({ ...byName(path), name }));
  }
  throw new InvalidInputError("columns: must be a list of paths, columnNames or columnAliases");
}

const isPresent = <Value>(value: Value): value is NonNullable<Value> => value !== undefined && value !== null;

const isArray = (selection: unknown): selection is readonly string[] => Array.isArray(selection);

type FindField = (siblings: readonly TableField[], name: string) => TableField | undefined;

/** Finds fields by name: of tens of thousands, each is looked for. */
function fieldFinder(): FindField {
  const known = new Map<readonly TableField[], ReadonlyMap<string, TableField>>();
  return (siblings, name) => {
    let byName = known.get(siblings);
    if (byName === undefined) {
      // Of fields with one name the first is meant.
      byName = new Map(siblings.toReversed().map((field) => [field.name, field]));
      known.set(siblings, byName);
    }
    return byName.get(name);
  };
}

function projectColumn(
  fields: readonly TableField[],
  text: string,
  alias: string | null,
  find: FindField,
): Omit<OutputColumn, "leafCount"> & { leaves: ProjectedColumn[]; field: ArrowField } {
  const segments = parseFieldPath(text);
  const path = formatFieldPath(segments);
  const chain: TableField[] = [];
  for (const segment of segments) {
    const parent = chain.at(-1);
    const field = find(parent?.children ?? fields, segment);
    if (field === undefined)
      throw new TableColumnNotFoundError(`column ${path} is not in the table's schema`);
    if (parent !== undefined && parent.logicalType !== "struct") {
      throw new UnsupportedError(
        `column ${path}: reading parts of a ${parent.logicalType} is not supported by this release`,
      );
    }
    chain.push(field);
  }
  const target = chain[chain.length - 1];
  // The way from the top, with nothing beside it but the other members of packed structs.
  const parents = chain.slice(0, -1);
  const branch = parents.reduceRight<TableField>(
    (child, parent) => (isPacked(parent) ? parent : { ...parent, children: [child] }),
    target,
  );
  const members = parents.map((parent, depth) =>
    isPacked(parent) ? parent.children.indexOf(chain[depth + 1]) : 0,
  );
  const layout = describedLayout(storedLayoutOf(branch, path), branch);
  const { type, metadata } = arrowFieldFromLogical(target, path);
  const name = alias ?? (segments.length === 1 ? target.name : path);
  return {
    layout,
    members,
    leaves: spinesOf(layout).map((spine) => {
      const fields = fieldsAlong(branch, spine.branch);
      const leaf = fields[fields.length - 1];
      const special = fields.map(specialStorage).find((what) => what !== null);
      const lists = fields.slice(0, -1).filter((field) => field.logicalType !== "struct");
      return {
        fieldId: leaf.id,
        listFieldIds: lists.map(({ id }) => id),
        valuesPerRow: eventsPerValue(spine.layout),
        specialStorage: special ?? null,
        path,
        storage: storageOf(leaf),
        blobMembers: storageOf(leaf) === "blobStructs" ? leaf.children.length : 0,
        layout: storageOf(leaf) === "json" ? withLeaf(spine.layout, JSONB_LAYOUT) : spine.layout,
      };
    }),
    field: new ArrowField(
      name,
      type,
      chain.some((field) => field.nullable),
      metadata,
    ),
  };
}

/** Whether the pages of a column hold descriptors of blobs. */
export const isBlob = (storage: FieldStorage): boolean => storage === "blobs" || storage === "blobStructs";

/** A layout with descriptors in the place of blobs. */
function describedLayout(layout: Layout, field: TableField): Layout {
  if (storageOf(field) === "blobStructs") return PACKED_DESCRIPTOR_LAYOUT;
  if (layout.kind === "list" || layout.kind === "sizedList") {
    return { ...layout, item: describedLayout(layout.item, field.children[0]) } as Layout;
  }
  if (layout.kind === "struct") {
    const children = layout.children.map((child, index) => ({
      ...child,
      layout: describedLayout(child.layout, field.children[index]),
    }));
    return { ...layout, children };
  }
  return storageOf(field) === "blobs" ? DESCRIPTOR_LAYOUT : layout;
}

/** A layout with JSONB in the place of JSON. */
function jsonbLayout(layout: Layout, field: TableField): Layout {
  const storage = storageOf(field);
  if (storage === "json") return JSONB_LAYOUT;
  if (storage === "blobStructs") return layout;
  if (layout.kind === "list" || layout.kind === "sizedList") {
    return { ...layout, item: jsonbLayout(layout.item, field.children[0]) } as Layout;
  }
  if (layout.kind !== "struct") return layout;
  const children = layout.children.map((child, index) => ({
    ...child,
    layout: jsonbLayout(child.layout, field.children[index]),
  }));
  return { ...layout, children };
}

/**
 * The columns to return, from those that were read; blobs are descriptors still.
 * @param columns of `rowCount` rows each; null for one that the rows' fragment does not have
 * @param path of the file they are from, for errors
 */
export function assembleOutputs(
  projection: Projection,
  columns: readonly (Column | null)[],
  rowCount: number,
  path: string,
): Column[] {
  let next = 0;
  return projection.outputs.map(({ layout, members, leafCount }) => {
    const spines = columns.slice(next, next + leafCount).map((spine, index) => {
      if (spine === null || projection.columns[next + index].storage !== "json") return spine;
      return mapLeaf(spine, (leaf) => jsonTextColumn(leaf, path));
    });
    const column = mergeSpines(layout, spines, rowCount, path);
    next += leafCount;
    return unwrapStructs(column, members);
  });
}
