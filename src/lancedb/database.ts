/**
 * A database as connections and their tables share it: a namespace, in this process or over HTTP, and the
 * settings of the connection.
 */

import type { ServerConnection } from "../client/restNamespace.js";
import { setInspection } from "../inspection.js";
import { translated } from "./failures.js";
import type { NamespaceCalls } from "./tableReader.js";

/** Settings of a {@link Database}. */
export interface DatabaseSettings {
  /**
   * Opens the namespace: at once, and again for a query that runs after all connections and tables were
   * closed.
   */
  readonly open: () => NamespaceCalls;
  /** The address that the program connected to. */
  readonly uri: string;
  /** Name of the kind in texts: `ListingDatabase`, or that of a namespace, whose text is its name. */
  readonly kind: "ListingDatabase" | "LanceNamespaceDatabase" | "RemoteDatabase";
  /** Seconds after which reads look for a newer version. Absent: never. */
  readonly readConsistencyInterval?: number | undefined;
  /** Requests to the server beside the operations of the namespace. Absent: the database is no server's. */
  readonly server?: ServerConnection | undefined;
  /** Storage options of the connection, with names in snake case. */
  readonly storageOptions?: Readonly<Record<string, string>> | undefined;
  /** False: only the root has tables. Default: true. */
  readonly hasChildNamespaces?: boolean | undefined;
}

/** A database that connections and tables share. */
export class Database {
  readonly uri: string;
  readonly kind: DatabaseSettings["kind"];
  readonly readConsistencyInterval: number | undefined;
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly server: ServerConnection | undefined;
  readonly hasChildNamespaces: boolean;
  /** Number of open connections and tables, and of calls under way. */
  #users = 0;
  readonly #open: () => NamespaceCalls;
  /** Null: closed. */
  #namespace: NamespaceCalls | null;

  static {
    setInspection(Database.prototype, ({ kind, uri }) => ["Database", { kind, uri }]);
  }

  /** Makes a database of its settings. */
  constructor(settings: DatabaseSettings) {
    this.#open = settings.open;
    this.#namespace = settings.open();
    this.uri = settings.uri;
    this.kind = settings.kind;
    this.readConsistencyInterval = settings.readConsistencyInterval;
    this.storageOptions = settings.storageOptions ?? {};
    this.server = settings.server;
    this.hasChildNamespaces = settings.hasChildNamespaces ?? true;
  }

  /** Form for `JSON.stringify`, as that of LanceDB's native objects. Storage options may be secrets. */
  toJSON(): object {
    return {};
  }

  /** The namespace of the calls. */
  get namespace(): NamespaceCalls {
    this.#namespace ??= this.#open();
    return this.#namespace;
  }

  /** Counts an open connection or table. */
  enter(): void {
    this.#users++;
  }

  /** Counts a closed connection or table. The last one closes the namespace, once its calls are done. */
  leave(): void {
    this.#users--;
    // A client of a server has nothing to close.
    if (this.#users > 0 || this.server !== undefined) return;
    const namespace = this.#namespace;
    this.#namespace = null;
    // Native handles close without waiting, so nobody is there to hear of a failure.
    namespace?.close({ jobs: "wait" }).catch(() => {});
  }

  /** The read consistency interval as LanceDB shows it. */
  get interval(): string {
    return this.readConsistencyInterval === undefined ? "None" : `${this.readConsistencyInterval}s`;
  }

  /** Address of a table of the root. */
  tableUri(name: string): string {
    return `${this.uri.replace(/\/+$/, "")}/${name}.lance`;
  }

  /** Calls the namespace. Errors get LanceDB's sentences, which name the table. */
  async call<Answer>(call: (namespace: NamespaceCalls) => Promise<Answer>, table?: string): Promise<Answer> {
    this.enter();
    try {
      return await call(this.namespace);
    } catch (error) {
      throw translated(error, table);
    } finally {
      this.leave();
    }
  }
}
