/** Resolves the columns a query returns against a version's schema, before anything is read. Pure. */

import { Field as ArrowField, Schema, Uint64 } from "apache-arrow";
import type { Column } from "../arrow/columns/column.js";
import { arrowFieldFromLogical } from "../arrow/types/logicalTypes.js";
import { formatType } from "../arrow/types/type.js";
import { InvalidInputError, TableColumnNotFoundError, UnsupportedError } from "../errors.js";
import { formatFieldPath, parseFieldPath } from "../ident.js";
import type { ColumnSelection } from "../namespace.js";
import { type FieldChain, type LeafPlan, planLeaves } from "../rows/leafPlan.js";
import { type FindField, fieldFinder } from "../schema/fieldPaths.js";
import type { TableField } from "../schema/schema.js";

/** Name of the pseudo-column that holds row ids. */
const ROW_ID_COLUMN = "_rowid";

/** The columns that a query returns. The outputs of the plan are the wanted paths, each once. */
export interface Projection extends LeafPlan {
  /** The output of each column to return: one path may be wanted under several names. Row ids are not included. */
  readonly returned: readonly number[];
  /** Whether row ids are returned, as the last column. */
  readonly withRowId: boolean;
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
  const chains: FieldChain[] = [];
  const byPath = new Map<string, { index: number; field: ArrowField }>();
  const returned: number[] = [];
  const names = new Set<string>();
  const arrowFields: ArrowField[] = [];
  for (const { path: text, name: alias } of wanted) {
    const segments = parseFieldPath(text);
    const path = formatFieldPath(segments);
    let output = byPath.get(path);
    if (output === undefined) {
      const chain = findChain(fields, segments, find);
      output = { index: chains.push(chain) - 1, field: returnedField(chain, path) };
      byPath.set(path, output);
    }
    returned.push(output.index);
    const { field } = output;
    const name = alias ?? field.name;
    if (names.has(name)) throw new InvalidInputError(`columns: ${formatFieldPath([name])} appears twice`);
    names.add(name);
    arrowFields.push(
      alias === null ? field : new ArrowField(alias, field.type, field.nullable, field.metadata),
    );
  }
  if (withRowId) arrowFields.push(new ArrowField(ROW_ID_COLUMN, new Uint64(), true));
  const schema = new Schema(arrowFields, new Map(schemaMetadata));
  return { ...planLeaves(chains), returned, withRowId, schema };
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
  const chains = fields.map((field): FieldChain => [field]);
  return { ...projection, ...planLeaves(chains, "jsonb") };
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

/** The fields that a path names, from the top-level column down. */
function findChain(fields: readonly TableField[], segments: readonly string[], find: FindField): FieldChain {
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
  return chain;
}

/** The field of the column that a query returns for a path. */
function returnedField(chain: FieldChain, path: string): ArrowField {
  const target = chain[chain.length - 1];
  const { type, metadata } = arrowFieldFromLogical(target, path);
  const name = chain.length === 1 ? target.name : path;
  return new ArrowField(
    name,
    type,
    chain.some((field) => field.nullable),
    metadata,
  );
}
