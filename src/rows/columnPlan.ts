/**
 * Plans how columns of incoming rows become columns of data files. The plan compares the two schemas before a
 * row is read, so rows that cannot fit are refused before anything is written. Pure.
 */

import type { Field as ArrowField, DataType, Schema } from "apache-arrow";
import { JSONB_LAYOUT, type Layout, type ListLayout, type SizedListLayout } from "../arrow/columns/column.js";
import { type LeafPath, MISSING_CHILD, spinesOf, withLeaf } from "../arrow/columns/spine.js";
import { layoutOf } from "../arrow/types/layouts.js";
import { isText, jsonForm, logicalFieldOf, logicalTypeOf } from "../arrow/types/logicalTypes.js";
import { isSameType, type LogicalType, typeInText } from "../arrow/types/type.js";
import { valueTypeOf } from "../arrow/types/typeParameters.js";
import { TableSchemaValidationError, UnsupportedError } from "../errors.js";
import { memberBytes } from "../file/compression/packedStruct.js";
import { type BlobPlacement, placementBySize } from "../file/container/blobPlacement.js";
import type { FileColumn, FileVersion } from "../file/container/page.js";
import { inLists } from "../file/structural/emptyStruct.js";
import { formatFieldPath } from "../ident.js";
import {
  asksForPacking,
  assignFieldIds,
  fieldsAlong,
  isPacked,
  specialStorage,
  storageOf,
  type TableField,
} from "../schema/schema.js";
import { storedLayoutOf } from "../schema/storedLayout.js";

/** One physical column to write, and its source. */
export interface PlannedColumn {
  /** Index of the column in the incoming batches. */
  readonly sourceIndex: number;
  /** Path to the leaf within that column. */
  readonly branch: LeafPath;
  readonly target: FileColumn;
  readonly conversion: Conversion;
}

/**
 * Conversion of an incoming leaf to the table's form:
 *
 * - `decodeDictionary`: the leaf is dictionary-encoded, the table's is not.
 * - `encodeJson`: the leaf is text, the table's is JSON.
 * - `checkJson`: the leaf is JSONB from outside, which must be checked.
 * - `wrapBlob`: the leaf holds blob values, the table's holds structs with such values.
 */
export type Conversion = "none" | "decodeDictionary" | "encodeJson" | "checkJson" | "wrapBlob";

export interface ColumnPlan {
  /** Schema that the rows define, or must fit. */
  readonly fields: readonly TableField[];
  readonly columns: readonly PlannedColumn[];
}

/**
 * Plans rows that define the schema of their table or file.
 * @throws TableSchemaValidationError, UnsupportedError naming column and type
 */
export function planNewColumns(schema: Schema): ColumnPlan {
  const fields = assignFieldIds(
    schema.fields.map((field) => logicalFieldOf(field, formatFieldPath([field.name]))),
  );
  return {
    fields,
    columns: schema.fields.flatMap((field, sourceIndex) => {
      const path = formatFieldPath([field.name]);
      return matchField(field, fields[sourceIndex], path).map((leaf) =>
        planLeaf(sourceIndex, fields[sourceIndex], path, leaf),
      );
    }),
  };
}

/**
 * Plans rows for a given schema. Columns match by name; nullable columns may be missing.
 * @throws TableSchemaValidationError naming the field that does not fit
 */
export function planColumns(fields: readonly TableField[], schema: Schema): ColumnPlan {
  const byName = new Map(fields.map((field) => [field.name, field]));
  const columns: PlannedColumn[] = [];
  for (const [sourceIndex, incoming] of schema.fields.entries()) {
    const path = formatFieldPath([incoming.name]);
    const field = byName.get(incoming.name);
    if (field === undefined) {
      throw new TableSchemaValidationError(`column ${path} is not in the table's schema`);
    }
    byName.delete(incoming.name);
    for (const leaf of matchField(incoming, field, path))
      columns.push(planLeaf(sourceIndex, field, path, leaf));
  }
  for (const field of byName.values()) {
    if (field.nullable) continue;
    const path = formatFieldPath([field.name]);
    throw new TableSchemaValidationError(`column ${path} is not nullable and is missing from the rows`);
  }
  return { fields, columns };
}

/** A leaf of incoming rows with the matching leaf of the table. */
interface MatchedLeaf {
  readonly branch: LeafPath;
  readonly field: TableField;
  /** Layout of the spine in the file, from the top-level column on. */
  readonly layout: Layout;
  readonly conversion: Conversion;
}

/**
 * Matches the leaves of incoming values with a field of the table. Members of structs match by name, in any
 * order; nullable ones may be missing. Items of lists, and keys and values of maps, match under any name.
 */
function matchField(incoming: ArrowField, field: TableField, path: string): MatchedLeaf[] {
  const { type } = incoming;
  const incomingType: LogicalType =
    jsonForm(incoming) === null ? logicalTypeOf(type, path) : { kind: "json" };
  if (storageOf(field) === "blobStructs") return [matchBlob(incoming, incomingType, field, path)];
  if (isPacked(field)) return [matchPacked(type, incomingType, field, path)];
  if (field.children.length === 0) return [matchLeaf(incoming, incomingType, field, path)];
  if (!isSameType(incomingType, field.type)) throw typeMismatch(incomingType, field, path);
  const children = type.children as ArrowField[];
  if (field.type.kind !== "struct") {
    const [item] = field.children;
    const itemPath = childPath(path, item);
    const layout = layoutOf(type, path) as ListLayout | SizedListLayout;
    const isMap = layout.kind === "list" && layout.isMap;
    const matched = isMap
      ? matchMembers(children[0].type.children as ArrowField[], item, itemPath, true)
      : matchField(children[0], item, itemPath);
    return matched.map((leaf) => ({
      ...leaf,
      branch: [0, ...leaf.branch],
      layout: { ...layout, item: leaf.layout, itemNullable: item.nullable } as Layout,
    }));
  }
  return matchMembers(children, field, path, false);
}

/** @param byPosition true if the members are a map's key and value */
function matchMembers(
  incoming: readonly ArrowField[],
  field: TableField,
  path: string,
  byPosition: boolean,
): MatchedLeaf[] {
  if (!byPosition) refuseOthers(incoming, field, path);
  return field.children.flatMap((child, position) => {
    const index = byPosition ? position : incoming.findIndex((candidate) => candidate.name === child.name);
    const memberPath = childPath(path, child);
    if (incoming[index] !== undefined) {
      return matchField(incoming[index], child, memberPath).map((leaf) => ({
        ...leaf,
        branch: [index, ...leaf.branch],
        layout: inStruct(child, leaf.layout),
      }));
    }
    if (child.nullable) return missingLeaves(child, memberPath);
    throw new TableSchemaValidationError(`column ${memberPath} is not nullable and is missing from the rows`);
  });
}

/** A packed struct is one leaf with all its members. */
function matchPacked(
  incoming: DataType,
  incomingType: LogicalType,
  field: TableField,
  path: string,
): MatchedLeaf {
  if (!isSameType(incomingType, field.type)) throw typeMismatch(incomingType, field, path);
  const members = incoming.children as ArrowField[];
  refuseOthers(members, field, path);
  const branch = field.children.map((child) => {
    const index = members.findIndex((member) => member.name === child.name);
    const memberPath = childPath(path, child);
    if (index < 0) {
      throw new TableSchemaValidationError(
        `column ${memberPath} is missing from the rows, and members of packed structs are never null`,
      );
    }
    const memberType = logicalTypeOf(members[index].type, memberPath);
    if (!isSameType(memberType, child.type)) throw typeMismatch(memberType, child, memberPath);
    return index;
  });
  return { branch, field, layout: storedLayoutOf(field, path), conversion: "none" };
}

/**
 * Matches a blob of version 2, which is one leaf. Incoming blobs are structs, with or without the extension's
 * name, or values alone. Members of the structs match by name and may be missing.
 */
function matchBlob(
  incoming: ArrowField,
  incomingType: LogicalType,
  field: TableField,
  path: string,
): MatchedLeaf {
  const layout = storedLayoutOf(field, path);
  if (incomingType.kind === "binary") {
    return { branch: [], field, layout, conversion: "wrapBlob" };
  }
  if (!isSameType(incomingType, field.type)) throw typeMismatch(incomingType, field, path);
  const members = incoming.type.children as ArrowField[];
  refuseOthers(members, field, path);
  const branch = field.children.map((child) => {
    const index = members.findIndex((member) => member.name === child.name);
    if (index < 0) return MISSING_CHILD;
    const memberPath = childPath(path, child);
    const memberType = logicalTypeOf(members[index].type, memberPath);
    if (!isSameType(memberType, child.type)) throw typeMismatch(memberType, child, memberPath);
    return index;
  });
  return { branch, field, layout, conversion: "none" };
}

function refuseOthers(incoming: readonly ArrowField[], field: TableField, path: string): void {
  for (const { name } of incoming) {
    if (!field.children.some((child) => child.name === name)) {
      throw new TableSchemaValidationError(`column ${path}: member ${name} is not in the table's schema`);
    }
  }
}

/**
 * Returns the leaves of a member that the rows lack, all null. They must be written: the reference cannot
 * read a file that has only some of the leaves.
 */
function missingLeaves(member: TableField, path: string): MatchedLeaf[] {
  return spinesOf(storedLayoutOf(member, path)).map((spine) => {
    const fields = fieldsAlong(member, spine.path);
    const field = fields[fields.length - 1];
    const stored = storageOf(field) === "json" ? withLeaf(spine.layout, JSONB_LAYOUT) : spine.layout;
    return { branch: [MISSING_CHILD], field, layout: inStruct(member, stored), conversion: "none" };
  });
}

const inStruct = ({ name, nullable }: TableField, layout: Layout): Layout => ({
  kind: "struct",
  children: [{ name, layout, nullable }],
});

const childPath = (path: string, child: TableField): string => `${path}.${formatFieldPath([child.name])}`;

function matchLeaf(
  incoming: ArrowField,
  incomingType: LogicalType,
  field: TableField,
  path: string,
): MatchedLeaf {
  const { type } = incoming;
  // JSON accepts text, but text does not accept JSON.
  if (field.type.kind === "json" && (incomingType.kind === "json" || isText(type))) {
    const conversion = isText(type) ? "encodeJson" : "checkJson";
    return { branch: [], field, layout: JSONB_LAYOUT, conversion };
  }
  if (isSameType(incomingType, field.type)) {
    return { branch: [], field, layout: layoutOf(type, path), conversion: "none" };
  }
  const valueType = valueTypeOf(type);
  if (valueType !== null && isSameType(logicalTypeOf(valueType, path), field.type)) {
    return { branch: [], field, layout: layoutOf(valueType, path), conversion: "decodeDictionary" };
  }
  throw typeMismatch(incomingType, field, path);
}

const typeMismatch = (
  incomingType: LogicalType,
  field: TableField,
  path: string,
): TableSchemaValidationError =>
  new TableSchemaValidationError(
    `column ${path} is of type ${typeInText(field.type)} in the table and of type ${typeInText(incomingType)} in the rows`,
  );

/**
 * @param top the column of the table that contains the leaf
 * @param path of that column
 */
function planLeaf(sourceIndex: number, top: TableField, path: string, leaf: MatchedLeaf): PlannedColumn {
  return {
    sourceIndex,
    branch: leaf.branch,
    target: {
      fieldId: leaf.field.id,
      path,
      layout: leaf.layout,
      blobs: blobPlacementOf(leaf.field, path),
      nullable: top.nullable,
      metadata: leaf.field.metadata,
    },
    conversion: leaf.conversion,
  };
}

function blobPlacementOf(field: TableField, path: string): BlobPlacement | undefined {
  switch (storageOf(field)) {
    case "blobs":
      return { kind: "inFile" };
    case "blobStructs":
      return placementBySize(field.metadata, path);
    default:
      return undefined;
  }
}

/**
 * @throws UnsupportedError for a type that files of the version cannot hold
 */
export function checkVersion({ fields }: ColumnPlan, version: FileVersion): void {
  const visit = (field: TableField, inList: boolean, inMapOrSized: boolean): void => {
    const special = specialStorage(field);
    if (special !== null) {
      throw new UnsupportedError(`column ${field.name}: ${special} are not supported by this release`);
    }
    if (field.type.kind === "map" && version !== "2.2") {
      throw new UnsupportedError(
        `column ${field.name}: files of version ${version} hold no maps; use version 2.2`,
      );
    }
    if (storageOf(field) === "blobStructs") {
      if (version !== "2.2" || inMapOrSized) {
        const where = inMapOrSized ? "in maps and fixed-size lists" : `in files of version ${version}`;
        const instead = inMapOrSized ? "" : "; use version 2.2";
        throw new UnsupportedError(
          `column ${field.name}: blobs of version 2 (lance.blob.v2) ${where} are not supported${instead}`,
        );
      }
      return;
    }
    if (field.type.kind === "fixedSizeList" && field.children.length > 0) {
      checkSizedList(field, version);
    }
    if (field.type.kind === "struct" && field.children.length === 0) checkEmptyStruct(field, inList, version);
    if (isPacked(field)) checkPacked(field, version);
    if (storageOf(field) === "blobs" && (version === "2.2" || (inList && version === "2.1"))) {
      throw new UnsupportedError(
        inList
          ? `column ${field.name}: files of version ${version} hold no blobs in lists; use version 2.0`
          : `column ${field.name}: files of version ${version} hold no blobs marked by lance-encoding:blob; use version 2.0 or 2.1`,
      );
    }
    const opensList = field.type.kind !== "struct";
    const opensOther = field.type.kind === "map" || field.type.kind === "fixedSizeList";
    for (const child of field.children) visit(child, inList || opensList, inMapOrSized || opensOther);
  };
  for (const field of fields) visit(field, false, false);
}

function checkSizedList({ name, type, metadata }: TableField, version: FileVersion): void {
  if (version !== "2.2") {
    throw new UnsupportedError(
      `column ${name}: files of version ${version} hold no lists of type ${typeInText(type)}; use version 2.2`,
    );
  }
  if (asksForPacking(metadata)) {
    throw new UnsupportedError(
      `column ${name}: a list of type ${typeInText(type)} cannot be packed; its items can, where their field asks for it`,
    );
  }
}

function checkEmptyStruct({ name, metadata }: TableField, inList: boolean, version: FileVersion): void {
  if (inList && version !== "2.0") throw inLists(name);
  if (asksForPacking(metadata)) {
    throw new UnsupportedError(`column ${name}: a struct without members cannot be packed`);
  }
}

/**
 * Packed structs may hold numbers in all versions, fixed-size lists in 2.0 and from 2.2 on, and text from 2.2
 * on.
 */
function checkPacked(field: TableField, version: FileVersion): void {
  const layout = storedLayoutOf(field, field.name);
  if (layout.kind !== "packedStruct" || version === "2.2") return;
  for (const [index, { name, layout: member }] of layout.children.entries()) {
    if (member.kind === "fixed" || (version === "2.0" && memberBytes(member) !== null)) continue;
    throw new UnsupportedError(
      `column ${field.name}: files of version ${version} hold no packed structs with a member ${name} of type ${typeInText(field.children[index].type)}; use version 2.2`,
    );
  }
}
