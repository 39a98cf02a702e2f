/** Materialized views: tables that hold the result of a query on another table. */

import type { Table } from "./abstractTable.js";
import { failure } from "./failures.js";
import type { RefreshMaterializedViewResult } from "./native.js";

/** Key of a schema's metadata that holds the definition of a view. */
export const DEFINITION_META_KEY = "mv.definition";

/** Query that defines a view. */
export interface MaterializedViewDefinition {
  /** Name of the source table. */
  sourceTable: string;
  /** Pairs of a column and its SQL. */
  projections: [string, string][];
  /** SQL that selects the rows. */
  filter?: string;
  /** Maximum number of rows. */
  limit?: number;
  /** Columns of the source that the query reads. */
  inputs: string[];
  /** Path of the source's namespace. */
  sourceNamespace: string[];
}

/** Columns of a view: names, pairs of a name and SQL, or SQL by name. */
export type MaterializedViewSelect = (string | [string, string])[] | Record<string, string>;

/** Refuses a number that is not an integer of at least 0. */
export function validateNonNegativeInteger(value: number | undefined, name: string): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return;
  throw new Error(`${name} must be a non-negative integer, got ${value}`);
}

/** Returns the columns of a view as pairs of a name and SQL. */
export function normalizeSelect(select?: MaterializedViewSelect): [string, string][] | undefined {
  if (select === undefined) return undefined;
  if (!Array.isArray(select)) return Object.entries(select);
  return select.map((column) => (typeof column === "string" ? [column, quotedName(column)] : column));
}

/** Returns the name of a column as SQL. */
export const quotedName = (column: string): string => `\`${column.replaceAll("`", "``")}\``;

/** Returns the definition of a view from the metadata of its schema. */
export function definitionFromMetadata(
  metadata: Map<string, string>,
  name: string,
): MaterializedViewDefinition {
  const text = metadata.get(DEFINITION_META_KEY);
  if (text === undefined) throw failure(`Table '${name}' is not a materialized view`);
  const { source_table, projections, filter, limit, inputs, source_namespace } = storedView(text, name);
  if (limit != null && !Number.isSafeInteger(limit)) {
    throw failure(`The limit of the view '${name}' is too large to represent exactly`);
  }
  return {
    sourceTable: source_table,
    projections: (projections ?? []).map(({ output, expression }) => [output, expression]),
    ...(filter != null && { filter }),
    ...(limit != null && { limit }),
    inputs: inputs ?? [],
    sourceNamespace: source_namespace ?? [],
  };
}

/** Definition of a view as its schema records it. */
interface StoredView {
  readonly source_table: string;
  readonly projections?: readonly { readonly output: string; readonly expression: string }[];
  readonly filter?: string | null;
  readonly limit?: number | null;
  readonly inputs?: string[];
  readonly source_namespace?: string[];
}

/** @throws Error for a text that is not the definition of a view */
function storedView(text: string, name: string): StoredView {
  const refusal = failure(`The definition of the view '${name}' is not valid`);
  let stored: unknown;
  try {
    stored = JSON.parse(text);
  } catch {
    throw refusal;
  }
  const { source_table, projections = [], inputs = [], source_namespace = [] } = Object(stored);
  if (typeof source_table === "string" && [projections, inputs, source_namespace].every(Array.isArray)) {
    return stored as StoredView;
  }
  throw refusal;
}

/** A view and the query that defines it. */
export class MaterializedView {
  private readonly inner: Table;

  /** Makes a view of a table. */
  constructor(table: Table) {
    this.inner = table;
  }

  /** Name of the view. */
  get name(): string {
    return this.inner.name;
  }

  /** Returns the view as the table that it is. */
  table(): Table {
    return this.inner;
  }

  /** Returns the query that defines the view. */
  async definition(): Promise<MaterializedViewDefinition> {
    return definitionFromMetadata((await this.inner.schema()).metadata, this.name);
  }

  /**
   * Brings the view up to date with its source. Rows that changed since the last refresh are merged. If that
   * is not possible, all rows are replaced.
   * @param options `full`: replaces all rows; `sourceVersion`: version of the source, by default the latest
   */
  async refresh(options?: {
    full?: boolean;
    sourceVersion?: number;
  }): Promise<RefreshMaterializedViewResult> {
    validateNonNegativeInteger(options?.sourceVersion, "sourceVersion");
    return this.inner.refreshMaterializedView(options?.full, options?.sourceVersion);
  }
}
