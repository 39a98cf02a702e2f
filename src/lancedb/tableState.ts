/**
 * State of a table handle: the version that it shows, and whether it is open. A handle shows the version that
 * it was opened at. Its own changes, `checkoutLatest` and the read consistency interval move it; `checkout`
 * holds it at a version until `checkoutLatest` or `restore`. A tag of another branch moves it to that branch.
 */

import type { Schema } from "apache-arrow";
import { performance } from "../async/timers.js";
import { setInspection } from "../inspection.js";
import type { Database } from "./database.js";
import { failure, translated } from "./failures.js";
import { programRows } from "./programRows.js";
import type { NamespaceCalls, ShownVersion, TableReader } from "./tableReader.js";

const PINNED = "Invalid input, table cannot be modified when a specific version is checked out";

/** Position of a handle. It is replaced as a whole, so that a call can tell if the handle moved meanwhile. */
interface Position {
  readonly branch: string | undefined;
  readonly version: number;
  /** True: `checkout` holds the handle at the version. */
  readonly isHeld: boolean;
}

/** Settings of a new handle. */
export interface Opened {
  /** Path of the table: its namespaces, then its name. */
  readonly id: readonly string[];
  /** Branch of the handle. Absent: main. */
  readonly branch?: string | undefined;
  /** Latest version of the branch when the handle was opened. */
  readonly version: number;
  /** True: the handle is held at the version. */
  readonly isCheckedOut?: boolean | undefined;
  /** Address of the table, for texts. */
  readonly uri: string;
  /** Storage options that the program gave for the table. */
  readonly storageOptions?: Readonly<Record<string, string>> | undefined;
  /** True: part of another handle, which keeps the database open. */
  readonly isSnapshot?: boolean | undefined;
}

/** Path and branch of a request that changes a table. */
export type ChangedTable = Pick<ShownVersion, "id" | "branch">;

/** State of a table handle. */
export class TableState implements TableReader {
  readonly database: Database;
  readonly id: readonly string[];
  readonly uri: string;
  readonly storageOptions: Readonly<Record<string, string>> | undefined;
  #isOpen = true;
  #position: Position;
  /** Time of the last look for a newer version. */
  #lookedAt = performance.now();
  #schema: { readonly version: string; readonly schema: Promise<Schema> } | null = null;

  static {
    setInspection(TableState.prototype, ({ uri, branch }) => ["TableState", { uri, branch }]);
  }

  /** Makes the state of a new handle. */
  constructor(database: Database, opened: Opened) {
    const { id, branch, version, isCheckedOut = false, isSnapshot } = opened;
    this.database = database;
    this.id = id;
    this.uri = opened.uri;
    this.storageOptions = opened.storageOptions;
    this.#position = { branch, version, isHeld: isCheckedOut };
    if (isSnapshot !== true) database.enter();
  }

  /** Form for `JSON.stringify`, as that of LanceDB's native objects. */
  toJSON(): object {
    return {};
  }

  /** Name of the table. */
  get name(): string {
    return this.id.at(-1) as string;
  }
  /** Branch of the handle. Absent: main. */
  get branch(): string | undefined {
    return this.#position.branch;
  }
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Closes the handle. Queries that came from it still run. */
  close(): void {
    if (this.#isOpen) this.database.leave();
    this.#isOpen = false;
  }

  /** Checks that the handle is open. */
  requireOpen(): void {
    if (!this.#isOpen) throw failure(`Table ${this.name} is closed`);
  }

  /** Returns the version that the handle shows, after a look for a newer one if it is due. */
  async version(): Promise<number> {
    await this.#refreshIfDue();
    return this.#position.version;
  }

  async read<Answer>(
    call: (namespace: NamespaceCalls, shown: ShownVersion) => Promise<Answer>,
  ): Promise<Answer> {
    // A server itself reads the latest version.
    if (this.database.server !== undefined && !this.#position.isHeld) {
      return this.call((namespace) => call(namespace, this.#pathOf(this.branch)));
    }
    await this.#refreshIfDue();
    const { version, branch } = this.#position;
    return this.call((namespace) => call(namespace, { ...this.#pathOf(branch), version }));
  }

  /**
   * Changes the latest version of the table. The handle then shows the version that the change created.
   * @throws Error if the handle is held at a version
   */
  async change<Answer>(
    call: (namespace: NamespaceCalls, table: ChangedTable) => Promise<Answer>,
  ): Promise<Answer> {
    const start = this.#position;
    if (start.isHeld) throw failure(PINNED);
    const answer = await this.call((namespace) => call(namespace, this.#pathOf(start.branch)));
    const { version } = answer as { readonly version?: unknown };
    if (typeof version === "number") this.#moveTo(version, start);
    else if (this.database.server === undefined && !this.#position.isHeld) await this.#lookForLatest();
    return answer;
  }

  /** Calls the namespace about a job, and then shows the version that the job created. */
  async following<Answer>(call: (namespace: NamespaceCalls) => Promise<Answer>): Promise<Answer> {
    const answer = await this.call(call);
    if (this.#isOpen && !this.#position.isHeld) await this.#lookForLatest();
    return answer;
  }

  /** Calls the namespace about all of the table: its versions, tags and branches. */
  async ask<Answer>(
    call: (namespace: NamespaceCalls, table: ChangedTable) => Promise<Answer>,
  ): Promise<Answer> {
    return this.call((namespace) => call(namespace, this.#pathOf(this.branch)));
  }

  /** Calls the namespace, whether the handle is open or not. */
  call<Answer>(call: (namespace: NamespaceCalls) => Promise<Answer>): Promise<Answer> {
    return this.database.call(call, this.name);
  }

  translate(error: unknown): Error {
    return translated(error, this.name);
  }

  async schema(): Promise<Schema> {
    await this.#refreshIfDue();
    const { version, branch } = this.#position;
    const key = `${version} ${branch ?? ""}`;
    if (this.#schema?.version === key) return this.#schema.schema;
    const schema = this.call((namespace) =>
      namespace.queryTable({ ...this.#pathOf(branch), version, k: 0 }),
    ).then((result) => programRows(result).schema);
    const kept = { version: key, schema };
    this.#schema = kept;
    schema.catch(() => {
      if (this.#schema === kept) this.#schema = null;
    });
    return schema;
  }

  async snapshot(): Promise<TableState> {
    await this.#refreshIfDue();
    const { version, branch } = this.#position;
    return new TableState(this.database, {
      id: this.id,
      uri: this.uri,
      version,
      branch,
      isCheckedOut: true,
      isSnapshot: true,
    });
  }

  /** Holds the handle at a version of its branch, or at the version and branch of a tag. */
  async checkout(versionOrTag: number | string): Promise<void> {
    const target =
      typeof versionOrTag === "string"
        ? await this.ask((namespace, { id }) => namespace.getTableTagVersion({ id, tag: versionOrTag }))
        : { version: Math.trunc(versionOrTag), branch: this.branch };
    const { version, branch } = target;
    await this.call((namespace) => namespace.tableExists({ ...this.#pathOf(branch), version }));
    this.#position = { version, branch, isHeld: true };
  }

  /** Shows the latest version, and lets changes move the handle again. */
  async checkoutLatest(): Promise<void> {
    await this.#lookForLatest();
    // A table that was dropped and created again may have other columns in a version of the same number.
    this.#schema = null;
  }

  /** Makes the version that the handle is held at the latest one, and shows that. */
  async restore(): Promise<void> {
    const { branch, version: held, isHeld } = this.#position;
    if (!isHeld) throw failure("Invalid input, you must run checkout before running restore");
    const { version } = await this.call((namespace) =>
      namespace.restoreTable({ ...this.#pathOf(branch), version: held }),
    );
    this.#position = { branch, version, isHeld: false };
    this.#lookedAt = performance.now();
  }

  #pathOf(branch: string | undefined): ChangedTable {
    return branch === undefined ? { id: this.id } : { id: this.id, branch };
  }

  /**
   * Moves to a version that a change created. Changes that run together may end in any order.
   * @param start position at which the change began
   */
  #moveTo(version: number, start: Position): void {
    const { branch, version: shown, isHeld } = this.#position;
    if (isHeld || branch !== start.branch) return;
    // Versions of a table that was dropped and created again count from 1.
    const isRecreated = version < start.version && shown >= start.version;
    this.#position = { branch, version: isRecreated ? version : Math.max(shown, version), isHeld };
    this.#lookedAt = performance.now();
  }

  async #refreshIfDue(): Promise<void> {
    const { readConsistencyInterval: seconds } = this.database;
    if (seconds === undefined || this.#position.isHeld) return;
    if (performance.now() - this.#lookedAt >= seconds * 1000) await this.#lookForLatest();
  }

  /** Shows the latest version, and ends a hold. A checkout that ends meanwhile wins. */
  async #lookForLatest(): Promise<void> {
    const begun = performance.now();
    const start = this.#position;
    const { branch } = start;
    const { version } = await this.call((namespace) => namespace.describeTable(this.#pathOf(branch)));
    if (version === undefined)
      throw failure(`Table '${this.name}' was not found: it is declared, but has no version`);
    const now = this.#position;
    if (now !== start && (now.isHeld || now.branch !== branch)) return;
    // A change of this handle that ended meanwhile may have created a later version.
    const latest = now === start ? version : Math.max(now.version, version);
    this.#position = { branch, version: latest, isHeld: false };
    this.#lookedAt = begun;
  }
}
