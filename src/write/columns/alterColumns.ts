/**
 * Plans alterations of a schema: renames, nullability, other types. Pure: a plan has the new schema, the
 * fields to check first, and the columns to rewrite.
 *
 * A column of another type is another field, with a new id. Its values are written to files of their own; the
 * old ones stay. Paths belong to the old schema, so two columns can swap names.
 */

import { Field as ArrowField, type DataType } from "apache-arrow";
import type { Column } from "../../arrow/columns/column.js";
import { EXTENSION_NAME_KEY, logicalFieldOf } from "../../arrow/types/logicalTypes.js";
import { isSameType, typeInText } from "../../arrow/types/type.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import type { Field } from "../../format/file.js";
import { formatFieldPath, isWellFormed } from "../../ident.js";
import { castBetween } from "../../schema/cast.js";
import { type Cast, type RowOf, rowsOfItems } from "../../schema/castRows.js";
import { isComputed } from "../../schema/computedFields.js";
import { allFields, type FieldAtPath, resolveField } from "../../schema/fieldPaths.js";
import {
  assignFieldIds,
  decodeSchema,
  isPacked,
  isPrimaryKey,
  type NewField,
  nextFieldId,
  storageOf,
  type TableField,
} from "../../schema/schema.js";
import { encodeSchema } from "../../schema/schemaEncoder.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { checkColumnName } from "../tableColumns.js";
import { checkSeparable } from "./dropColumns.js";
import { checkPrimaryKey } from "./fieldMetadata.js";

/** One alteration of a request. */
export interface ParsedAlteration {
  readonly path: string;
  readonly rename?: string;
  readonly nullable?: boolean;
  readonly type?: DataType;
}

export interface AlteredColumns {
  readonly schema: Field[];
  /** Fields that were nullable and no longer are. */
  readonly tightened: readonly FieldAtPath[];
  /** Top-level columns with values to write; none if only the schema changes. */
  readonly rewritten: readonly RewrittenColumn[];
  /** Ids of the new fields. */
  readonly newIds: ReadonlySet<number>;
}

/** The rewritten part of one top-level column. */
export interface RewrittenColumn {
  /** Fields to read, of the old schema. */
  readonly from: TableField;
  /** Fields to write, of the new schema. */
  readonly to: TableField;
  readonly cast: Cast;
}

/** Change of one field. */
interface Change {
  readonly field: FieldAtPath;
  readonly name: string;
  readonly nullable: boolean;
  /** The new field, if the type changes; else null. */
  readonly replacement: NewField | null;
}

/** @throws TableColumnNotFoundError, InvalidInputError, UnsupportedError for changes that are refused */
export function planAlteredColumns(
  base: ManifestFile,
  alterations: readonly ParsedAlteration[],
): AlteredColumns {
  const { manifest, path } = base;
  const fields = decodeSchema(manifest.fields, path);
  const changes = new Map<number, Change>();
  for (const alteration of alterations) {
    const located = resolveField(fields, alteration.path);
    changes.set(located.field.id, planChange(located, changes.get(located.field.id), alteration));
  }
  const { schema, newIds } = alteredSchema(
    manifest.fields,
    changes,
    nextFieldId(manifest.fields, manifest.fragments),
  );
  const altered = decodeSchema(schema, path);
  checkAltered(altered);
  const tightened = Array.from(changes.values()).filter(
    ({ field, nullable }) => field.field.nullable && !nullable,
  );
  // In files of 2.0 a list or struct has a column of its own, which two files can't share.
  const whole = manifest.dataFormat?.version === "2.0";
  const rewritten =
    newIds.size === 0
      ? []
      : fields.flatMap((field, index) => {
          const pruned = rewrittenPart(field, altered[index], whole, formatFieldPath([field.name]));
          return pruned ?? [];
        });
  return { schema, tightened: tightened.map(({ field }) => field), rewritten, newIds };
}

function planChange(located: FieldAtPath, before: Change | undefined, alteration: ParsedAlteration): Change {
  const { field, path, chain } = located;
  const { rename, nullable, type } = alteration;
  if (rename !== undefined) {
    if (chain.length === 1) checkColumnName(rename);
    else if (rename === "" || !isWellFormed(rename)) {
      throw new InvalidInputError(`column ${path}: its name must be well-formed Unicode, and not empty`);
    }
  }
  checkSeparable(located, "altered");
  if (nullable === false && chain.length === 1 && isComputed(field)) {
    throw new InvalidInputError(
      `column ${path} is computed: rows have no value until a job computes it, so it stays nullable`,
    );
  }
  const name = rename ?? before?.name ?? field.name;
  const mayBeNull = nullable ?? before?.nullable ?? field.nullable;
  if (
    field.nullable &&
    !mayBeNull &&
    chain.some((parent) => parent !== field && parent.type.kind !== "struct")
  ) {
    throw new UnsupportedError(`column ${path}: items of lists cannot be made non-nullable`);
  }
  const wanted = type === undefined ? (before?.replacement ?? null) : replacementOf(located, type);
  return { field: located, name, nullable: mayBeNull, replacement: wanted };
}

/** Returns the field in another type; null if it already has that type. */
function replacementOf({ chain, field, path }: FieldAtPath, type: DataType): NewField | null {
  const { metadata, nullable, name } = field;
  const wanted = logicalFieldOf(new ArrowField(name, type, nullable, new Map()), path);
  if (isSameField(field, wanted)) return null;
  if (isComputed(chain[0])) {
    const column = formatFieldPath([chain[0].name]);
    throw new InvalidInputError(
      `column ${path} cannot be cast to type ${typeInText(wanted.type)}: what computes ${column} gives values of its type; drop it and add it again`,
    );
  }
  if (storageOf(field) !== "values" || isPacked(field) || metadata.has(EXTENSION_NAME_KEY)) {
    throw new InvalidInputError(
      `column ${path} cannot be cast to type ${typeInText(wanted.type)}: its type is an extension of ${typeInText(field.type)}, or files store its values in a special form`,
    );
  }
  castBetween(field, wanted, path);
  // Users' notes about a column also apply to its new type.
  return { ...wanted, metadata };
}

/** True if two fields have the same type, and their children the same types, names and nullability. */
function isSameField(field: NewField, wanted: NewField): boolean {
  return (
    isSameType(field.type, wanted.type) &&
    field.children.length === wanted.children.length &&
    field.children.every((child, index) => {
      const wantedChild = wanted.children[index];
      return (
        child.name === wantedChild.name &&
        child.nullable === wantedChild.nullable &&
        isSameField(child, wantedChild)
      );
    })
  );
}

/** Returns the flat schema after the changes. Unchanged fields keep all their members. */
function alteredSchema(
  flat: readonly Field[],
  changes: ReadonlyMap<number, Change>,
  firstId: number,
): { schema: Field[]; newIds: Set<number> } {
  const replacements = new Map<number, Field[]>();
  const newIds = new Set<number>();
  let nextId = firstId;
  for (const [id, { replacement, name, nullable }] of changes) {
    if (replacement === null) continue;
    const fields = encodeSchema(assignFieldIds([{ ...replacement, name, nullable }], nextId));
    replacements.set(id, fields);
    for (const field of fields) newIds.add(field.id);
    nextId += fields.length;
  }
  const schema: Field[] = [];
  const replaced = new Set<number>();
  for (const field of flat) {
    const change = changes.get(field.id);
    const replacement = replacements.get(field.id);
    if (replaced.has(field.parentId)) {
      if (change !== undefined) {
        throw new InvalidInputError(`column ${change.field.path} is inside one that is cast as a whole`);
      }
      replaced.add(field.id);
    } else if (replacement !== undefined) {
      const [top, ...inside] = replacement;
      schema.push({ ...top, parentId: field.parentId }, ...inside);
      replaced.add(field.id);
    } else {
      schema.push(change === undefined ? field : { ...field, name: change.name, nullable: change.nullable });
    }
  }
  return { schema, newIds };
}

function checkAltered(fields: readonly TableField[]): void {
  const paths = new Set<string>();
  for (const field of allFields(fields)) {
    if (paths.has(field.path)) throw new InvalidInputError(`two columns would have the name ${field.path}`);
    paths.add(field.path);
    if (isPrimaryKey(field.field.metadata)) checkPrimaryKey(field);
  }
}

/** Returns the part of a column that is read and written; null if no field is new. */
function rewrittenPart(
  from: TableField,
  to: TableField,
  whole: boolean,
  path: string,
): RewrittenColumn | null {
  if (from.id !== to.id) return { from, to, cast: castBetween(from, { ...to, nullable: true }, path) };
  const parts = from.children.map((child, index) =>
    rewrittenPart(child, to.children[index], whole, `${path}.${formatFieldPath([child.name])}`),
  );
  if (parts.every((part) => part === null)) return null;
  const kept = from.children.flatMap((child, index): RewrittenColumn[] => {
    const part = parts[index];
    if (part !== null) return [part];
    return whole ? [{ from: child, to: to.children[index], cast: (column) => column }] : [];
  });
  const casts = kept.map((part) => part.cast);
  return {
    from: { ...from, children: kept.map((part) => part.from) },
    to: { ...to, children: kept.map((part) => part.to) },
    cast: (column, rowOf) => castInside(column, casts, rowOf),
  };
}

function castInside(column: Column, casts: readonly Cast[], rowOf: RowOf): Column {
  if (column.kind === "struct") {
    return { ...column, children: column.children.map((child, index) => casts[index](child, rowOf)) };
  }
  if (column.kind === "list") {
    // The items may start before those of the first list.
    const starts = column.offsets;
    const rows = rowsOfItems(starts, rowOf);
    return { ...column, items: casts[0](column.items, (index) => rows(index - Number(starts[0]))) };
  }
  throw new UnsupportedError(`parts of a column of kind ${column.kind} cannot be cast`);
}
