/**
 * Keeps the tables of a namespace in shape by itself. It looks at all tables from time to time, one after the
 * other, and starts jobs for those that need upkeep (dueUpkeep.ts). A lock lets one process at a time do so,
 * and it runs one job at a time. A job whose process died is taken over.
 */

import { clearTimeout, letProcessEnd, setTimeout } from "../../async/timers.js";
import { listAllTableNames } from "../../catalog/listing.js";
import { InternalError, messageOf, ServiceUnavailableError, TableNotFoundError } from "../../errors.js";
import { parseIdentifier } from "../../ident.js";
import { withLock } from "../../io/lock/lock.js";
import { upkeepDirectory } from "../../jobs/jobFiles.js";
import type { Job } from "../../namespace/jobs.js";
import type { DirectoryNamespaceOptions, NamespaceWarning } from "../../namespace/options.js";
import type { OptimizeTableResponse } from "../../namespace/upkeep.js";
import type { Requests } from "../../operationTable.js";
import { cleanupRuleIn, DEFAULT_OLDER_THAN_MS } from "../../table/cleanup/cleanupRule.js";
import { openVersion } from "../../table/versions/openVersion.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { accessOf } from "../access.js";
import type { OperationContext } from "../context.js";
import type { OperationBody } from "../operation.js";
import { type OpenTable, openTable } from "../snapshot.js";
import { type DueUpkeep, dueUpkeep } from "./dueUpkeep.js";

/** Default milliseconds between two looks. */
const INTERVAL_MS = 60_000;
/** Failures that are remembered, so that each is told once. */
const MAX_WARNED = 1000;
/** Maximum number of looks from a failed attempt to the next attempt. */
const MAX_WAITED_LOOKS = 32;
/** Tables listed at a time. */
const PAGE_TABLES = 1000;

/** The operations that upkeep starts as jobs. */
type Name = "optimizeTable" | "cleanupTable";
type UpkeepBodies = { readonly [Each in Name]: OperationBody<Each> };

interface UpkeepOptions {
  /** Milliseconds between two looks. */
  readonly intervalMs?: number | undefined;
  /** Loads the operations when a table first needs them. */
  readonly bodies: () => Promise<UpkeepBodies>;
  /** Learns of failures. Default: the console does. */
  readonly onWarning?: DirectoryNamespaceOptions["onWarning"];
}

/** Begins the upkeep of a namespace. */
export const startUpkeep = (context: OperationContext, options: UpkeepOptions): { stop(): void } =>
  new Upkeep(context, options);

/** Facts about a table from earlier looks. */
interface SeenTable {
  /** Version that needs no more upkeep; 0 if unknown. */
  readonly version: number;
  readonly cleanedVersion: number;
  /** Number of times in a row that the upkeep failed. */
  readonly failures: number;
  /** Number of the look that tries the upkeep again. */
  readonly nextLook: number;
}

const UNSEEN: SeenTable = { version: 0, cleanedVersion: 0, failures: 0, nextLook: 0 };

/** Upkeep that a table needs, and the version that shows it. */
interface Need {
  readonly due: DueUpkeep;
  readonly version: OpenVersion;
  readonly cleanedVersion: number;
}

class Upkeep {
  readonly #context: OperationContext;
  readonly #options: UpkeepOptions;
  readonly #seen = new Map<string, SeenTable>();
  readonly #warned = new Set<string>();
  readonly #abort = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Number of looks that have begun. */
  #looks = 0;

  constructor(context: OperationContext, options: UpkeepOptions) {
    this.#context = context;
    this.#options = options;
    this.#wait();
  }

  /** Looks at no further table. The caller ends the jobs. */
  stop(): void {
    this.#abort.abort();
    clearTimeout(this.#timer);
  }

  #wait(): void {
    if (this.#abort.signal.aborted) return;
    this.#timer = setTimeout(
      () => void this.#look().finally(() => this.#wait()),
      this.#options.intervalMs ?? INTERVAL_MS,
    );
    // A process that has nothing else to do must end.
    letProcessEnd(this.#timer);
  }

  /** Looks at all tables; never rejects. */
  async #look(): Promise<void> {
    this.#looks++;
    try {
      for (let after = ""; ; ) {
        const page = await listAllTableNames(this.#context, { after, limit: PAGE_TABLES }, false, null);
        for (const name of page.names) {
          if (this.#abort.signal.aborted) return;
          await this.#keep(name);
        }
        if (page.pageToken === undefined) return;
        after = page.pageToken;
      }
    } catch (error) {
      this.#report("the tables", this.#context.root, error);
    }
  }

  /** Looks at a table and does its upkeep; never rejects. */
  async #keep(name: string): Promise<void> {
    let location = this.#context.root;
    try {
      const open = await openTable(this.#context, { id: parseIdentifier(name) });
      location = open.table.root;
      if ((await this.#needOf(open)) !== null) await this.#alone(() => this.#work(open.entry.id));
    } catch (error) {
      this.#report(`table ${name}`, location, error);
    }
  }

  /** Returns what a table needs; null if it needs nothing, or must wait after a failure. */
  async #needOf({ table, latest }: OpenTable): Promise<Need | null> {
    const version = latest && (await openVersion(table, latest));
    if (version === null) return null;
    const before = this.#seen.get(table.root) ?? UNSEEN;
    if (before.version === version.version || before.nextLook > this.#looks) return null;
    // A table that was dropped and created again begins with version 1.
    const cleanedVersion = before.cleanedVersion > version.version ? 0 : before.cleanedVersion;
    const due = dueUpkeep(version.file, cleanedVersion);
    if (due.optimizes || due.cleansUp) return { due, version, cleanedVersion };
    this.#seen.set(table.root, { ...UNSEEN, version: version.version, cleanedVersion });
    return null;
  }

  /**
   * Runs work while no other process runs upkeep. If one does, nothing happens: the next look finds what is
   * left. Jobs alone don't ensure this, because one process may optimize while another cleans up.
   */
  async #alone(work: () => Promise<void>): Promise<void> {
    const { disk, root, lock, confinement } = this.#context;
    this.#abort.signal.throwIfAborted();
    const directory = upkeepDirectory(root);
    await disk.makeDirectory(directory);
    let isAlone = false;
    try {
      await withLock(directory, { ...lock, confinement, waitMs: 0, signal: this.#abort.signal }, () => {
        isAlone = true;
        return work();
      });
    } catch (error) {
      if (isAlone || !(error instanceof ServiceUnavailableError)) throw error;
    }
  }

  /** Does what a table needs now: another process may have done it since the look. */
  async #work(id: readonly string[]): Promise<void> {
    const open = await openTable(this.#context, { id });
    const need = await this.#needOf(open);
    if (need === null) return;
    const { root } = open.table;
    try {
      this.#seen.set(root, await this.#doneUpkeep(open, need));
    } catch (error) {
      const failures = (this.#seen.get(root)?.failures ?? 0) + 1;
      const nextLook = this.#looks + Math.min(2 ** failures, MAX_WAITED_LOOKS);
      this.#seen.set(root, { ...UNSEEN, cleanedVersion: need.cleanedVersion, failures, nextLook });
      throw error;
    }
  }

  /** Does what a table needs, and returns what is then known of it. */
  async #doneUpkeep({ entry: { id }, table }: OpenTable, need: Need): Promise<SeenTable> {
    const { due, version } = need;
    const seen = { ...UNSEEN, version: version.version };
    if (due.optimizes) seen.version = await this.#optimize(id, table.root);
    if (!due.cleansUp) return { ...seen, cleanedVersion: need.cleanedVersion };
    const rule = cleanupRuleIn(version.file.manifest.config);
    await this.#run("cleanupTable", { id, olderThanMs: DEFAULT_OLDER_THAN_MS, ...rule });
    return { ...seen, cleanedVersion: version.version };
  }

  /** Optimizes a table. @returns the version that needs no more of it; 0 if the next look must decide */
  async #optimize(id: readonly string[], root: string): Promise<number> {
    const { result } = await this.#run("optimizeTable", { id });
    // A job that somebody cancelled starts again only after a change of the table.
    if (result === undefined) return (await this.#context.latestVersions.find(root))?.version ?? 0;
    const { transactionId, version } = result as OptimizeTableResponse;
    // While a job merges fragments, writers may add others, which it does not see.
    return transactionId === undefined ? version : 0;
  }

  /** Runs an operation as a job, and returns the job after its end. */
  async #run(name: Name, request: Requests[Name]): Promise<Job> {
    const { signal } = this.#abort;
    const bodies = await this.#options.bodies();
    const body = bodies[name] as OperationBody<Name>;
    const access = accessOf(undefined, request, name, []);
    const started = await body(this.#context, { ...request, background: true, signal }, access, []);
    if (!("jobId" in started)) throw new InternalError(`${name} did not start a job`);
    return (await this.#context.jobs.get()).wait({ jobId: started.jobId, signal });
  }

  /** Tells a failure of a table once; a table that is gone needs no upkeep. */
  #report(what: string, location: string, error: unknown): void {
    if (this.#abort.signal.aborted || error instanceof TableNotFoundError) return;
    const message = `upkeep of ${what} failed: ${messageOf(error)}`;
    if (this.#warned.size >= MAX_WARNED) this.#warned.clear();
    if (this.#warned.has(message)) return;
    this.#warned.add(message);
    const { onWarning = ({ message }: NamespaceWarning) => console.warn(message) } = this.#options;
    // The callback may be async and may fail; the upkeep goes on.
    const tell = async (): Promise<unknown> => onWarning({ kind: "upkeepFailed", message, location });
    tell().catch(() => undefined);
  }
}
