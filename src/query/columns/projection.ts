/**
 * Resolves the columns that a query returns against a version's schema, before any read. Pure.
 *
 * A selection names columns of the table by their paths, system columns (`systemColumns.ts`), and
 * expressions; `*` stands for all columns of the table. A name matches as in a filter: in any case, unless
 * another column has it exactly. The query returns a column under the text that names it, with its backticks.
 */

import { Field as ArrowField, Schema } from "apache-arrow";
import type { Column } from "../../arrow/columns/column.js";
import { arrowFieldFromLogical } from "../../arrow/types/logicalTypes.js";
import { runSync, type Steps } from "../../async/eventLoop.js";
import { lazyModule, lazySteps } from "../../async/lazy.js";
import { InvalidInputError, TableColumnNotFoundError } from "../../errors.js";
import type { Expression } from "../../expression/build.js";
import type { Effort } from "../../expression/evaluate/bound.js";
import { isExpression } from "../../expression/isExpression.js";
import { formatFieldPath, parseFieldPath } from "../../ident.js";
import type { ColumnSelection, FilterParameters } from "../../namespace/queries.js";
import { type FieldChain, planLeaves } from "../../rows/leafPlan.js";
import type { TableField } from "../../schema/schema.js";
import { ColumnReads, type ColumnSource, type RowsPlan } from "./columnReads.js";
import { type Computation, columnsFrom, compute, computedField, needAddresses } from "./computedColumns.js";
import { DISTANCE, foundField, QUERY_INDEX, SCORE } from "./foundColumns.js";
import { type RowNumbers, type SystemColumn, spelledPath, systemField } from "./systemColumns.js";

/** The first computed column loads this module. */
const expressions = lazyModule(() => import("../../expression/expression.js"));

const ROW_ID: SystemColumn = "_rowid";
/** Stands for all columns of the table in a list of names. */
const WILDCARD = "*";

/** A column that a query returns. */
export type ReturnedColumn = ColumnSource | ({ readonly kind: "computed" } & Computation);

/** The columns that a query returns, and the columns that it reads for them. */
export interface Projection extends RowsPlan {
  /** A selection may name one path several times. */
  readonly returned: readonly ReturnedColumn[];
  readonly schema: Schema;
}

export interface SelectionOptions {
  /** True to return row ids after all columns except relevance and highlights. */
  readonly withRowId?: boolean;
  /** Maximum columns of a selection, unless the table itself has more fields. Default: no bound. */
  readonly maxColumns?: number;
  /** Values of the parameters in expressions. */
  readonly parameters?: FilterParameters;
}

/**
 * @param reads of the table's fields: collects the inputs of the columns
 * @throws TableColumnNotFoundError for a path that is not in the schema; InvalidInputError for a malformed
 *   path and for too many paths; UnsupportedError for a column of a type this build does not read; the errors
 *   of `bindExpression`
 */
export function* selectColumns(
  fields: readonly TableField[],
  reads: ColumnReads,
  schemaMetadata: ReadonlyMap<string, string>,
  selection: ColumnSelection | undefined,
  { withRowId = false, maxColumns = Number.POSITIVE_INFINITY, parameters = {} }: SelectionOptions = {},
): Steps<Projection> {
  const selected = wantedColumns(fields, selection);
  if (selected.length > maxColumns && selected.length > countFields(fields)) {
    throw new InvalidInputError(`columns: ${selected.length} are named; at most ${maxColumns} are returned`);
  }
  const resolver = new Resolver(reads, parameters);
  const names = new Set<string>();
  const resolved: ResolvedColumn[] = [];
  for (const { what, name } of selected) {
    const column = yield* name === null ? resolver.named(what) : resolver.aliased(what, name);
    if (names.has(column.field.name)) {
      throw new InvalidInputError(`columns: ${formatFieldPath([column.field.name])} appears twice`);
    }
    names.add(column.field.name);
    resolved.push(column);
  }
  const all = withAdded(resolved, addedColumns(reads, withRowId));
  const returned = all.map(({ column }) => column);
  const arrowFields = all.map(({ field }) => field);
  const sources = returned.flatMap((column) => (column.kind === "computed" ? column.inputs : [column]));
  const { leaves, outputs, hasBlobs } = reads.plan();
  return {
    leaves,
    outputs,
    hasBlobs,
    withAddresses: needAddresses(sources),
    measured: sources.flatMap((source) => (source.kind === "stored" ? [source.output] : [])),
    returned,
    schema: new Schema(arrowFields, new Map(schemaMetadata)),
  };
}

/** Resolves paths like {@link selectColumns}, but in one step: the selection computes nothing. */
export const resolveProjection = (
  fields: readonly TableField[],
  schemaMetadata: ReadonlyMap<string, string>,
  paths: readonly string[] | undefined,
): Projection => runSync(selectColumns(fields, new ColumnReads(fields), schemaMetadata, paths));

/** Number of fields, nested ones included. */
function countFields(fields: readonly TableField[]): number {
  return fields.reduce((count, { children }) => count + countFields(children), fields.length);
}

/**
 * Makes the columns to return of some rows, at once if none is computed.
 * @param columns the outputs of the read, followed by the addresses if the projection needs them
 */
export function returnedColumns(
  projection: Projection,
  numbers: RowNumbers,
  columns: readonly Column[],
  rowCount: number,
  signal: AbortSignal | undefined,
): Column[] | Promise<Column[]> {
  const stored: Column[] = [];
  for (const column of projection.returned) {
    if (column.kind !== "stored") return madeColumns(projection, numbers, columns, rowCount, signal);
    stored.push(columns[column.output]);
  }
  return stored;
}

async function madeColumns(
  { returned }: Projection,
  numbers: RowNumbers,
  columns: readonly Column[],
  rowCount: number,
  signal: AbortSignal | undefined,
): Promise<Column[]> {
  const made: Column[] = [];
  for (const column of returned) {
    // In a small batch, an await for each column would take longer than the columns themselves.
    if (column.kind === "stored") made.push(columns[column.output]);
    else if (column.kind === "computed") made.push(await compute(column, numbers, columns, rowCount, signal));
    else made.push(...(await columnsFrom([column], numbers, columns)));
  }
  return made;
}

/** Sums up the effort of all expressions of a projection. */
export function computationEffort({ returned }: Projection): Effort {
  let size = 0;
  let widest = 0;
  for (const column of returned) {
    if (column.kind !== "computed") continue;
    const { effort } = column.expression;
    size += effort.size;
    widest = Math.max(widest, effort.widest);
  }
  return { size, widest, isQuick: false };
}

/**
 * The projection of all columns, with JSON as the JSONB of files. Copies rows from files to files.
 * @throws UnsupportedError for a column of a type this build does not read
 */
export function storedProjection(fields: readonly TableField[]): Projection {
  const projection = resolveProjection(fields, new Map(), undefined);
  const chains = fields.map((field): FieldChain => [field]);
  return { ...projection, ...planLeaves(chains, "jsonb") };
}

// ------------------------------------------------------------------------------------------ added columns

/** A column that each row has even if the selection does not name it. */
interface AddedColumn extends ResolvedColumn {
  readonly position: "first" | "where named" | "last";
}

/** Returns the columns that the search and `withRowId` add, in the order that LanceDB's clients need. */
function addedColumns(reads: ColumnReads, withRowId: boolean): AddedColumn[] {
  const searchColumns = reads.searchColumns.map((column): AddedColumn => {
    const position = column === QUERY_INDEX ? "first" : "where named";
    return { column: reads.foundSource(column), field: foundField(column, column.name), position };
  });
  if (!withRowId) return searchColumns;
  const isBefore = (index: number) => [QUERY_INDEX, DISTANCE, SCORE].includes(reads.searchColumns[index]);
  return [
    ...searchColumns.filter((_, index) => isBefore(index)),
    { column: { kind: "system", which: ROW_ID }, field: systemField(ROW_ID), position: "last" },
    ...searchColumns.filter((_, index) => !isBefore(index)),
  ];
}

/**
 * Returns the selected and the added columns.
 * @throws InvalidInputError for another column that has the name of an added one
 */
function withAdded(selected: readonly ResolvedColumn[], added: readonly AddedColumn[]): ResolvedColumn[] {
  if (added.length === 0) return [...selected];
  const byName = new Map(added.map((column) => [column.field.name, column]));
  const named = selected.map(({ field }) => byName.get(field.name));
  for (const [index, column] of named.entries()) {
    if (column === undefined || isSame(selected[index].column, column.column)) continue;
    const giver = column.column.kind === "system" ? "withRowId" : "a search";
    throw new InvalidInputError(
      `columns: ${column.field.name} is what ${giver} gives; return the column under another name`,
    );
  }
  return [
    ...added.filter(({ position }) => position === "first"),
    ...selected.filter((_, index) => (named[index]?.position ?? "where named") === "where named"),
    ...added.filter(
      (column) =>
        column.position === "last" || (column.position === "where named" && !named.includes(column)),
    ),
  ];
}

function isSame(first: ReturnedColumn, second: ReturnedColumn): boolean {
  if (first.kind === "found") return second.kind === "found" && first.column === second.column;
  return first.kind === "system" && second.kind === "system" && first.which === second.which;
}

// --------------------------------------------------------------------------------------------- selections

/** A path or an expression, and the name to return it under; null for the text itself. */
interface WantedColumn {
  readonly what: string | Expression;
  readonly name: string | null;
}

function wantedColumns(
  fields: readonly TableField[],
  selection: ColumnSelection | undefined,
): WantedColumn[] {
  const all = (): WantedColumn[] => fields.map(({ name }) => ({ what: formatFieldPath([name]), name }));
  if (selection === undefined || selection === null) return all();
  const isWildcard = (what: unknown): boolean =>
    what === WILDCARD && !fields.some(({ name }) => name === WILDCARD);
  const columns = (names: readonly unknown[]): WantedColumn[] =>
    names.flatMap((what) => (isWildcard(what) ? all() : column(what, null)));
  const column = (what: unknown, name: string | null): WantedColumn => {
    if (typeof what === "string" || isExpression(what)) return { what, name };
    throw new InvalidInputError("columns: must be strings or expressions");
  };
  if (typeof selection === "string") return columns([selection]);
  if (isList(selection)) return columns(selection);
  const { columnNames, columnAliases } = selection;
  if (isList(columnNames)) return columns(columnNames);
  if (isPresent(columnAliases) && !isPresent(columnNames) && typeof columnAliases === "object") {
    return Object.entries(columnAliases).map(([name, what]) => column(what, name));
  }
  throw new InvalidInputError("columns: must be a path, a list of paths, columnNames or columnAliases");
}

const isPresent = <Value>(value: Value): value is NonNullable<Value> => value !== undefined && value !== null;

const isList = (selection: unknown): selection is readonly unknown[] => Array.isArray(selection);

interface ResolvedColumn {
  readonly column: ReturnedColumn;
  readonly field: ArrowField;
}

class Resolver {
  readonly #reads: ColumnReads;
  readonly #parameters: FilterParameters;

  constructor(reads: ColumnReads, parameters: FilterParameters) {
    this.#reads = reads;
    this.#parameters = parameters;
  }

  /** Resolves a column and returns it under its own name. */
  *named(what: string | Expression): Steps<ResolvedColumn> {
    if (typeof what !== "string") return yield* this.#bound(what, what.toString());
    const segments = spelledPath(parseFieldPath(what), this.#reads.named, "columns");
    return this.#stored(segments, what);
  }

  /** Resolves a path or an expression and returns it under another name. */
  *aliased(what: string | Expression, name: string): Steps<ResolvedColumn> {
    const segments = typeof what === "string" ? this.#exactPath(what) : null;
    return segments === null ? yield* this.#bound(what, name) : this.#stored(segments, name);
  }

  /** The segments of a text that is the exact path of a column; null for any other text. */
  #exactPath(text: string): readonly string[] | null {
    try {
      const segments = parseFieldPath(text);
      this.#reads.chain(segments);
      return segments;
    } catch (error) {
      if (error instanceof InvalidInputError || error instanceof TableColumnNotFoundError) return null;
      throw error;
    }
  }

  *#bound(what: string | Expression, name: string): Steps<ResolvedColumn> {
    const { bindExpression } = yield* lazySteps(expressions);
    const expression = yield* bindExpression(what, this.#parameters, this.#reads.bindable, "columns");
    if (expression.column !== null) return this.#stored(expression.column, name);
    const inputs = expression.paths.map((path) => this.#reads.source(path));
    const column: ReturnedColumn = { kind: "computed", expression, text: String(what), inputs };
    return { column, field: computedField(name, expression) };
  }

  #stored(segments: readonly string[], name: string): ResolvedColumn {
    const source = this.#reads.source(segments);
    if (source.kind === "system") return { column: source, field: systemField(name) };
    if (source.kind === "found") return { column: source, field: foundField(source.column, name) };
    const chain = this.#reads.chain(segments);
    const { type, metadata } = arrowFieldFromLogical(chain[chain.length - 1], formatFieldPath(segments));
    const nullable = chain.some((field) => field.nullable);
    return { column: source, field: new ArrowField(name, type, nullable, metadata) };
  }
}
