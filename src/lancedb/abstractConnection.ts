/** Connections to databases, as programs see them. */

import type { Table } from "./abstractTable.js";
import type * as types from "./connectionTypes.js";
import type { Job } from "./job.js";
import type { Data, SchemaLike, TableLike } from "./like.js";
import type { MaterializedView } from "./materialized_view.js";
import type * as native from "./native.js";

/** Rows of a new table. */
export type Rows = Record<string, unknown>[] | TableLike;
/** A new table, with its name and its rows. */
export type NewTable = { name: string; data: Data } & Partial<types.CreateTableOptions>;

/**
 * A connection to a database. Tables that it opened keep working after it is closed.
 */
export abstract class Connection {
  /** Returns true until the connection is closed. */
  abstract isOpen(): boolean;
  /** Closes the connection. Later calls fail. Closing twice is allowed. */
  abstract close(): void;
  /** Returns a short text about the connection. */
  abstract display(): string;
  /** Lists the names of the tables of the root. `listTables` replaces it. */
  abstract tableNames(options?: Partial<types.TableNamesOptions>): Promise<string[]>;
  /** Lists the names of the tables of a namespace. `listTables` replaces it. */
  abstract tableNames(
    namespacePath?: string[],
    options?: Partial<types.TableNamesOptions>,
  ): Promise<string[]>;
  /** Lists the names of the tables of the root, page by page. */
  abstract listTables(options?: Partial<types.ListTablesOptions>): Promise<native.ListTablesResponse>;
  /** Lists the names of the tables of a namespace, page by page. */
  abstract listTables(
    namespacePath?: string[],
    options?: Partial<types.ListTablesOptions>,
  ): Promise<native.ListTablesResponse>;
  /** Defines a materialized view of a table. */
  abstract createMaterializedView(
    name: string,
    source: string,
    options?: types.MaterializedViewOptions,
  ): Promise<MaterializedView>;
  /** Opens a materialized view. */
  abstract openMaterializedView(name: string): Promise<MaterializedView>;
  /** Lists the names of the materialized views. */
  abstract listMaterializedViews(): Promise<string[]>;
  /** Opens a table. */
  abstract openTable(
    name: string,
    namespacePath?: string[],
    options?: Partial<types.OpenTableOptions>,
  ): Promise<Table>;
  /** Creates a table from rows. */
  abstract createTable(options: NewTable, namespacePath?: string[]): Promise<Table>;
  /** Creates a table from rows. */
  abstract createTable(name: string, data: Rows, options?: Partial<types.CreateTableOptions>): Promise<Table>;
  /** Creates a table from rows in a namespace. */
  abstract createTable(
    name: string,
    data: Rows,
    namespacePath?: string[],
    options?: Partial<types.CreateTableOptions>,
  ): Promise<Table>;
  /** Creates a table without rows. */
  abstract createEmptyTable(
    name: string,
    schema: SchemaLike,
    options?: Partial<types.CreateTableOptions>,
  ): Promise<Table>;
  /** Creates a table without rows in a namespace. */
  abstract createEmptyTable(
    name: string,
    schema: SchemaLike,
    namespacePath?: string[],
    options?: Partial<types.CreateTableOptions>,
  ): Promise<Table>;
  /** Drops a table. */
  abstract dropTable(name: string, namespacePath?: string[]): Promise<void>;
  /** Drops a table. The job has ended when this returns. */
  abstract dropTableAsync(name: string, namespacePath?: string[]): Promise<Job>;
  /** Drops all tables of a namespace. Default: the root. */
  abstract dropAllTables(namespacePath?: string[]): Promise<void>;
  /** Returns the properties of a namespace. */
  abstract describeNamespace(namespacePath: string[]): Promise<native.DescribeNamespaceResponse>;
  /** Lists the names of a namespace's children, page by page. */
  abstract listNamespaces(
    namespacePath?: string[],
    options?: Partial<types.ListNamespacesOptions>,
  ): Promise<native.ListNamespacesResponse>;
  /** Creates a namespace. */
  abstract createNamespace(
    namespacePath: string[],
    options?: Partial<types.CreateNamespaceOptions>,
  ): Promise<native.CreateNamespaceResponse>;
  /** Drops a namespace. */
  abstract dropNamespace(
    namespacePath: string[],
    options?: Partial<types.DropNamespaceOptions>,
  ): Promise<native.DropNamespaceResponse>;
  /** Creates a table that shares the files of another. */
  abstract cloneTable(
    targetTableName: string,
    sourceUri: string,
    options?: types.CloneTableOptions,
  ): Promise<Table>;
  /** Renames a table on a server. Refused for local databases, as by LanceDB. */
  abstract renameTable(
    currentName: string,
    newName: string,
    options?: types.RenameTableOptions,
  ): Promise<void>;
  /** Opens a job of a server. Refused for local databases, as by LanceDB. */
  abstract openJob(jobId: string): Promise<Job>;
  /** Lists the jobs of a server. Refused for local databases, as by LanceDB. */
  abstract listJobs(): Promise<native.JobInfo[]>;
  /** Ends a job of a server. Refused for local databases, as by LanceDB. */
  abstract cancelJob(jobId: string): Promise<boolean>;
}
