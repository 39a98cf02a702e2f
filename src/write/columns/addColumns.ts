/** Plans new columns: all null, one constant, or computed from other columns. Pure. */

import { Field as ArrowField, type DataType } from "apache-arrow";
import type { Column } from "../../arrow/columns/column.js";
import { takeColumn } from "../../arrow/columns/takeColumn.js";
import { logicalFieldOf } from "../../arrow/types/logicalTypes.js";
import { runAsync } from "../../async/eventLoop.js";
import { InvalidInputError, UnsupportedError } from "../../errors.js";
import { bindNewColumn, parseConstant } from "../../expression/expression.js";
import type { Field } from "../../format/file.js";
import { formatFieldPath } from "../../ident.js";
import { checkVersion } from "../../rows/columnPlan.js";
import { computedByInput, declarationMetadata } from "../../schema/computedFields.js";
import { resolveField } from "../../schema/fieldPaths.js";
import {
  assignFieldIds,
  decodeSchema,
  isPrimaryKey,
  type NewField,
  nextFieldId,
  type TableField,
} from "../../schema/schema.js";
import { encodeSchema } from "../../schema/schemaEncoder.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { fileVersionOf } from "../dataFiles.js";
import { checkColumnName } from "../tableColumns.js";
import type { RegisteredFunction } from "../userFunctions.js";
import { type ComputedColumn, planComputedColumn, storedComputedField } from "./computedColumns.js";
import { checkExtension } from "./fieldMetadata.js";

/**
 * One new column of a request. An SQL expression is evaluated now, or kept as the rule of a column that is
 * backfilled. A function fills the column later. A type makes it all null.
 */
export type AddedColumn =
  | { readonly name: string; readonly expression: string }
  | { readonly name: string; readonly computed: string }
  | {
      readonly name: string;
      readonly filledBy: RegisteredFunction;
      readonly metadata: ReadonlyMap<string, string>;
    }
  | { readonly name: string; readonly type: DataType; readonly metadata: ReadonlyMap<string, string> };

export interface AddedColumns {
  readonly schema: Field[];
  /** Columns that have values to write. */
  readonly written: readonly WrittenColumn[];
}

/** A new column with its constant, or with the expression that computes its values. */
export interface WrittenColumn {
  readonly field: TableField;
  readonly values: Column | ComputedColumn;
}

/** @throws InvalidInputError, UnsupportedError for columns that the table can't have */
export async function planAddedColumns(
  base: ManifestFile,
  added: readonly AddedColumn[],
  signal?: AbortSignal,
): Promise<AddedColumns> {
  const { manifest, path } = base;
  const present = decodeSchema(manifest.fields, path);
  const taken = new Set(present.map((field) => field.name));
  const computed = computedByInput(present);
  const columns: PlannedColumn[] = [];
  for (const column of added) {
    checkColumnName(column.name);
    if (taken.has(column.name)) {
      throw new InvalidInputError(`column ${formatFieldPath([column.name])} already exists`);
    }
    taken.add(column.name);
    refuseAwaited(column.name, computed);
    const planned = await newColumn(column, present, signal);
    if (planned.isFilledLater) refuseNullStructs(planned.field, fileVersionOf(base));
    columns.push(planned);
  }
  const fields = assignFieldIds(
    columns.map((column) => column.field),
    nextFieldId(manifest.fields, manifest.fragments),
  );
  if (fields.length > 0) checkVersion({ fields, columns: [] }, fileVersionOf(base));
  return {
    schema: [...manifest.fields, ...encodeSchema(fields)],
    written: columns.flatMap(({ values }, index) =>
      values === null ? [] : [{ field: fields[index], values }],
    ),
  };
}

/**
 * Refuses a column that has the name of a missing input. Another engine, or an overwrite, removed that input;
 * values computed from it do not belong to the new column.
 * @throws InvalidInputError if a column is computed from one of this name
 */
function refuseAwaited(name: string, computed: ReadonlyMap<string, string>): void {
  const from = computed.get(name);
  if (from === undefined) return;
  const path = formatFieldPath([from]);
  throw new InvalidInputError(
    `column ${formatFieldPath([name])} cannot be added: ${path} was computed from another of that name; drop ${path} first`,
  );
}

interface PlannedColumn {
  readonly field: NewField;
  /** Null if the column is all null, so that no file has it. */
  readonly values: WrittenColumn["values"] | null;
  readonly isFilledLater?: boolean;
}

async function newColumn(
  column: AddedColumn,
  present: readonly TableField[],
  signal?: AbortSignal,
): Promise<PlannedColumn> {
  const { name } = column;
  const path = formatFieldPath([name]);
  if ("computed" in column) return ruledColumn(name, column.computed, present, signal);
  if ("filledBy" in column) return virtualColumn(column, present);
  if ("expression" in column) {
    const label = `expression of column ${path}`;
    const bound = await runAsync(bindNewColumn(column.expression, present, label), signal);
    if (bound !== null) {
      const computed = planComputedColumn(bound, column.expression, present, label);
      return { field: storedComputedField(name, computed, label), values: computed };
    }
    const { type, value } = await runAsync(parseConstant(column.expression, label), signal);
    const field = { name, type, nullable: value === null, metadata: new Map(), children: [] };
    return { field, values: value };
  }
  if (isPrimaryKey(column.metadata)) {
    throw new InvalidInputError(`column ${path} cannot be part of the primary key: it is all null`);
  }
  const field = new ArrowField(name, column.type, true, new Map(column.metadata));
  return { field: logicalFieldOf(field, path), values: null };
}

/** Makes a column whose values an expression will compute. */
async function ruledColumn(
  name: string,
  text: string,
  present: readonly TableField[],
  signal?: AbortSignal,
): Promise<PlannedColumn> {
  const label = `computed of column ${formatFieldPath([name])}`;
  const bound = await runAsync(bindNewColumn(text, present, label), signal);
  if (bound === null) throw new InvalidInputError(`${label}: names no column; pass a constant as expression`);
  const field = storedComputedField(name, planComputedColumn(bound, text, present, label), label);
  const inputs = bound.paths.map((path) => formatFieldPath(path));
  const metadata = declarationMetadata({ kind: "sql", expression: text, inputs });
  return { field: { ...field, metadata }, values: null, isFilledLater: true };
}

/** Makes a column whose values a function will compute. */
function virtualColumn(
  { name, filledBy, metadata: userMetadata }: Extract<AddedColumn, { filledBy: unknown }>,
  present: readonly TableField[],
): PlannedColumn {
  const { inputs, output, version } = filledBy;
  const path = formatFieldPath([name]);
  for (const input of inputs) resolveField(present, input);
  if (isPrimaryKey(userMetadata)) {
    throw new InvalidInputError(`column ${path} cannot be part of the primary key: it is all null`);
  }
  const declaration = { kind: "function", udfName: filledBy.name, udfVersion: version, inputs } as const;
  const metadata = new Map([...userMetadata, ...output.metadata, ...declarationMetadata(declaration)]);
  const field = { ...output, name, nullable: true, metadata };
  // The values have the type that the function is registered with.
  checkExtension(field, path);
  return { field, values: null, isFilledLater: true };
}

/** @throws UnsupportedError if files of the table can't record which rows have no value yet */
function refuseNullStructs({ name, type }: NewField, version: string): void {
  if (version !== "2.0" || type.kind !== "struct") return;
  throw new UnsupportedError(
    `column ${formatFieldPath([name])}: structs that are filled later need a table of data format 2.1 or later`,
  );
}

/** Approximate bytes of a batch of constants. */
const BATCH_BYTES = 4 * 1024 * 1024;
const MAX_BATCH_ROWS = 65_536;

/** Repeats each value `rowCount` times, batch by batch. */
export async function* repeatValues(
  values: readonly Column[],
  rowCount: number,
): AsyncGenerator<{ columns: Column[]; rowCount: number }> {
  const valueBytes = values.reduce(
    (sum, value) => sum + (value.kind === "variable" ? value.bytes.length : 16),
    1,
  );
  const batchRows = Math.max(1, Math.min(MAX_BATCH_ROWS, Math.floor(BATCH_BYTES / valueBytes)));
  const repeat = (count: number) => ({
    columns: values.map((value) => takeColumn(value, new Uint32Array(count))),
    rowCount: count,
  });
  let batch = repeat(Math.min(batchRows, rowCount));
  for (let row = 0; row < rowCount; row += batch.rowCount) {
    if (rowCount - row < batch.rowCount) batch = repeat(rowCount - row);
    yield batch;
  }
}
