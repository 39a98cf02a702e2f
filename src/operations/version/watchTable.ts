/**
 * WatchTable: yields the versions of a table as they are committed. This operation is not in the namespace
 * spec.
 *
 * The platform tells when the directory of versions changes. Because such calls may be lost, the directory is
 * also looked at now and then, and more often where the platform cannot tell. A look is one stat.
 */

import { whenAborted } from "../../async/abort.js";
import { clearTimeout, letProcessEnd, setTimeout } from "../../async/timers.js";
import {
  InvalidInputError,
  ServiceUnavailableError,
  TableBranchNotFoundError,
  TableNotFoundError,
} from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import type { TableVersion, WatchTableRequest } from "../../namespace/versions.js";
import { type DirectoryIdentity, isSameDirectory } from "../../table/versions/directoryIdentity.js";
import { openVersion } from "../../table/versions/openVersion.js";
import { versionsDirectory } from "../../table/versions/paths.js";
import type { TableAt } from "../../table/versions/tableAt.js";
import { listVersions } from "../../table/versions/versions.js";
import type { OperationContext } from "../context.js";
import { operationError } from "../failure.js";
import type { OperationBody } from "../operation.js";
import { optionalVersion, requireTableId } from "../request.js";
import { openTable } from "../snapshot.js";
import { describeOpenVersion } from "./versionOf.js";

/** Milliseconds between looks while the platform tells of changes. */
const SAFETY_MS = 2000;
/** Milliseconds between looks while it does not. */
const POLL_MS = 500;

/** State of one watch. */
interface Watched {
  readonly table: TableAt<OperationContext>;
  /** The table of the request, for errors. */
  readonly id: readonly string[];
  /** Directory of versions at the start; null for a declared table. */
  directory: DirectoryIdentity | null;
  /** Last version that was yielded, or that the caller knows. */
  last: number;
}

export const watchTable: OperationBody<"watchTable"> = async (context, request) => {
  const from = optionalVersion(request.from, "from");
  const id = requireTableId(request.id);
  const { table, latest } = await openTable(context, request);
  const latestVersion = latest?.version ?? 0;
  if (from !== undefined && from > latestVersion) {
    throw new InvalidInputError(`from: version ${from} is later than the latest, ${latestVersion}`);
  }
  const start = { table, id, directory: latest?.directory ?? null, last: from ?? latestVersion };
  return {
    [Symbol.asyncIterator]: () => iteratorOf(context, { ...start }, request),
  };
};

/** Iterates over new versions. `return` ends a pending `next`; that of a generator would wait for it. */
function iteratorOf(
  context: OperationContext,
  watched: Watched,
  { signal }: WatchTableRequest,
): AsyncGenerator<TableVersion, void, undefined> {
  const stop = new AbortController();
  const versions = watchedVersions(context, watched, signal, stop.signal);
  const end = versions.return.bind(versions);
  versions.return = (value) => {
    stop.abort();
    return end(value);
  };
  return versions;
}

async function* watchedVersions(
  context: OperationContext,
  watched: Watched,
  signal: AbortSignal | undefined,
  stop: AbortSignal,
): AsyncGenerator<TableVersion, void, undefined> {
  const alarm = new Alarm(context, versionsDirectory(watched.table.root), signal, stop);
  try {
    while (!stop.aborted) {
      // A change during the look wakes the next wait.
      alarm.reset();
      yield* newVersions(watched, signal);
      await alarm.wait();
    }
  } catch (error) {
    throw operationError(error, "watchTable", signal);
  } finally {
    alarm.close();
  }
}

/** Yields the versions after the last one. */
async function* newVersions(
  watched: Watched,
  signal: AbortSignal | undefined,
): AsyncGenerator<TableVersion, void, undefined> {
  const { table } = watched;
  const latest = await table.environment.latestVersions.find(table.root);
  if (latest === null) {
    // A declared table has no versions yet.
    if (watched.directory === null && (await table.disk.stat(table.root)) !== null) return;
    throw goneError(watched);
  }
  if (watched.directory !== null && !isSameDirectory(latest.directory, watched.directory)) {
    throw goneError(watched);
  }
  watched.directory = latest.directory;
  if (latest.version < watched.last) throw goneError(watched);
  if (latest.version === watched.last) return;
  for (const entry of await listVersions(table)) {
    if (entry.version <= watched.last) continue;
    signal?.throwIfAborted();
    const open = await openVersion(table, entry);
    // A cleanup may have removed it meanwhile.
    if (open === null) continue;
    watched.last = entry.version;
    yield await describeOpenVersion(open);
  }
}

const goneError = ({ table, id }: Watched): Error =>
  table.branch === null
    ? new TableNotFoundError(`table ${formatIdentifier(id)} was dropped while it was watched`)
    : new TableBranchNotFoundError(
        `branch ${table.branch} of table ${formatIdentifier(id)} was deleted while it was watched`,
      );

/** Wakes a watch: when its directory changes, after a time, and when the caller or the namespace ends it. */
class Alarm {
  readonly #context: OperationContext;
  readonly #directory: string;
  readonly #signal: AbortSignal | undefined;
  /** Functions that remove the listeners of signals. */
  readonly #ends: readonly (() => void)[];
  #endWatch: (() => void) | null = null;
  #isSet = false;
  #wake: (() => void) | null = null;

  /** @param stop wakes the watch without an error */
  constructor(
    context: OperationContext,
    directory: string,
    signal: AbortSignal | undefined,
    stop: AbortSignal,
  ) {
    this.#context = context;
    this.#directory = directory;
    this.#signal = signal;
    const signals = [context.closed(), stop, ...(signal === undefined ? [] : [signal])];
    this.#ends = signals.map((each) => whenAborted(each, this.#ring));
    this.reset();
  }

  /** Forgets earlier changes. Starts the watch of the directory, which may have been made meanwhile. */
  reset(): void {
    this.#isSet = false;
    this.#endWatch ??= this.#context.disk.watchDirectory?.(this.#directory, this.#ring) ?? null;
  }

  /** @throws the signal's reason; ServiceUnavailableError if the namespace was closed */
  async wait(): Promise<void> {
    this.#check();
    if (this.#isSet) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#endWatch === null ? POLL_MS : SAFETY_MS);
      letProcessEnd(timer);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
    this.#check();
  }

  #check(): void {
    this.#signal?.throwIfAborted();
    if (this.#context.closed().aborted) throw new ServiceUnavailableError("the namespace is closed");
  }

  readonly #ring = (): void => {
    this.#isSet = true;
    this.#wake?.();
  };

  close(): void {
    this.#endWatch?.();
    for (const end of this.#ends) end();
  }
}
