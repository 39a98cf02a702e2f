/** A backfill resolved on one version: its rows, the columns it reads, and the function to call. */

import type { Column } from "../../arrow/columns/column.js";
import { runAsync } from "../../async/eventLoop.js";
import { InvalidInputError, TableColumnNotFoundError, UnsupportedError } from "../../errors.js";
import { col } from "../../expression/build.js";
import { bindNewColumn } from "../../expression/expression.js";
import type { DataFragment } from "../../format/table.js";
import { formatFieldPath, parseFieldPath } from "../../ident.js";
import { type Projection, resolveProjection } from "../../query/columns/projection.js";
import { RowNumbers } from "../../query/columns/systemColumns.js";
import { type Filter, planFilter } from "../../query/filter/filter.js";
import { selectedRows } from "../../query/filter/filteredRows.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { STREAMED } from "../../rows/readAhead.js";
import { unskipped } from "../../rows/rowPositions.js";
import {
  type ColumnDeclaration,
  declarationOf,
  type ForeignDeclaration,
  outdatedFields,
} from "../../schema/computedFields.js";
import { fieldIdsOf, resolveField } from "../../schema/fieldPaths.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { computeColumn, planComputedColumn, storedComputedField } from "../columns/computedColumns.js";
import { functionNamed, haveSameType, typeInWords } from "../functionOutputs.js";
import type { RegisteredFunction } from "../userFunctions.js";
import { type CallOptions, callFunction, type InputRows, rowsInWords } from "./functionCalls.js";
import { areStored, digestOf, filesWith } from "./storedFields.js";

/** A backfill as the caller asks for it. */
export interface BackfillRequest {
  /** Path of the column. */
  readonly column: string;
  /** SQL that selects the rows; null for rows without a value. */
  readonly where: string | null;
  readonly functions: ReadonlyMap<string, RegisteredFunction>;
}

export interface ResolvedBackfill {
  readonly field: TableField;
  /** True if rows are computed one by one. */
  readonly isByRow: boolean;
  /** Columns that are computed from this one, directly or through others. */
  readonly dependents: readonly TableField[];
  /** Selects the rows. */
  readonly filter: Filter;
  /** True if the filter selects the rows without a value. */
  readonly fillsNulls: boolean;
  /** True if all rows of a fragment are selected because none of its files has the column. */
  selectsAll(fragment: DataFragment): boolean;
  /** Reads the inputs, in order. */
  readonly projection: Projection;
  /** Text of everything that the values depend on: equal texts mean equal values of equal inputs. */
  readonly meaning: string;
  compute(rows: InputRows, options: CallOptions): Promise<Column>;
  /** Digest of the meaning, and of the files that selection and values depend on. */
  sourceOf(fragment: DataFragment): Promise<string>;
}

/**
 * @throws TableColumnNotFoundError for a missing column or input; InvalidInputError for a column that is not
 *   computed or names no inputs, for dependent columns that can't be null, and for a function that is not
 *   registered as declared; UnsupportedError for a column that only another engine can fill
 */
export async function resolvedOn(
  { file }: Pick<OpenVersion, "file">,
  request: BackfillRequest,
  signal?: AbortSignal,
): Promise<ResolvedBackfill> {
  const fields = decodeSchema(file.manifest.fields, file.path);
  const { path, chain, field } = resolveField(fields, request.column);
  const declaration = declarationOf(field);
  if (declaration === null) {
    throw new InvalidInputError(`column: ${path} is not computed: there is nothing to fill it with`);
  }
  if (declaration.kind === "foreign") {
    throw new UnsupportedError(`column: ${path} can't be filled by this release: ${declaration.problem}`);
  }
  if (chain.length > 1) {
    throw new UnsupportedError(
      `column: ${path} is a part of a column; only whole columns are filled by this release`,
    );
  }
  const { where } = request;
  const filter = await runAsync(planFilter(where ?? col(path).isNull(), {}, fields, "where"), signal);
  const how = await howToCompute(declaration, field, fields, request, signal);
  const names = new Set([field.name, ...[...filter.expression.paths, ...how.inputs].map(([name]) => name)]);
  const ids = new Set(fields.filter(({ name }) => names.has(name)).flatMap(fieldIdsOf));
  const ownIds = new Set(fieldIdsOf(field));
  const dependents = outdatedFields(fields, new Set([field.name]));
  const rigid = dependents.find(({ nullable }) => !nullable);
  if (rigid !== undefined) {
    const name = formatFieldPath([rigid.name]);
    throw new InvalidInputError(
      `column: ${name} is computed from ${path}, so it becomes null in rows in which ${path} changes; make ${name} nullable first`,
    );
  }
  const meaning = JSON.stringify([field.id, typeInWords(field), declaration, how.registered, where]);
  return {
    ...how,
    field,
    dependents,
    filter,
    fillsNulls: where === null,
    selectsAll: ({ files }) => where === null && !areStored(files, ownIds),
    meaning,
    sourceOf: ({ id, physicalRows, files }) => {
      const relevant = filesWith(files, ids);
      return digestOf(JSON.stringify([meaning, id, physicalRows, relevant]));
    },
  };
}

interface HowToCompute extends Pick<ResolvedBackfill, "projection" | "isByRow" | "compute"> {
  readonly inputs: readonly (readonly string[])[];
  /** Version of the function, which declarations by other engines omit. */
  readonly registered: { readonly version: string } | null;
}

async function howToCompute(
  declaration: Exclude<ColumnDeclaration, ForeignDeclaration>,
  field: TableField,
  fields: readonly TableField[],
  { functions }: BackfillRequest,
  signal: AbortSignal | undefined,
): Promise<HowToCompute> {
  if (declaration.kind === "sql") return bySql(declaration, field, fields, signal);
  const owner = registeredFor(declaration, field, functions);
  const inputs = owner.inputs.map((path) => parseFieldPath(path));
  for (const path of owner.inputs) {
    const input = resolveInput(fields, path, field);
    if (input === field) throw new InvalidInputError(`column: ${field.name} is an input of itself`);
  }
  const projection = resolveProjection(fields, new Map(), owner.inputs);
  return {
    inputs,
    registered: { version: owner.version },
    projection,
    isByRow: owner.call.kind === "row",
    compute: (rows, options) => callFunction(owner, projection.schema, rows, options),
  };
}

function resolveInput(fields: readonly TableField[], path: string, field: TableField): TableField {
  try {
    return resolveField(fields, path).chain[0];
  } catch (error) {
    if (!(error instanceof TableColumnNotFoundError)) throw error;
    throw new TableColumnNotFoundError(
      `column ${path}, from which ${formatFieldPath([field.name])} is computed, is not in the table's schema`,
    );
  }
}

async function bySql(
  { expression: text, inputs }: Extract<ColumnDeclaration, { kind: "sql" }>,
  field: TableField,
  fields: readonly TableField[],
  signal: AbortSignal | undefined,
): Promise<HowToCompute> {
  const label = `expression of column ${formatFieldPath([field.name])}`;
  const others = fields.filter((each) => each !== field);
  const bound = await runAsync(bindNewColumn(text, others, label), signal);
  if (bound === null) throw new InvalidInputError(`${label}: names no column`);
  const computed = planComputedColumn(bound, text, others, label);
  const stored = storedComputedField(field.name, computed, label);
  if (!haveSameType(stored, field)) {
    throw new InvalidInputError(
      `${label}: its values now have type ${typeInWords(stored)}, but the column has type ${typeInWords(field)}; drop the column and add it again`,
    );
  }
  const paths = bound.paths.map((path) => formatFieldPath(path));
  const inputPaths = new Set(inputs.map((input) => formatFieldPath(parseFieldPath(input))));
  const missing = bound.paths.find(
    (path) => !path.some((_, depth) => inputPaths.has(formatFieldPath(path.slice(0, depth + 1)))),
  );
  if (missing !== undefined) {
    throw new InvalidInputError(
      `${label}: it names ${formatFieldPath(missing)}, and computed_column.inputs in the metadata of the field does not, so that changes of it would go unnoticed; drop the column and add it again`,
    );
  }
  return {
    inputs: bound.paths,
    registered: null,
    projection: resolveProjection(fields, new Map(), paths),
    isByRow: false,
    compute: ({ columns, offsets, fragmentId }, { signal }) =>
      namingRows(`${label}, fragment ${fragmentId}`, offsets, () =>
        runAsync(computeColumn(computed, columns, offsets.length), signal),
      ),
  };
}

/** Runs a computation and names the rows in its errors. */
async function namingRows<Result>(
  label: string,
  offsets: Uint32Array,
  compute: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await compute();
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    throw new InvalidInputError(`${label}, ${rowsInWords(offsets)}: ${error.message}`, { cause: error });
  }
}

/**
 * Returns the function that fills a column.
 * @throws InvalidInputError if it is not registered as the column declares it
 */
function registeredFor(
  declaration: Extract<ColumnDeclaration, { kind: "function" }>,
  field: TableField,
  functions: ReadonlyMap<string, RegisteredFunction>,
): RegisteredFunction {
  const { udfName, udfVersion, inputs } = declaration;
  const path = formatFieldPath([field.name]);
  const owner = functionNamed(functions, udfName, `column ${path}`);
  if (udfVersion !== undefined && udfVersion !== owner.version) {
    throw new InvalidInputError(
      `column ${path}: declared for version ${udfVersion} of function ${udfName}; version ${owner.version} is registered. To use that version, set virtual_column.udf_version to ${JSON.stringify(owner.version)} in the metadata of the field (updateFieldMetadata), and fill the column with where: "true"`,
    );
  }
  const declared = inputs.map((input) => formatFieldPath(parseFieldPath(input)));
  if (declared.length === 0) {
    // Updates and other changes read a column's inputs from its metadata only.
    throw new InvalidInputError(
      `column ${path}: its metadata does not say what it is computed from, so that changes of that would go unnoticed; set virtual_column.udf_inputs to ${JSON.stringify(JSON.stringify(owner.inputs))} in the metadata of the field (updateFieldMetadata)`,
    );
  }
  if (JSON.stringify(declared) !== JSON.stringify(owner.inputs)) {
    throw new InvalidInputError(
      `column ${path}: declared for the inputs ${declared.join(", ")}; function ${udfName} is registered with ${owner.inputs.join(", ")}`,
    );
  }
  if (!haveSameType(owner.output, field)) {
    throw new InvalidInputError(
      `column ${path}: is of type ${typeInWords(field)}; function ${udfName} is registered with ${typeInWords(owner.output)}`,
    );
  }
  return owner;
}

/** Returns physical offsets of the rows of a fragment that a filter selects, ascending. */
export async function selectedOffsets(
  base: OpenVersion<ReaderEnvironment>,
  { filter, selectsAll }: Pick<ResolvedBackfill, "filter"> & Partial<Pick<ResolvedBackfill, "selectsAll">>,
  fragment: DataFragment,
  signal: AbortSignal,
): Promise<Uint32Array> {
  const source = versionSource(base);
  const { physicalRows } = fragment;
  if (physicalRows > 0 && selectsAll?.(fragment) === true) {
    return unskipped(0, physicalRows, (await source.readDeletions(fragment)) ?? new Uint32Array(0));
  }
  const numbers = new RowNumbers(source, base.file.manifest, base.path);
  const request = { fragments: [fragment], filter, numbers, readAhead: STREAMED, signal };
  let selected: Uint32Array = new Uint32Array(0);
  for await (const { rows } of selectedRows(source, request)) selected = rows;
  return selected;
}
