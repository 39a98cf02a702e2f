/**
 * The operations of one table: the same calls without the id. A handle holds only the id, the requested version, branch
 * or tag, and the caller, so it never goes stale.
 */

import type { RecordBatch, Schema, Table } from "apache-arrow";
import type { DirectoryNamespace } from "./DirectoryNamespace.js";
import {
  InvalidInputError,
  InvalidTableStateError,
  NamespaceNotFoundError,
  TableBranchNotFoundError,
  TableNotFoundError,
  TableTagNotFoundError,
  TableVersionNotFoundError,
} from "./errors.js";
import { formatIdentifier } from "./ident.js";
import type * as branches from "./namespace/branches.js";
import type * as indexes from "./namespace/indexes.js";
import type * as queries from "./namespace/queries.js";
import type * as base from "./namespace/request.js";
import type * as rowsOf from "./namespace/rows.js";
import type * as schemas from "./namespace/schema.js";
import type * as tables from "./namespace/tables.js";
import type * as tags from "./namespace/tags.js";
import type * as upkeep from "./namespace/upkeep.js";
import type * as versions from "./namespace/versions.js";

/** Which version of a table a handle reads, and who calls. */
export interface TableHandleOptions extends Pick<base.RequestBase, "identity" | "principal" | "context"> {
  /** The branch; absent: main. */
  readonly branch?: string;
  /** Reads see this version; writes through the handle are refused. */
  readonly version?: number;
  /** Reads see the version the tag names; writes through the handle are refused. */
  readonly tag?: string;
}

/** Which rows and columns to read, and in which order. */
export interface ScanOptions {
  /** Which columns the rows have. Default: all columns of the table. */
  readonly columns?: queries.ColumnSelection;
  /** Selects rows: SQL text, or an expression made with `col`, `lit` or `sql`. */
  readonly filter?: string | queries.FilterExpression;
  /** Values of the parameters of the filter: `$name` in its text. */
  readonly params?: queries.FilterParameters;
  /** Columns to sort by; the first one has the highest priority. */
  readonly orderBy?: queries.QueryTableRequest["orderBy"];
  /** Maximum number of rows, ≥ 1. Default: all. */
  readonly limit?: number;
  /** Rows to skip, ≥ 0. Default 0. */
  readonly offset?: number;
  /** Whether the rows also have the column `_rowid`. Default false. */
  readonly withRowId?: boolean;
  /** Maximum rows per batch; absent: as the data lies on disk. */
  readonly batchSize?: number;
  /** Whether scalar indexes find the rows of the filter. Default: where that should be quicker. */
  readonly useScalarIndex?: boolean;
  /** Aborting it ends the operation; what was not committed by then is dropped. */
  readonly signal?: AbortSignal;
}

/** Which rows to update, and how. */
export interface UpdateOptions {
  /** Selects the rows: SQL text, or an expression made with `col`, `lit` or `sql`. Default: all. */
  readonly where?: string | queries.FilterExpression;
  /** Values by the names of top-level columns. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** SQL expressions by the paths of columns. */
  readonly valuesSql?: Readonly<Record<string, string>>;
  /** Values of the parameters of `where` and the expressions: `$name` in their text. */
  readonly params?: queries.FilterParameters;
  /** Aborting it ends the operation; what was not committed by then is dropped. */
  readonly signal?: AbortSignal;
}

/** A search by vector or by text, beside the options of a scan. */
export interface SearchOptions extends ScanOptions {
  /** The vector to search for. */
  readonly vector?: unknown;
  /** Words to search for in all indexed text columns. */
  readonly text?: string;
  /** The search by text in full, instead of `text`. */
  readonly fullTextQuery?: queries.FullTextQuery;
}

/**
 * Rows of a scan; the query starts when the first row is asked for, and anew with each iteration and call.
 *
 *     for await (const row of table.scan({ filter: "price > 10" }).rows()) console.log(row.id);
 */
export interface Scan extends AsyncIterable<RecordBatch>, queries.RowForms {
  /** The Arrow schema of the rows. */
  schema(): Promise<Schema>;
}

/** Errors that report a missing table, or a missing version, branch or tag of it. */
const ABSENCES = [
  NamespaceNotFoundError,
  TableNotFoundError,
  TableBranchNotFoundError,
  TableTagNotFoundError,
  TableVersionNotFoundError,
];

/**
 * One table of a {@link DirectoryNamespace}; made by `ns.table(id)`.
 *
 * @example
 * const trees = ns.table("trees");
 * await trees.insert([{ id: 3, name: "oak" }]);
 * for await (const { name } of trees.scan({ filter: "id > 2" }).rows()) console.log(name); // oak
 */
export class TableHandle {
  /** Path of the table: its namespaces, then its name. */
  readonly id: readonly string[];
  readonly #namespace: DirectoryNamespace;
  readonly #at: Pick<TableHandleOptions, "branch" | "version" | "tag">;
  /** The table and the caller of every call. */
  readonly #call: Pick<base.TableRequest, "id" | "identity" | "principal" | "context">;

  /** @internal */
  constructor(namespace: DirectoryNamespace, id: readonly string[], at: TableHandleOptions) {
    const { branch, version, tag, ...caller } = withoutNulls(at);
    if (tag !== undefined && (version !== undefined || branch !== undefined)) {
      throw new InvalidInputError("tag: excludes version and branch");
    }
    this.#namespace = namespace;
    this.id = id;
    const { identity, principal, context } = caller;
    this.#call = { id, identity, principal, context };
    this.#at = { branch, version, tag };
  }

  /** Whether the table exists, and the version, branch or tag of this handle. */
  async exists(): Promise<boolean> {
    try {
      await this.#namespace.tableExists(this.#read());
      return true;
    } catch (error) {
      if (ABSENCES.some((kind) => error instanceof kind)) return false;
      throw error;
    }
  }

  /** The Arrow schema of the version. */
  async schema(): Promise<Schema> {
    return (await this.#namespace.queryTable({ ...this.#read(), columns: undefined })).schema;
  }

  /** The number of the version that reads see. */
  async version(): Promise<number> {
    const { version } = await this.#namespace.describeTable(this.#read());
    if (version !== undefined) return version;
    throw new InvalidTableStateError(
      `table ${formatIdentifier(this.id)} is only declared: it has no versions`,
    );
  }

  /** Appends rows, or replaces all rows with mode `Overwrite`. */
  async insert(
    data: rowsOf.RowsInput,
    options: { readonly mode?: string; readonly signal?: AbortSignal } = {},
  ): Promise<rowsOf.InsertIntoTableResponse> {
    return this.#namespace.insertIntoTable({ ...this.#write(), ...options }, data);
  }

  /** Rows of the table, to be read batch by batch or all at once. */
  scan(options: ScanOptions = {}): Scan {
    const query = () => this.#namespace.queryTable({ ...options, ...this.#read() });
    return {
      async *[Symbol.asyncIterator]() {
        yield* await query();
      },
      schema: async () => (await query()).schema,
      toArrow: async () => (await query()).toArrow(),
      toArray: async () => (await query()).toArray(),
      rows: () => ({
        async *[Symbol.asyncIterator]() {
          yield* (await query()).rows();
        },
      }),
      toIPC: async () => (await query()).toIPC(),
      toIPCStream: () => laterStream(async () => (await query()).toIPCStream()),
    };
  }

  /**
   * The rows at the given offsets, in the order given; offsets may repeat. Offsets count the live rows of the version
   * from 0; deleted rows are not counted. Reads little more than those rows.
   * @throws InvalidInputError for an offset that is no row of the version
   */
  take(rowOffsets: queries.RowOffsets, columns?: queries.ColumnSelection): Promise<Table> {
    return this.#namespace.takeRows({ ...this.#read(), rowOffsets, columns });
  }

  /**
   * The values of a blob column at the given offsets, which count as those of {@link take}; null for nulls. A value is
   * read only when all or some of its bytes are asked for.
   * @throws InvalidInputError for an offset that is no row of the version, and for a column that is not of blobs
   */
  takeBlobs(column: string, rowOffsets: queries.RowOffsets): Promise<(queries.LazyBlob | null)[]> {
    return this.#namespace.takeBlobs({ ...this.#read(), column, rowOffsets });
  }

  /**
   * The number of rows, or of those that a filter selects.
   * @param params values of the parameters of the filter: `$name` in its text
   */
  countRows(filter?: string | queries.FilterExpression, params?: queries.FilterParameters): Promise<number> {
    return this.#namespace.countTableRows({ ...this.#read(), predicate: filter, params });
  }

  /**
   * Deletes the rows that a predicate selects.
   * @param params values of the parameters of the predicate: `$name` in its text
   */
  async delete(
    predicate: string | queries.FilterExpression,
    params?: queries.FilterParameters,
  ): Promise<rowsOf.DeleteFromTableResponse> {
    return this.#namespace.deleteFromTable({ ...this.#write(), predicate, params });
  }

  /**
   * Sets columns of the rows that `where` selects, of all rows without it: to values, or to what SQL expressions over the
   * values before the update give.
   *
   *     await table.update({ where: "id = 7", values: { name: "x" }, valuesSql: { count: "count + 1" } });
   */
  async update({
    where,
    values,
    valuesSql,
    params,
    signal,
  }: UpdateOptions): Promise<rowsOf.UpdateTableResponse> {
    const updates = Object.entries(valuesSql ?? {});
    const request = { ...this.#write(), updates, values, predicate: where, params, signal };
    return this.#namespace.updateTable(request);
  }

  /**
   * Updates, adds and removes rows by key, in one version:
   *
   *     await table.mergeInsert("id", rows, { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true });
   */
  async mergeInsert(
    on: string | readonly string[],
    data: rowsOf.RowsInput,
    options: Omit<rowsOf.MergeInsertIntoTableRequest, keyof base.TableRequest | "on" | "branch"> = {},
  ): Promise<rowsOf.MergeInsertIntoTableResponse> {
    return this.#namespace.mergeInsertIntoTable({ ...this.#write(), on, ...options }, data);
  }

  /** Searches rows by a vector, or by words of their text. */
  search({ text, ...query }: SearchOptions): Scan {
    const fullTextQuery = text === undefined ? query.fullTextQuery : { stringQuery: { query: text } };
    return this.scan({ ...query, fullTextQuery } as ScanOptions);
  }

  /** Starts a job that builds an index; `ns.waitForJob` waits for it. */
  async createIndex(
    column: string,
    options: Omit<indexes.CreateTableIndexRequest, keyof base.TableRequest | "column" | "branch"> = {},
  ): Promise<indexes.CreateTableIndexResponse> {
    return this.#namespace.createTableIndex({ ...this.#write(), column, ...options });
  }

  /** All indexes, by name. */
  async indexes(): Promise<readonly indexes.TableIndex[]> {
    return (await this.#namespace.listTableIndices(this.#read())).indexes;
  }

  /**
   * Drops an index.
   * @throws TableIndexNotFoundError
   */
  async dropIndex(name: string): Promise<indexes.DropTableIndexResponse> {
    return this.#namespace.dropTableIndex({ ...this.#write(), indexName: name });
  }

  /**
   * Starts to fill a computed column, see `alterTableBackfillColumns`.
   * @returns the id of the job, for `waitForJob`
   */
  async backfill(
    column: string,
    options: Omit<schemas.AlterTableBackfillColumnsRequest, keyof base.TableRequest | "column" | "branch"> & {
      readonly signal?: AbortSignal;
    } = {},
  ): Promise<schemas.AlterTableBackfillColumnsResponse> {
    return this.#namespace.alterTableBackfillColumns({ ...this.#write(), column, ...options });
  }

  /** The computed columns, and how far each is filled. */
  async computedColumns(): Promise<readonly schemas.ComputedColumnState[]> {
    return (await this.#namespace.describeComputedColumns(this.#read())).columns;
  }

  /** Counts of rows, bytes, fragments and indexes. */
  stats(): Promise<tables.GetTableStatsResponse> {
    return this.#namespace.getTableStats(this.#read());
  }

  /** All versions of the handle's branch, oldest first; for a handle on a tag, of the branch that the tag is on. */
  async versions(): Promise<readonly versions.TableVersion[]> {
    const { branch, tag } = this.#at;
    const at =
      tag === undefined ? branch : (await this.#namespace.getTableTagVersion({ ...this.#call, tag })).branch;
    const { versions } = await this.#namespace.listTableVersions({ ...this.#call, branch: at });
    return versions;
  }

  /** Commits the content of an older version as the new latest one. */
  async restore(version: number): Promise<tables.RestoreTableResponse> {
    return this.#namespace.restoreTable({ ...this.#write(), version });
  }

  /** All branches of the table except main, by name. */
  async branches(): Promise<Readonly<Record<string, branches.BranchContents>>> {
    return (await this.#namespace.listTableBranches(this.#call)).branches;
  }

  /** All tags of the table by name, including those of its branches. */
  async tags(): Promise<Readonly<Record<string, tags.TagContents>>> {
    return (await this.#namespace.listTableTags(this.#call)).tags;
  }

  /** Merges small fragments, and rewrites fragments with many deleted rows, of the table or of the handle's branch. */
  async optimize(
    options: upkeep.OptimizeSettings &
      Pick<upkeep.LongWork, "onProgress"> & { readonly signal?: AbortSignal } = {},
  ): Promise<upkeep.OptimizeTableResponse> {
    return this.#namespace.optimizeTable({ ...this.#write(), ...options });
  }

  /** Removes old versions of the table, or of the handle's branch, and files that no version needs. */
  async cleanup(
    options: upkeep.CleanupSettings &
      Pick<upkeep.LongWork, "onProgress"> & { readonly signal?: AbortSignal } = {},
  ): Promise<upkeep.CleanupTableResponse> {
    return this.#namespace.cleanupTable({ ...this.#write(), ...options });
  }

  #read() {
    return { ...this.#call, ...this.#at };
  }

  #write() {
    if (this.#at.version !== undefined || this.#at.tag !== undefined) {
      throw new InvalidTableStateError(
        "a handle on a fixed version only reads; open one without version or tag",
      );
    }
    return { ...this.#call, branch: this.#at.branch };
  }
}

/** Treats null as an absent option, as requests do. */
const withoutNulls = (at: TableHandleOptions): TableHandleOptions =>
  Object.fromEntries(Object.entries(at).filter(([, value]) => value !== null));

/** A stream that is opened when its first piece is asked for. */
function laterStream(open: () => Promise<ReadableStream<Uint8Array>>): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= (await open()).getReader();
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
