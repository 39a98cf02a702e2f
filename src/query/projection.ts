/** Resolves the columns a query returns against a version's schema, before anything is read. Pure. */

import { Field as ArrowField, Schema, Uint64 } from "apache-arrow";
import { type Column, JSONB_LAYOUT, type Layout } from "../arrow/columns/column.js";
import { jsonTextColumn } from "../arrow/columns/json.js";
import {
  eventsPerValue,
  mapLeaf,
  mergeSpines,
  spinesOf,
  unwrapStructs,
  withLeaf,
} from "../arrow/columns/spine.js";
import { arrowFieldFromLogical } from "../arrow/types/logicalTypes.js";
import { formatType } from "../arrow/types/type.js";
import { InvalidInputError, TableColumnNotFoundError, UnsupportedError } from "../errors.js";
import { DESCRIPTOR_LAYOUT, PACKED_DESCRIPTOR_LAYOUT } from "../file/blobs/blobDescriptors.js";
import { formatFieldPath, parseFieldPath } from "../ident.js";
import type { ColumnSelection } from "../namespace.js";
import { type FindField, fieldFinder } from "../schema/fieldPaths.js";
import {
  type FieldStorage,
  fieldsAlong,
  isPacked,
  specialStorage,
  storageOf,
  type TableField,
} from "../schema/schema.js";
import { storedLayoutOf } from "../schema/storedLayout.js";

/** Name of the pseudo-column that holds row ids. */
const ROW_ID_COLUMN = "_rowid";

/** One physical column to read: a leaf, and the lists and structs around it. */
export interface ProjectedColumn {
  /** Field id of the leaf. */
  readonly fieldId: number;
  /** Field ids of the lists around it, outermost first. */
  readonly listFieldIds: readonly number[];
  /** Values that its pages count per row: more than one in fixed-size lists of structs. */
  readonly valuesPerRow: number;
  /** The unsupported type of blobs that the column has, in words: it can't be read. Null for all other columns. */
  readonly specialStorage: string | null;
  /** Canonical path, for messages. */
  readonly path: string;
  /** How the leaf's values are stored in its pages. */
  readonly storage: FieldStorage;
  /** Number of members of the struct that a blob leaf's values are; 0 for leaves whose values are no such structs. */
  readonly blobMembers: number;
  /** A spine from the top-level column down to the leaf, with the leaf as its pages store it. */
  readonly layout: Layout;
}

/** One column to make of the physical columns read. */
interface OutputColumn {
  /**
   * The layout from the top-level column on. Structs on the way to the column have one child, except packed ones. Blobs
   * are descriptors.
   */
  readonly layout: Layout;
  /** The member of each struct around the column that leads to it. The structs are left out of the output. */
  readonly members: readonly number[];
  /** Indexes of the physical columns it is made of, in the order of its leaves. Several outputs may share one. */
  readonly leaves: readonly number[];
}

export interface Projection {
  /** The physical columns to read. */
  readonly columns: readonly ProjectedColumn[];
  /** The columns made of `columns`: each wanted path once. */
  readonly outputs: readonly OutputColumn[];
  /** The output of each column to return: one path may be wanted under several names. Row ids are not included. */
  readonly returned: readonly number[];
  /** Whether row ids are returned, as the last column. */
  readonly withRowId: boolean;
  /** Whether some outputs hold blobs, whose descriptors {@link readBlobs} replaces with values. */
  readonly hasBlobs: boolean;
  readonly schema: Schema;
}

/**
 * @param maxColumns limit of the columns that a selection may name, unless the table itself has more fields. Default:
 *   none
 * @throws TableColumnNotFoundError for a path that is not in the schema, InvalidInputError for a malformed one and for
 *   too many, UnsupportedError for a column of a type this build does not read
 */
export function resolveProjection(
  fields: readonly TableField[],
  schemaMetadata: ReadonlyMap<string, string>,
  selection: ColumnSelection | undefined,
  withRowId: boolean,
  maxColumns = Number.POSITIVE_INFINITY,
): Projection {
  const find = fieldFinder();
  const wanted = wantedColumns(fields, selection);
  if (wanted.length > maxColumns && wanted.length > countFields(fields)) {
    throw new InvalidInputError(`columns: ${wanted.length} are named; at most ${maxColumns} are returned`);
  }
  const columns: ProjectedColumn[] = [];
  /** Index in `columns`. */
  const known = new Map<TableField, number>();
  const placeOf = ({ leaf, column }: ProjectedLeaf): number => {
    const place = known.get(leaf) ?? columns.push(column) - 1;
    known.set(leaf, place);
    return place;
  };
  const outputs: OutputColumn[] = [];
  const byPath = new Map<string, { index: number; target: ProjectedTarget }>();
  const returned: number[] = [];
  const names = new Set<string>();
  const arrowFields: ArrowField[] = [];
  for (const { path: text, name: alias } of wanted) {
    const segments = parseFieldPath(text);
    const path = formatFieldPath(segments);
    let output = byPath.get(path);
    if (output === undefined) {
      const target = projectColumn(fields, segments, find);
      const { layout, members, leaves } = target;
      output = { index: outputs.push({ layout, members, leaves: leaves.map(placeOf) }) - 1, target };
      byPath.set(path, output);
    }
    returned.push(output.index);
    const { field } = output.target;
    const name = alias ?? field.name;
    if (names.has(name)) throw new InvalidInputError(`columns: ${formatFieldPath([name])} appears twice`);
    names.add(name);
    arrowFields.push(
      alias === null ? field : new ArrowField(alias, field.type, field.nullable, field.metadata),
    );
  }
  if (withRowId) arrowFields.push(new ArrowField(ROW_ID_COLUMN, new Uint64(), true));
  return {
    columns,
    hasBlobs: columns.some(({ storage }) => isBlob(storage)),
    outputs,
    returned,
    withRowId,
    schema: new Schema(arrowFields, new Map(schemaMetadata)),
  };
}

/** Number of fields, nested ones included. */
function countFields(fields: readonly TableField[]): number {
  return fields.reduce((count, { children }) => count + countFields(children), fields.length);
}

/** Selects the columns to return from the assembled outputs, which row ids may follow. */
export function returnedColumns(
  { outputs, returned, withRowId }: Projection,
  assembled: readonly Column[],
): readonly Column[] {
  const columns = returned.map((index) => assembled[index]);
  if (withRowId) columns.push(assembled[outputs.length]);
  return columns;
}

/**
 * The projection of all columns, with JSON as the JSONB that files hold: for copying rows from files to files.
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

/** A physical column, and the field it belongs to. */
interface ProjectedLeaf {
  readonly leaf: TableField;
  readonly column: ProjectedColumn;
}

/** The column that a path leads to. */
interface ProjectedTarget extends Omit<OutputColumn, "leaves"> {
  readonly leaves: readonly ProjectedLeaf[];
  readonly field: ArrowField;
}

function projectColumn(
  fields: readonly TableField[],
  segments: readonly string[],
  find: FindField,
): ProjectedTarget {
  const path = formatFieldPath(segments);
  const chain: TableField[] = [];
  for (const segment of segments) {
    const parent = chain.at(-1);
    const field = find(parent?.children ?? fields, segment);
    if (field === undefined)
      throw new TableColumnNotFoundError(`column ${path} is not in the table's schema`);
    if (parent !== undefined && parent.type.kind !== "struct") {
      throw new UnsupportedError(
        `column ${path}: reading parts of a ${formatType(parent.type)} is not supported by this release`,
      );
    }
    chain.push(field);
  }
  const target = chain[chain.length - 1];
  // The path from the top, with no other fields except the other members of packed structs.
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
  const name = segments.length === 1 ? target.name : path;
  return {
    layout,
    members,
    leaves: spinesOf(layout).map((spine) => {
      const fields = fieldsAlong(branch, spine.branch);
      const leaf = fields[fields.length - 1];
      const special = fields.map(specialStorage).find((what) => what !== null);
      const lists = fields.slice(0, -1).filter((field) => field.type.kind !== "struct");
      const column = {
        fieldId: leaf.id,
        listFieldIds: lists.map(({ id }) => id),
        valuesPerRow: eventsPerValue(spine.layout),
        specialStorage: special ?? null,
        path,
        storage: storageOf(leaf),
        blobMembers: storageOf(leaf) === "blobStructs" ? leaf.children.length : 0,
        layout: storageOf(leaf) === "json" ? withLeaf(spine.layout, JSONB_LAYOUT) : spine.layout,
      };
      return { leaf, column };
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

/** A layout with descriptors in place of blobs. */
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

/** A layout with JSONB in place of JSON. */
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
 * Makes the outputs from the columns that were read; blobs still are descriptors.
 * @param columns of `rowCount` rows each; null for a column that the rows' fragment lacks
 * @param path of the file the columns are from, for errors
 */
export function assembleOutputs(
  projection: Projection,
  columns: readonly (Column | null)[],
  rowCount: number,
  path: string,
): Column[] {
  const spines = columns.map((spine, index) =>
    spine === null || projection.columns[index].storage !== "json"
      ? spine
      : mapLeaf(spine, (leaf) => jsonTextColumn(leaf, path)),
  );
  return projection.outputs.map(({ layout, members, leaves }) => {
    const own = leaves.map((leaf) => spines[leaf]);
    return unwrapStructs(mergeSpines(layout, own, rowCount, path), members);
  });
}
