/** Connections to databases. */

import { Table as ArrowTable } from "apache-arrow";
import { NamespaceError } from "../errors.js";
import type { Properties } from "../namespace/request.js";
import type { CreateTableResponse, ListTablesRequest, ListTablesResponse } from "../namespace/tables.js";
import { Connection, type NewTable, type Rows } from "./abstractConnection.js";
import type { Table } from "./abstractTable.js";
import { schemeOf } from "./addresses.js";
import { sourceOfClone } from "./cloneSource.js";
import type * as types from "./connectionTypes.js";
import type { Database } from "./database.js";
import { jobOf } from "./databaseJob.js";
import { type EngineRows, rowsToCreate, schemaToCreate } from "./engineRows.js";
import { engineErrorOf, failure, ignoreMissingTable, notSupported, translated } from "./failures.js";
import { Job, jobInfoOf } from "./job.js";
import type { SchemaLike } from "./like.js";
import { MaterializedView } from "./materialized_view.js";
import type * as native from "./native.js";
import { isMissingPath } from "./remote/serverErrors.js";
import { isSameSchema } from "./sameSchema.js";
import { sanitizeSchema } from "./sanitize.js";
import { LocalTable, openLocalTable } from "./table.js";
import { type Opened, TableState } from "./tableState.js";
import { createView, viewNames } from "./views.js";

export { Connection } from "./abstractConnection.js";
export type * from "./connectionTypes.js";
export type {
  CreateNamespaceResponse,
  DescribeNamespaceResponse,
  DropNamespaceResponse,
  ListNamespacesResponse,
  ListTablesResponse,
} from "./native.js";

/** A connection to a database that Tiltyard reads and writes. */
export class LocalConnection extends Connection {
  readonly inner: Database;
  #isOpen = true;

  /** Makes a connection. Programs get theirs from `connect`. */
  constructor(inner: Database) {
    super();
    this.inner = inner;
    inner.enter();
  }

  isOpen(): boolean {
    return this.#isOpen;
  }

  close(): void {
    if (this.#isOpen) this.inner.leave();
    this.#isOpen = false;
  }

  display(): string {
    const { kind, uri, interval } = this.#database;
    if (kind === "LanceNamespaceDatabase") return kind;
    if (kind === "RemoteDatabase") return `${kind}(host=${uri})`;
    return `${kind}(uri=${uri}, read_consistency_interval=${interval})`;
  }

  async tableNames(
    namespacePathOrOptions?: string[] | Partial<types.TableNamesOptions>,
    options?: Partial<types.TableNamesOptions>,
  ): Promise<string[]> {
    const [id, { startAfter, limit }] = pathAndOptions(namespacePathOrOptions, options);
    const { tables } = await this.#tablesOf({ id });
    const after = startAfter == null ? [...tables] : tables.filter((name) => name > startAfter);
    return limit == null ? after : after.slice(0, limit);
  }

  async listTables(
    namespacePathOrOptions?: string[] | Partial<types.ListTablesOptions>,
    options?: Partial<types.ListTablesOptions>,
  ): Promise<native.ListTablesResponse> {
    const [id, page] = pathAndOptions(namespacePathOrOptions, options);
    this.#requireOpen();
    if (page.limit === 0) return { tables: [] };
    const { tables, pageToken } = await this.#tablesOf({ id, ...pageOf(page) });
    return { tables: [...tables], ...(pageToken !== undefined && { pageToken }) };
  }

  async createMaterializedView(
    name: string,
    source: string,
    options?: types.MaterializedViewOptions,
  ): Promise<MaterializedView> {
    this.#refuseServer();
    const database = this.#database;
    const opened = await createView(database, name, source, options);
    return new MaterializedView(new LocalTable(new TableState(database, opened)));
  }

  async openMaterializedView(name: string): Promise<MaterializedView> {
    this.#refuseServer();
    const view = new MaterializedView(await this.openTable(name));
    await view.definition();
    return view;
  }

  async listMaterializedViews(): Promise<string[]> {
    this.#refuseServer();
    return viewNames(this.#database);
  }

  async openTable(
    name: string,
    namespacePath?: string[],
    options?: Partial<types.OpenTableOptions>,
  ): Promise<Table> {
    const { branch, version, storageOptions } = options ?? {};
    return openLocalTable(this.#database, [...(namespacePath ?? []), name], {
      branch: branch === "main" ? undefined : (branch ?? undefined),
      version: version ?? undefined,
      storageOptions: cleanseStorageOptions(storageOptions),
    });
  }

  async createTable(
    nameOrOptions: string | NewTable,
    dataOrNamespacePath?: Rows | string[],
    namespacePathOrOptions?: string[] | Partial<types.CreateTableOptions>,
    options?: Partial<types.CreateTableOptions>,
  ): Promise<Table> {
    if (typeof nameOrOptions === "object") {
      const { name, data, ...others } = nameOrOptions;
      const rows = () => rowsToCreate(data, others);
      return this.#create(name, rows, dataOrNamespacePath as string[] | undefined, others);
    }
    const [namespacePath, others] = pathAndOptions(namespacePathOrOptions, options);
    const rows = () => rowsToCreate(dataOrNamespacePath as Rows, others);
    return this.#create(nameOrOptions, rows, namespacePath, others);
  }

  async createEmptyTable(
    name: string,
    schema: SchemaLike,
    namespacePathOrOptions?: string[] | Partial<types.CreateTableOptions>,
    options?: Partial<types.CreateTableOptions>,
  ): Promise<Table> {
    const [namespacePath, others] = pathAndOptions(namespacePathOrOptions, options);
    const rows = () => new ArrowTable(schemaToCreate(schema, others.embeddingFunction));
    return this.#create(name, rows, namespacePath, others);
  }

  async dropTable(name: string, namespacePath?: string[]): Promise<void> {
    await this.#database.call(
      (namespace) => namespace.dropTable({ id: [...(namespacePath ?? []), name] }),
      name,
    );
  }

  async dropTableAsync(name: string, namespacePath?: string[]): Promise<Job> {
    await this.dropTable(name, namespacePath);
    return new Job(null);
  }

  async dropAllTables(namespacePath?: string[]): Promise<void> {
    for (const name of await this.tableNames(namespacePath)) {
      // Others may drop a table after it was listed.
      await this.dropTable(name, namespacePath).catch(ignoreMissingTable);
    }
  }

  async describeNamespace(namespacePath: string[]): Promise<native.DescribeNamespaceResponse> {
    const { properties } = await this.#database.call((namespace) =>
      namespace.describeNamespace({ id: namespacePath }),
    );
    return { properties: { ...properties } };
  }

  async listNamespaces(
    namespacePath?: string[],
    options?: Partial<types.ListNamespacesOptions>,
  ): Promise<native.ListNamespacesResponse> {
    const database = this.#database;
    if (options?.limit === 0) return { namespaces: [] };
    const { namespaces, pageToken } = await database.call((namespace) =>
      namespace.listNamespaces({ id: namespacePath ?? [], ...pageOf(options ?? {}) }),
    );
    return { namespaces: [...namespaces], ...(pageToken !== undefined && { pageToken }) };
  }

  async createNamespace(
    namespacePath: string[],
    options?: Partial<types.CreateNamespaceOptions>,
  ): Promise<native.CreateNamespaceResponse> {
    const database = this.#database;
    const { mode, properties } = options ?? {};
    checkChoice("mode", mode, ["create", "exist_ok", "overwrite"]);
    if (!database.hasChildNamespaces) {
      throw failure(
        "lance error: Namespace error: Unsupported: Child namespaces are only supported when manifest mode is enabled",
      );
    }
    const created = await database.call((namespace) =>
      namespace.createNamespace({
        id: namespacePath,
        mode: mode ?? undefined,
        properties: properties ?? undefined,
      }),
    );
    return propertiesOf(created);
  }

  async dropNamespace(
    namespacePath: string[],
    options?: Partial<types.DropNamespaceOptions>,
  ): Promise<native.DropNamespaceResponse> {
    const database = this.#database;
    const { mode, behavior } = options ?? {};
    checkChoice("mode", mode, ["skip", "fail"]);
    checkChoice("behavior", behavior, ["restrict", "cascade"]);
    const { properties, transactionId } = await database.call((namespace) =>
      namespace.dropNamespace({
        id: namespacePath,
        mode: mode ?? undefined,
        behavior: behavior ?? undefined,
      }),
    );
    return {
      ...propertiesOf({ properties }),
      ...(transactionId !== undefined && { transactionId: [...transactionId] }),
    };
  }

  async cloneTable(
    targetTableName: string,
    sourceUri: string,
    options?: types.CloneTableOptions,
  ): Promise<Table> {
    const database = this.#database;
    const { targetNamespacePath = [], sourceVersion, sourceTag, isShallow = true } = options ?? {};
    if (!isShallow) throw failure("Deep clone is not yet implemented");
    const id = [...targetNamespacePath, targetTableName];
    const from = await sourceOfClone(database, sourceUri);
    const cloned = await database.call(
      (namespace) =>
        namespace.cloneTable({ id, from, version: sourceVersion ?? undefined, tag: sourceTag ?? undefined }),
      from[0],
    );
    return new LocalTable(new TableState(database, openedOf(database, id, cloned)));
  }

  async renameTable(currentName: string, newName: string, options?: types.RenameTableOptions): Promise<void> {
    this.#requireServer("rename_table is not supported in LanceDB OSS");
    const { namespacePath = [], newNamespacePath } = options ?? {};
    await this.#database.call(
      (namespace) =>
        namespace.renameTable({
          id: [...namespacePath, currentName],
          newTableName: newName,
          newNamespaceId: newNamespacePath,
        }),
      currentName,
    );
  }

  async openJob(jobId: string): Promise<Job> {
    this.#requireServer("open_job is not supported by this database");
    const job = jobOf(this.#database, jobId);
    try {
      await job.refresh();
      return job;
    } catch (error) {
      if (!isMissing(error)) throw error;
      throw failure(`Job '${jobId}' was not found`, error);
    }
  }

  async listJobs(): Promise<native.JobInfo[]> {
    this.#requireServer("list_jobs is not supported by this database");
    const { jobs } = await this.#database.call((namespace) => namespace.listJobs({}));
    return jobs.map(jobInfoOf);
  }

  async cancelJob(jobId: string): Promise<boolean> {
    this.#requireServer("cancel_job is not supported by this database");
    try {
      await this.#database.call((namespace) => namespace.cancelJob({ jobId }));
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /** Lists tables. A namespace that is not there has none, as in LanceDB. */
  async #tablesOf(request: ListTablesRequest): Promise<ListTablesResponse> {
    try {
      return await this.#database.namespace.listTables(request);
    } catch (error) {
      if (error instanceof NamespaceError && error.type === "NamespaceNotFound") return { tables: [] };
      throw translated(error);
    }
  }

  /** The database. @throws Error if the connection is closed */
  get #database(): Database {
    this.#requireOpen();
    return this.inner;
  }

  #requireOpen(): void {
    if (!this.#isOpen) throw failure("Connection is closed");
  }

  /** Refuses a connection to a server, which has no materialized views. */
  #refuseServer(): void {
    this.#requireOpen();
    if (this.inner.server === undefined) return;
    throw notSupported("materialized views are supported only on local databases");
  }

  #requireServer(refusal: string): void {
    this.#requireOpen();
    if (this.inner.kind !== "RemoteDatabase") throw notSupported(refusal);
  }

  async #create(
    name: string,
    makeRows: () => EngineRows | Promise<EngineRows>,
    namespacePath: readonly string[] | undefined,
    options: Partial<types.CreateTableOptions>,
  ): Promise<Table> {
    const database = this.#database;
    const { mode = "create", existOk = false } = options;
    const rows = await makeRows();
    if (mode !== "create" && mode !== "overwrite") throw failure(`Invalid mode ${mode}`);
    const id = [...(namespacePath ?? []), name];
    const storageOptions = { ...database.storageOptions, ...newTableOptions(options) };
    try {
      const created = await database.namespace.createTable({ id, mode, storageOptions }, rows);
      return await tableOf(database, openedOf(database, id, created));
    } catch (error) {
      const exists = error instanceof NamespaceError && error.type === "TableAlreadyExists";
      if (!exists || !existOk) throw translated(error, name);
      return openEqualTable(database, id, rows);
    }
  }
}

/** Returns a handle on a new table. A local one knows its columns at once: most programs add rows next. */
async function tableOf(database: Database, opened: Opened): Promise<Table> {
  const state = new TableState(database, opened);
  if (database.kind !== "RemoteDatabase") await state.schema();
  return new LocalTable(state);
}

/** Opens a table that exists already. @throws Error if the rows have other columns */
async function openEqualTable(database: Database, id: readonly string[], rows: EngineRows): Promise<Table> {
  const table = await openLocalTable(database, id);
  if ("schema" in rows && !isSameSchema(sanitizeSchema(rows.schema), await table.schema())) {
    table.close();
    throw failure("Schema Error: Provided schema does not match existing table schema");
  }
  return table;
}

/** Returns the properties of a namespace, if there are any. */
const propertiesOf = ({ properties = {} }: { readonly properties?: Properties | undefined }) =>
  Object.keys(properties).length === 0 ? {} : { properties: { ...properties } };

/** True if an error tells that there is no such job. Servers without codes answer 404. */
const isMissing = (error: unknown): boolean => {
  const cause = engineErrorOf(error);
  return cause !== undefined && (cause.type === "TransactionNotFound" || isMissingPath(cause));
};

/** Returns the options of a new table's storage, with names in snake case. */
function newTableOptions({
  storageOptions,
  dataStorageVersion,
  enableV2ManifestPaths,
}: Partial<types.CreateTableOptions>): Record<string, string> {
  return {
    ...(dataStorageVersion != null && { new_table_data_storage_version: dataStorageVersion }),
    ...(enableV2ManifestPaths != null && {
      new_table_enable_v2_manifest_paths: String(enableV2ManifestPaths),
    }),
    ...cleanseStorageOptions(storageOptions),
  };
}

const openedOf = (
  database: Database,
  id: readonly string[],
  created: Pick<CreateTableResponse, "version" | "location">,
) => ({
  id,
  version: created.version,
  uri: id.length === 1 ? database.tableUri(id[0] as string) : uriOfLocation(created.location),
});

/** Returns the address of a location, which is an address itself in a bucket. */
const uriOfLocation = (location: string): string =>
  schemeOf(location) === undefined ? `file://${location}` : location;

/** Returns storage options with names in snake case. */
export function cleanseStorageOptions(options?: Record<string, string>): Record<string, string> | undefined {
  if (options === undefined || options === null) return undefined;
  const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [snakeCase(name), value]));
}

/** Returns the path of a namespace and options of a call that takes both, or only options. */
const pathAndOptions = <Options extends object>(
  pathOrOptions: string[] | Options | null | undefined,
  options: Options | undefined,
): [string[], Options] =>
  Array.isArray(pathOrOptions)
    ? [pathOrOptions, options ?? ({} as Options)]
    : [[], pathOrOptions ?? options ?? ({} as Options)];

/** Returns the members of a page that have a value. */
const pageOf = ({ pageToken, limit }: { pageToken?: string; limit?: number }) => ({
  ...(pageToken != null && { pageToken }),
  ...(limit != null && { limit }),
});

function checkChoice(name: string, value: string | null | undefined, choices: readonly string[]): void {
  if (value == null || choices.includes(value.toLowerCase())) return;
  const expected = choices.map((choice) => `'${choice}'`).join(", ");
  throw failure(`Invalid ${name} '${value}': expected one of ${expected}`);
}
