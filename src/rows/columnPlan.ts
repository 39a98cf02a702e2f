/**
 * Plans how columns of incoming rows become columns of data files. The plan compares the two schemas before a
 * row is read, so rows that cannot fit are refused before anything is written. Pure.
 */

import type { Field as ArrowField, DataType, Schema } from "apache-arrow";
import { JSONB_LAYOUT, type Layout } from "../arrow/columns/column.js";
import { type LeafPath, MISSING_CHILD, spinesOf } from "../arrow/columns/spine.js";
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
  const fields = schema.fields.map((field) => logicalFieldOf(field, formatFieldPath([field.name])));
  return planColumns(assignFieldIds(fields), schema);
}

/**
 * Plans rows for a given schema. Columns match by name; nullable columns may be missing.
 * @throws TableSchemaValidationError naming the field that does not fit
 */
export function planColumns(fields: readonly TableField[], schema: Schema): ColumnPlan {
  const missing = new Map(fields.map((field) => [field.name, field]));
  const columns = schema.fields.flatMap((incoming, sourceIndex) => {
    const path = formatFieldPath([incoming.name]);
    const field = missing.get(incoming.name);
    if (field === undefined) {
      throw new TableSchemaValidationError(`column ${path} is not in the table's schema`);
    }
    missing.delete(incoming.name);
    return planColumn(sourceIndex, incoming, field, path);
  });
  for (const { name, nullable } of missing.values())
    if (!nullable) throw missingError(formatFieldPath([name]));
  return { fields, columns };
}

/** Plans the leaves of a column of the table. */
function planColumn(
  sourceIndex: number,
  incoming: ArrowField,
  top: TableField,
  path: string,
): PlannedColumn[] {
  const matched = matchField(incoming, top, path);
  return spinesOf(storedLayoutOf(top, path, jsonbLayoutOf)).map(({ layout, path: fieldIndexes }, index) => {
    const field = fieldsAlong(top, fieldIndexes).at(-1) as TableField;
    const { id: fieldId, metadata } = field;
    const blobs = blobPlacementOf(field, path);
    const target = { fieldId, path, layout, blobs, nullable: top.nullable, metadata };
    return { sourceIndex, ...matched[index], target };
  });
}

const jsonbLayoutOf = (layout: Layout, field: TableField): Layout =>
  storageOf(field) === "json" ? JSONB_LAYOUT : layout;

type MatchedLeaf = Pick<PlannedColumn, "branch" | "conversion">;

/**
 * Matches incoming values with the leaves of a field of the table, in their order. Members of structs match
 * by name, in any order; nullable ones may be missing. Items of lists, and keys and values of maps, match
 * under any name. Packed structs are one leaf. So are blobs of version 2, which may come as values alone.
 */
function matchField(incoming: ArrowField, field: TableField, path: string): MatchedLeaf[] {
  const { type } = incoming;
  const incomingType: LogicalType =
    jsonForm(incoming) === null ? logicalTypeOf(type, path) : { kind: "json" };
  const isBlob = storageOf(field) === "blobStructs";
  if (isBlob && incomingType.kind === "binary") return [{ branch: [], conversion: "wrapBlob" }];
  const isStruct = field.type.kind === "struct";
  if (field.children.length === 0 && !isStruct) {
    return [{ branch: [], conversion: conversionOf(type, incomingType, field, path) }];
  }
  if (!isSameType(incomingType, field.type)) throw typeMismatch(incomingType, field, path);
  const children = type.children as ArrowField[];
  if (!isStruct) {
    const [item] = field.children;
    const itemPath = childPath(path, item);
    const matched =
      field.type.kind === "map"
        ? matchMembers(children[0].type.children as ArrowField[], item, itemPath, true)
        : matchField(children[0], item, itemPath);
    return matched.map((leaf) => ({ ...leaf, branch: [0, ...leaf.branch] }));
  }
  for (const { name } of children) {
    if (field.children.some((child) => child.name === name)) continue;
    throw new TableSchemaValidationError(`column ${path}: member ${name} is not in the table's schema`);
  }
  return isBlob || isPacked(field) || field.children.length === 0
    ? [{ branch: memberIndexes(children, field, path), conversion: "none" }]
    : matchMembers(children, field, path, false);
}

/** @param byPosition true if the members are a map's key and value */
function matchMembers(
  incoming: readonly ArrowField[],
  field: TableField,
  path: string,
  byPosition: boolean,
): MatchedLeaf[] {
  return field.children.flatMap((child, position) => {
    const index = byPosition ? position : incoming.findIndex(({ name }) => name === child.name);
    const memberPath = childPath(path, child);
    if (incoming[index] !== undefined) {
      const matched = matchField(incoming[index], child, memberPath);
      return matched.map((leaf) => ({ ...leaf, branch: [index, ...leaf.branch] }));
    }
    if (!child.nullable) throw missingError(memberPath);
    // Leaves that the rows lack are written as nulls: the reference can't read a file with only some leaves.
    return spinesOf(storedLayoutOf(child, memberPath)).map(
      (): MatchedLeaf => ({ branch: [MISSING_CHILD], conversion: "none" }),
    );
  });
}

/** Returns the index of each member of a struct that is one leaf. Members of blobs may be missing. */
function memberIndexes(incoming: readonly ArrowField[], field: TableField, path: string): LeafPath {
  return field.children.map((child) => {
    const index = incoming.findIndex(({ name }) => name === child.name);
    const memberPath = childPath(path, child);
    if (index < 0) {
      if (!isPacked(field)) return MISSING_CHILD;
      throw new TableSchemaValidationError(
        `column ${memberPath} is missing from the rows, and members of packed structs are never null`,
      );
    }
    const memberType = logicalTypeOf(incoming[index].type, memberPath);
    if (!isSameType(memberType, child.type)) throw typeMismatch(memberType, child, memberPath);
    return index;
  });
}

const childPath = (path: string, child: TableField): string => `${path}.${formatFieldPath([child.name])}`;

function conversionOf(
  type: DataType,
  incomingType: LogicalType,
  field: TableField,
  path: string,
): Conversion {
  // JSON accepts text, but text does not accept JSON.
  if (field.type.kind === "json" && (incomingType.kind === "json" || isText(type))) {
    return isText(type) ? "encodeJson" : "checkJson";
  }
  if (isSameType(incomingType, field.type)) return "none";
  const valueType = valueTypeOf(type);
  if (valueType !== null && isSameType(logicalTypeOf(valueType, path), field.type)) return "decodeDictionary";
  throw typeMismatch(incomingType, field, path);
}

const missingError = (path: string): TableSchemaValidationError =>
  new TableSchemaValidationError(`column ${path} is not nullable and is missing from the rows`);

const typeMismatch = (
  incomingType: LogicalType,
  field: TableField,
  path: string,
): TableSchemaValidationError =>
  new TableSchemaValidationError(
    `column ${path} is of type ${typeInText(field.type)} in the table and of type ${typeInText(incomingType)} in the rows`,
  );

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
 * @returns the plan
 * @throws UnsupportedError for a type that files of the version cannot hold
 */
export function checkVersion(plan: ColumnPlan, version: FileVersion): ColumnPlan {
  const visit = (field: TableField, inList: boolean, inMapOrSized: boolean): void => {
    const { name, type, children, metadata } = field;
    const { kind } = type;
    const refuse = (reason: string): UnsupportedError => new UnsupportedError(`column ${name}: ${reason}`);
    const holdNo = (what: string, instead = "2.2"): UnsupportedError =>
      refuse(`files of version ${version} hold no ${what}; use version ${instead}`);
    const special = specialStorage(field);
    if (special !== null) throw refuse(`${special} are not supported by this release`);
    if (kind === "map" && version !== "2.2") throw holdNo("maps");
    if (storageOf(field) === "blobStructs") {
      if (version === "2.2" && !inMapOrSized) return;
      const where = inMapOrSized ? "in maps and fixed-size lists" : `in files of version ${version}`;
      const instead = inMapOrSized ? "" : "; use version 2.2";
      throw refuse(`blobs of version 2 (lance.blob.v2) ${where} are not supported${instead}`);
    }
    if (kind === "fixedSizeList" && children.length > 0) {
      const list = `of type ${typeInText(type)}`;
      if (version !== "2.2") throw holdNo(`lists ${list}`);
      if (asksForPacking(metadata)) {
        throw refuse(`a list ${list} cannot be packed; its items can, where their field asks for it`);
      }
    }
    if (kind === "struct" && children.length === 0) {
      if (inList && version !== "2.0") throw inLists(name);
      if (asksForPacking(metadata)) throw refuse("a struct without members cannot be packed");
    }
    const layout = isPacked(field) ? storedLayoutOf(field, name) : null;
    if (layout?.kind === "packedStruct" && version !== "2.2") {
      // Fixed-size lists may be members in 2.0 and 2.2, text only in 2.2.
      const refused = layout.children.findIndex(
        ({ layout: member }) =>
          member.kind !== "fixed" && (version !== "2.0" || memberBytes(member) === null),
      );
      const member = children[refused];
      if (member !== undefined) {
        throw holdNo(`packed structs with a member ${member.name} of type ${typeInText(member.type)}`);
      }
    }
    if (storageOf(field) === "blobs" && (version === "2.2" || (inList && version === "2.1"))) {
      throw inList
        ? holdNo("blobs in lists", "2.0")
        : holdNo("blobs marked by lance-encoding:blob", "2.0 or 2.1");
    }
    const opensOther = kind === "map" || kind === "fixedSizeList";
    for (const child of children) visit(child, inList || kind !== "struct", inMapOrSized || opensOther);
  };
  for (const field of plan.fields) visit(field, false, false);
  return plan;
}
