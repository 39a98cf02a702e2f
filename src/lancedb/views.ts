/**
 * Materialized views: tables that hold the result of a query on another table. A view's schema records the
 * query, and the version of the source that its rows were computed from, in the form that LanceDB reads. Each
 * row has the id of its source row, so that a refresh merges changed rows only. Sources need stable row ids:
 * only these tables record which version changed a row.
 */

import {
  Table as ArrowTable,
  Field,
  makeData,
  RecordBatch,
  type RecordBatch as Rows,
  Schema,
  Struct,
  Uint64,
} from "apache-arrow";
import { runAsync } from "../async/eventLoop.js";
import { NamespaceError } from "../errors.js";
import { parseInSteps } from "../expression/parse/parse.js";
import type { MaterializedViewOptions } from "./connectionTypes.js";
import type { Database } from "./database.js";
import { engineErrorOf, failure, ignoreMissingTable, translated } from "./failures.js";
import {
  DEFINITION_META_KEY,
  definitionFromMetadata,
  type MaterializedViewDefinition,
  normalizeSelect,
  quotedName,
  validateNonNegativeInteger,
} from "./materialized_view.js";
import type { RefreshMaterializedViewResult } from "./native.js";
import { emptyBatch } from "./rowBatches.js";
import type { Opened, TableState } from "./tableState.js";

/** Column of a view with the ids of its source rows. */
const SOURCE_ROW_ID = "__source_row_id";
/** Version that changed a row last. */
const CHANGED_AT = "_row_last_updated_at_version";
const SOURCE_VERSION = "mv.source_version";
const SOURCE_TIME = "mv.source_version_ts";
/** Maximum number of rows that a refresh deletes one by one. More rows rebuild the view. */
const MAX_DELETED = 10_000;
const NANOSECONDS = 1_000_000n;

/** A version of a source table. */
interface Source {
  readonly id: readonly string[];
  readonly version: number;
  readonly timestampMillis: number;
}

/** Creates an empty view. */
export async function createView(
  database: Database,
  name: string,
  source: string,
  options: MaterializedViewOptions = {},
): Promise<Opened> {
  validateNonNegativeInteger(options.limit, "limit");
  const id = [source];
  await requireStableRowIds(database, id);
  const { schema } = await database.call((namespace) => namespace.queryTable({ id, k: 0 }), source);
  const names = schema.fields.map((field) => field.name);
  const projections =
    normalizeSelect(options.select) ?? names.map((column): [string, string] => [column, quotedName(column)]);
  requireDistinct(projections.map(([output]) => output));
  const fields = await viewFields(database, id, projections);
  const inputs = await inputsOf(names, projections, options.where);
  const definition = {
    ...(options.where != null && { filter: options.where }),
    inputs,
    kind: "select",
    ...(options.limit != null && { limit: options.limit }),
    projections: projections.map(([output, expression]) => ({ expression, output })),
    source_table: source,
  };
  const metadata = new Map([
    [DEFINITION_META_KEY, JSON.stringify(definition)],
    ["mv.incarnation", globalThis.crypto.randomUUID()],
  ]);
  const rowId = new Field(SOURCE_ROW_ID, new Uint64(), false);
  const empty = new ArrowTable(new Schema([...fields, rowId], metadata));
  const { version } = await database.call((namespace) => namespace.createTable({ id: [name] }, empty), name);
  return { id: [name], version, uri: database.tableUri(name) };
}

/** Lists the names of the views of a database. */
export async function viewNames(database: Database): Promise<string[]> {
  const { tables } = await database.call((namespace) => namespace.listTables({ id: [] }));
  const names: string[] = [];
  for (const name of tables) {
    const described = database.call((namespace) => namespace.describeTable({ id: [name] }), name);
    // Others may drop a table after it was listed.
    const { metadata } = (await described.catch(ignoreMissingTable)) ?? {};
    if (metadata !== undefined && Object.hasOwn(metadata, DEFINITION_META_KEY)) names.push(name);
  }
  return names;
}

/** Brings a view up to date with its source. */
export async function refreshView(
  view: TableState,
  isFull: boolean,
  sourceVersion: number | undefined,
): Promise<RefreshMaterializedViewResult> {
  validateNonNegativeInteger(sourceVersion, "sourceVersion");
  const { metadata } = await view.schema();
  const definition = definitionFromMetadata(metadata, view.name);
  const source = await sourceOf(view, definition, sourceVersion);
  const last = await lastSource(view, source, metadata);
  const result = (mode: string, rowsWritten: number, version: number): RefreshMaterializedViewResult => ({
    mode,
    rowsWritten,
    sourceVersion: source.version,
    version,
  });
  if (!isFull && last === source.version) return result("no_op", 0, await view.version());
  await requireInputs(view, source, definition);
  const merged =
    isFull || last === null || last > source.version ? null : await merge(view, definition, source, last);
  const rowsWritten = merged ?? (await rebuild(view, definition, source));
  const version = await record(view, metadata, source);
  return result(merged === null ? "rebuild" : "incremental", rowsWritten, version);
}

async function requireStableRowIds(database: Database, id: readonly string[]): Promise<void> {
  const name = id.at(-1) as string;
  await database.call((namespace) => namespace.describeTable({ id }), name);
  try {
    await database.namespace.countTableRows({ id, predicate: `${CHANGED_AT} = 0` });
  } catch (error) {
    if (!(error instanceof NamespaceError) || error.type !== "InvalidInput") throw translated(error, name);
    throw failure(
      `Invalid input, materialized views require stable row ids on the source table; create '${name}' with storage option new_table_enable_stable_row_ids=true`,
      error,
    );
  }
}

function requireDistinct(names: readonly string[]): void {
  const seen = new Set<string>([SOURCE_ROW_ID]);
  for (const name of names) {
    if (seen.has(name)) throw failure(`Column '${name}' already exists`);
    seen.add(name);
  }
}

/** Returns the columns of a view. @throws Error that names the column whose SQL is not valid */
async function viewFields(
  database: Database,
  id: readonly string[],
  projections: readonly (readonly [string, string])[],
): Promise<Field[]> {
  const fields: Field[] = [];
  for (const [output, expression] of projections) {
    try {
      const columns = { columnAliases: { [output]: expression } };
      const { schema } = await database.namespace.queryTable({ id, columns, k: 0 });
      fields.push(schema.fields[0] as Field);
    } catch (error) {
      if (!(error instanceof NamespaceError)) throw error;
      throw failure(`Invalid expression for column '${output}': ${error.message}`, error);
    }
  }
  return fields;
}

/** Returns the columns of the source that the query of a view reads, in order. */
async function inputsOf(
  names: readonly string[],
  projections: readonly (readonly [string, string])[],
  where: string | undefined,
): Promise<string[]> {
  const inputs = new Set<string>();
  for (const [, expression] of projections) {
    for (const name of await columnsIn(expression)) inputs.add(columnOf(names, name) ?? name);
  }
  for (const name of where == null ? [] : await columnsIn(where)) {
    const column = columnOf(names, name);
    if (column === undefined) throw failure(`Invalid input, invalid view filter: unknown column '${name}'`);
    inputs.add(column);
  }
  return [...inputs].sort();
}

/** Column of a name, which may be written in another case. */
const columnOf = (names: readonly string[], name: string): string | undefined =>
  names.includes(name) ? name : names.find((each) => each.toLowerCase() === name.toLowerCase());

/** Returns the names of the columns in an expression. */
async function columnsIn(expression: string): Promise<Set<string>> {
  const columns = new Set<string>();
  const nodes: unknown[] = [await runAsync(parseInSteps(expression, "expression"))];
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    if (typeof node !== "object" || node === null) continue;
    const { kind, segments } = node as { readonly kind?: unknown; readonly segments?: readonly string[] };
    if (kind === "name" && segments?.[0] !== undefined) columns.add(segments[0]);
    else nodes.push(...Object.values(node).filter((child) => child !== undefined));
  }
  return columns;
}

async function sourceOf(
  view: TableState,
  { sourceTable, sourceNamespace }: MaterializedViewDefinition,
  sourceVersion: number | undefined,
): Promise<Source> {
  const id = [...sourceNamespace, sourceTable];
  const { version } = await view.database.call(
    (namespace) => namespace.describeTableVersion({ id, version: sourceVersion }),
    sourceTable,
  );
  return { id, version: version.version, timestampMillis: version.timestampMillis };
}

/** Returns the source version that a view was computed from; null if it is unknown, or not there any more. */
async function lastSource(
  view: TableState,
  { id }: Source,
  metadata: ReadonlyMap<string, string>,
): Promise<number | null> {
  const [text, time] = [metadata.get(SOURCE_VERSION) ?? "", metadata.get(SOURCE_TIME) ?? ""];
  const version = Number(text);
  if (!/^\d+$/.test(text) || !/^\d+$/.test(time) || !Number.isSafeInteger(version)) return null;
  try {
    const described = await view.call((namespace) => namespace.describeTableVersion({ id, version }));
    return BigInt(described.version.timestampMillis) === BigInt(time) / NANOSECONDS ? version : null;
  } catch (error) {
    if (engineErrorOf(error)?.type === "TableVersionNotFound") return null;
    throw error;
  }
}

/** @throws Error if a column that the view reads is not there any more */
async function requireInputs(
  view: TableState,
  { id, version }: Source,
  { inputs, sourceTable }: MaterializedViewDefinition,
): Promise<void> {
  const { schema } = await view.call((namespace) => namespace.queryTable({ id, version, k: 0 }));
  const names = new Set(schema.fields.map(({ name }) => name));
  const missing = inputs.find((input) => !names.has(input));
  if (missing === undefined) return;
  throw failure(
    `Schema Error: source column '${missing}' read by the view no longer exists (dropped or renamed in '${sourceTable}')`,
  );
}

/** Returns the query of a view on a version of its source. */
const queryOf = ({ projections }: MaterializedViewDefinition, { id, version }: Source) => ({
  id,
  version,
  columns: { columnAliases: Object.fromEntries([...projections, [SOURCE_ROW_ID, "_rowid"]]) },
});

/** Replaces all rows of a view. Returns their number. */
async function rebuild(
  view: TableState,
  definition: MaterializedViewDefinition,
  source: Source,
): Promise<number> {
  const { filter, limit } = definition;
  const rows = await view.call((namespace) =>
    namespace.queryTable({ ...queryOf(definition, source), filter, ...limited(limit) }),
  );
  const data = fittedRows(rows, await view.schema());
  const { numInsertedRows } = await view.change((namespace, table) =>
    namespace.insertIntoTable({ ...table, mode: "Overwrite" }, data),
  );
  return numInsertedRows;
}

/** A limit of no rows is the engine's `k`. */
const limited = (limit: number | undefined) => (limit === 0 ? { k: 0 } : { limit });

/**
 * Merges the rows that changed since a version into a view, and deletes those that the query does not select
 * any more. Returns the number of merged rows; null if the view must be rebuilt.
 */
async function merge(
  view: TableState,
  definition: MaterializedViewDefinition,
  source: Source,
  last: number,
): Promise<number | null> {
  const { id, version } = source;
  const { filter = "true", limit } = definition;
  const changed = `${CHANGED_AT} > ${last}`;
  const selected = (condition: string) =>
    view.call((namespace) => namespace.countTableRows({ id, version, predicate: condition }));
  const total = await selected(filter);
  if (limit !== undefined && total > limit) return null;
  const left = await idsOf(view, source, `${changed} AND (${filter}\n) IS NOT TRUE`);
  if (left === null) return null;
  const rows = await view.call((namespace) =>
    namespace.queryTable({ ...queryOf(definition, source), filter: `(${filter}\n) AND ${changed}` }),
  );
  const data = fittedRows(rows, await view.schema());
  const merged = await view.change((namespace, table) =>
    namespace.mergeInsertIntoTable(
      {
        ...table,
        on: SOURCE_ROW_ID,
        whenMatchedUpdateAll: true,
        whenNotMatchedInsertAll: true,
        ...(left.length > 0 && {
          whenNotMatchedBySourceDelete: true,
          whenNotMatchedBySourceDeleteFilt: isAmong(left),
        }),
      },
      data,
    ),
  );
  const count = await view.read((namespace, shown) => namespace.countTableRows(shown));
  if (count > total && !(await deleteRemoved(view, source))) return null;
  return count < total ? null : merged.numInsertedRows + merged.numUpdatedRows;
}

const isAmong = (ids: readonly bigint[]): string => `${SOURCE_ROW_ID} IN (${ids.join(", ")})`;

/** Returns the ids of the source rows that a condition selects; null if there are too many to name. */
async function idsOf(view: TableState, { id, version }: Source, filter: string): Promise<bigint[] | null> {
  const rows = await view.call((namespace) =>
    namespace.queryTable({ id, version, filter, columns: ["_rowid"], limit: MAX_DELETED + 1 }),
  );
  const ids: bigint[] = [];
  for await (const batch of rows) ids.push(...idsIn(batch));
  return ids.length > MAX_DELETED ? null : ids;
}

const idsIn = (batch: Rows): bigint[] => Array.from(batch.getChildAt(0) ?? [], BigInt);

/** Deletes the rows of a view whose source rows were deleted. Returns false if there are too many to name. */
async function deleteRemoved(view: TableState, { id, version }: Source): Promise<boolean> {
  const rows = await view.read((namespace, shown) =>
    namespace.queryTable({ ...shown, columns: [SOURCE_ROW_ID] }),
  );
  const removed: bigint[] = [];
  for await (const batch of rows) {
    const rowIds = idsIn(batch);
    const taken = await view.call((namespace) =>
      namespace.takeTableRows({ id, version, rowIds, columns: ["_rowid"] }),
    );
    const present = new Set<bigint>();
    for await (const each of taken) for (const rowId of idsIn(each)) present.add(rowId);
    for (const rowId of rowIds) if (!present.has(rowId)) removed.push(rowId);
    if (removed.length > MAX_DELETED) return false;
  }
  if (removed.length === 0) return true;
  await view.change((namespace, table) =>
    namespace.deleteFromTable({ ...table, predicate: isAmong(removed) }),
  );
  return true;
}

/** Records the version of the source in the schema of a view. Returns the version of the view. */
async function record(
  view: TableState,
  metadata: ReadonlyMap<string, string>,
  { version: sourceVersion, timestampMillis }: Source,
): Promise<number> {
  const viewVersion = (await view.version()) + 1;
  const { version } = await view.change((namespace, table) =>
    namespace.updateTableSchemaMetadata({
      ...table,
      metadata: {
        ...Object.fromEntries(metadata),
        "mv.refreshed_at_ms": String(Date.now()),
        [SOURCE_VERSION]: String(sourceVersion),
        [SOURCE_TIME]: String(BigInt(timestampMillis) * NANOSECONDS),
        "mv.view_version": String(viewVersion),
      },
    }),
  );
  return version;
}

/** Yields rows with the fields of a schema. There is always a batch: the engine takes its schema. */
async function* fittedRows(rows: AsyncIterable<Rows>, schema: Schema): AsyncGenerator<Rows> {
  const type = new Struct(schema.fields);
  let isEmpty = true;
  for await (const { data } of rows) {
    isEmpty = false;
    const { length, children } = data;
    yield new RecordBatch(schema, makeData({ type, length, nullCount: 0, children }));
  }
  if (isEmpty) yield emptyBatch(schema);
}
