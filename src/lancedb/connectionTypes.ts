/** Options of connections, by the names that LanceDB declares. */

import type { EmbeddingFunctionConfig } from "./embedding/registry.js";
import type { SchemaLike } from "./like.js";
import type { MaterializedViewSelect } from "./materialized_view.js";

/** Options of a new table. */
export interface CreateTableOptions {
  /** `create` (default) fails if the table exists. `overwrite` replaces it. */
  mode: "create" | "overwrite";
  /** True: with the mode `create`, opens the table if it exists, and ignores the rows. Default: false. */
  existOk: boolean;
  /** Options of the table's storage, in addition to those of the connection. */
  storageOptions?: Record<string, string>;
  /** Version of the data files. Default: that of the storage options. */
  dataStorageVersion?: string;
  /** False: manifests get names that older releases of LanceDB read. Default: that of the storage options. */
  enableV2ManifestPaths?: boolean;
  /** Schema of the table. Default: inferred from the rows. */
  schema?: SchemaLike;
  /** Function that embeds a column of the rows. */
  embeddingFunction?: EmbeddingFunctionConfig;
}

/** Options of {@link Connection.openTable}. */
export interface OpenTableOptions {
  /** Branch to open. Default: main. */
  branch?: string;
  /** Version to hold the table at. Default: the latest, without a hold. */
  version?: number;
  /** Options of the table's storage, in addition to those of the connection. */
  storageOptions?: Record<string, string>;
  /** Number of entries of a cache. It has no effect. */
  indexCacheSize?: number;
}

/** Options of {@link Connection.tableNames}. */
export interface TableNamesOptions {
  /** Lists only names after this one. */
  startAfter?: string;
  /** Maximum number of names. Default: all. */
  limit?: number;
}

/** Options of {@link Connection.listTables}. */
export interface ListTablesOptions {
  /** Token of the previous page. */
  pageToken?: string;
  /** Maximum number of names on the page. */
  limit?: number;
}

/** Options of {@link Connection.listNamespaces}. */
export interface ListNamespacesOptions {
  /** Token of the previous page. */
  pageToken?: string;
  /** Maximum number of names on the page. */
  limit?: number;
}

/** Options of {@link Connection.createNamespace}. */
export interface CreateNamespaceOptions {
  /** `create` (default) fails if it exists; `exist_ok` keeps it; `overwrite` replaces it if it is empty. */
  mode?: "create" | "exist_ok" | "overwrite";
  /** Properties of the namespace. */
  properties?: Record<string, string>;
}

/** Options of {@link Connection.dropNamespace}. */
export interface DropNamespaceOptions {
  /** `fail` (default) fails if the namespace does not exist. `skip` does nothing. */
  mode?: "skip" | "fail";
  /** `restrict` (default) refuses a namespace that is not empty. `cascade` also drops its content. */
  behavior?: "restrict" | "cascade";
}

/** Options of {@link Connection.renameTable}. */
export interface RenameTableOptions {
  /** Path of the table's namespace. Default: the root. */
  namespacePath?: string[];
  /** Path of the new namespace. Default: the table stays where it is. */
  newNamespacePath?: string[];
}

/** Options of {@link Connection.cloneTable}. */
export interface CloneTableOptions {
  /** Path of the namespace of the new table. Default: the root. */
  targetNamespacePath?: string[];
  /** Version to clone. Default: the latest. */
  sourceVersion?: number;
  /** Tag of the version to clone. */
  sourceTag?: string;
  /** True: the new table shares the files of the source. Deep clones are refused. Default: true. */
  isShallow?: boolean;
}

/** Options of {@link Connection.createMaterializedView}. */
export interface MaterializedViewOptions {
  /** Columns of the view. Default: all columns of the source. */
  select?: MaterializedViewSelect;
  /** SQL that selects the rows of the view. */
  where?: string;
  /** Maximum number of rows. */
  limit?: number;
}
