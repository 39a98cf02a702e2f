/** The column of an index: how to read it, and which fragments store the same values of it. */

import { TableColumnNotFoundError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { ColumnReads, type RowsPlan } from "../../query/columns/columnReads.js";
import { allFields, type FieldAtPath } from "../../schema/fieldPaths.js";
import { decodeSchema, storageOf, type TableField } from "../../schema/schema.js";
import type { ManifestFile } from "../../table/versions/manifest.js";

export interface IndexColumn extends FieldAtPath {
  /** Reads the column as its first output, and the addresses of its rows. */
  readonly projection: RowsPlan;
  /** Ids of the field and of all below it. */
  readonly fieldIds: ReadonlySet<number>;
}

/**
 * Returns the column of a field.
 * @throws TableColumnNotFoundError if the schema lacks the field; UnsupportedError for a column that can't be
 *   read
 */
export function indexColumn(file: ManifestFile, fieldId: number): IndexColumn {
  const fields = decodeSchema(file.manifest.fields, file.path);
  for (const field of allFields(fields)) if (field.field.id === fieldId) return columnAt(fields, field);
  throw new TableColumnNotFoundError(`field ${fieldId} is not in the table's schema`);
}

/** @throws UnsupportedError for a column that can't be read */
export function columnAt(fields: readonly TableField[], located: FieldAtPath): IndexColumn {
  const reads = new ColumnReads(fields);
  reads.source(located.chain.map(({ name }) => name));
  const below = Array.from(allFields([located.field]), ({ field }) => field.id);
  return { ...located, projection: { ...reads.plan(), withAddresses: true }, fieldIds: new Set(below) };
}

/** True if the pages of a column hold values of its type rather than stand-ins. */
export const hasPlainValues = ({ chain }: Pick<FieldAtPath, "chain">): boolean =>
  chain.every((field) => storageOf(field) === "values" && field.type.kind !== "dictionary");

/**
 * Identifies the values of a column in a fragment: equal texts mean equal values of the same physical rows.
 */
export function valuesKey(
  { id, physicalRows, files }: DataFragment,
  { chain, fieldIds }: IndexColumn,
): string {
  const wanted = new Set([...fieldIds, ...chain.map((field) => field.id)]);
  const places = files.flatMap(({ path, baseId, fields, columnIndices }) =>
    fields.flatMap((field, index) =>
      wanted.has(field) ? [[field, path, baseId ?? null, columnIndices[index] ?? null]] : [],
    ),
  );
  return JSON.stringify([id, physicalRows, places]);
}
