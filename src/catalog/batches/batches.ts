/**
 * Changes several tables, all or none.
 *
 *     lock the tables ─ check every part ─ lock the batch ─ write the journal ─ do the parts
 *          ─ remove the journal ─ unlock
 *
 * A batch is decided once its journal exists. If the process dies after writing it, the next operation on one
 * of its tables does the rest (see batchRecovery.ts), so nobody sees or changes a half-done batch. Only an
 * engine without journals can get in between. If it takes a version number that a part needs, the finished
 * parts are undone.
 *
 * Parts whose undoing is most visible come last: declarations, versions, deregistrations, then deletions.
 *
 * A process that was suspended while its locks were taken over does nothing more, because each part checks
 * the locks right before it acts. It finds the outcome in the place where the process that ended the batch
 * left it.
 */

import {
  ConcurrentModificationError,
  InternalError,
  NamespaceError,
  ServiceUnavailableError,
} from "../../errors.js";
import { platformError, tellFailure } from "../../io/disk/diskErrors.js";
import { codeOf } from "../../io/disk/errno.js";
import { MissingVerbError } from "../../io/disk/missingVerb.js";
import { withLock } from "../../io/lock/lock.js";
import { PublishUncertainError } from "../../io/publish.js";
import { TableGoneError } from "../../table/versions/identity.js";
import { readTableIdentity, type TableIdentity } from "../../table/versions/tableIdentity.js";
import type { CatalogEnvironment } from "../rows/catalogEnvironment.js";
import { type Ending, finishBatch, workOn } from "./batchExecution.js";
import {
  type Batch,
  type BatchOutcome,
  clearOutcome,
  decideBatch,
  dropBatch,
  isDecided,
  prepareBatch,
  readOutcome,
} from "./batchJournal.js";
import { LocksLostError, requireLocks, type TableLocks, withTableLocks } from "./batchLocks.js";
import { type BatchWork, removeResurrected, returnForeign, tableOf } from "./batchParts.js";
import { recoverBatch } from "./batchRecovery.js";
import { BatchConflict } from "./batchRefusals.js";
import type { BatchScope } from "./batchScope.js";
import { type BatchStep, formatStep } from "./journalFormat.js";
import { hasUnfinishedBatch, recoverAbandoned } from "./unfinishedBatches.js";

export interface BatchPlan {
  readonly steps: readonly BatchStep[];
  /** Manifests of its versions; a step names one by its index. */
  readonly manifests: readonly Uint8Array[];
}

export interface BatchTargets {
  /** Ids of all tables that it changes, declares or deregisters. */
  readonly ids: readonly (readonly string[])[];
  /**
   * Directories of the tables and branches whose versions it changes. If it deletes versions of a branch,
   * also that of the table.
   */
  readonly tableRoots: readonly string[];
}

/** Maximum number of times that a process may lose its locks before it has decided. */
const MAX_ATTEMPTS = 5;

/**
 * Commits a batch.
 * @param plan checks every part, under the locks of the tables; if it throws, nothing is written. It may be
 *   called again
 * @throws ConcurrentModificationError if another engine committed in between; else the error of the refused
 *   part, which names it. After both, nothing has changed
 * @throws ServiceUnavailableError if the batch is decided but not finished: the next operation on one of its
 *   tables does the rest
 */
export async function commitBatch(
  environment: CatalogEnvironment,
  { ids, tableRoots }: BatchTargets,
  plan: () => Promise<BatchPlan>,
  signal?: AbortSignal,
): Promise<void> {
  // The steps of a batch, and its end, are renames.
  if (environment.disk.hasRename === false) throw new MissingVerbError("rename", environment.root);
  const scope: BatchScope = { kind: "tables", ids, directories: tableRoots };
  const lock = { ...environment.lock, signal };
  for (let stops = 0; stops < MAX_ATTEMPTS; ) {
    await recoverAbandoned(environment, scope, { signal });
    const attempt = await withTableLocks(tableRoots, lock, async (locks): Promise<Attempt | null> => {
      requireAll(tableRoots, locks);
      if (await hasUnfinishedBatch(environment, scope)) return null;
      // Read before the plan, so that a table that is replaced later is noticed.
      const identities = await readIdentities(environment, tableRoots);
      const { steps, manifests } = await plan();
      if (steps.length === 0) return { kind: "ended", ending: { outcome: "done" } };
      const completed = steps.map((step) => complete(environment, step, identities));
      const batch = await prepareBatch(environment.disk, environment.root, completed, manifests);
      return decideAndDo(environment, batch, locks, signal);
    });
    if (attempt === null) continue;
    if (attempt.kind === "undecided") stops++;
    else return attempt.kind === "ended" ? requireDone(attempt.ending) : requireLearned(attempt.work);
  }
  throw new ConcurrentModificationError("other processes kept taking over the locks of the batch");
}

/** @throws TableGoneError if a table was dropped; the reason why a lock cannot be taken */
function requireAll(tableRoots: readonly string[], { tables, refusals }: TableLocks): void {
  for (const tableRoot of tableRoots) {
    if (tables.has(tableRoot)) continue;
    throw refusals.get(tableRoot) ?? new TableGoneError(tableRoot);
  }
}

type Identities = ReadonlyMap<string, TableIdentity>;

async function readIdentities(
  { disk }: CatalogEnvironment,
  tableRoots: readonly string[],
): Promise<Identities> {
  const identities = new Map<string, TableIdentity>();
  for (const tableRoot of tableRoots) {
    const identity = identities.has(tableRoot) ? null : await readTableIdentity({ disk, root: tableRoot });
    if (identity !== null) identities.set(tableRoot, identity);
  }
  return identities;
}

/** Adds the identity of its table to a step. */
function complete(environment: CatalogEnvironment, step: BatchStep, identities: Identities): BatchStep {
  switch (step.kind) {
    case "createVersion":
    case "deleteVersions":
      return { ...step, identity: identities.get(tableOf(environment, step).root) };
    case "declareTable":
      return { ...step, mark: crypto.randomUUID() };
    case "deregisterTable":
      return step;
  }
}

/** Result of an attempt: the batch ended, nothing was decided, or another process took the batch over. */
type Attempt =
  | { readonly kind: "ended"; readonly ending: Ending }
  | { readonly kind: "undecided" }
  | { readonly kind: "taken over"; readonly work: BatchWork };

async function decideAndDo(
  environment: CatalogEnvironment,
  batch: Batch,
  tableLocks: TableLocks,
  signal: AbortSignal | undefined,
): Promise<Attempt> {
  const { disk, root, lock } = environment;
  let work: BatchWork | null = null;
  try {
    return await withLock(batch.directory, { ...lock, signal }, async (lease): Promise<Attempt> => {
      const locks = { ...tableLocks, batch: lease };
      const verify = async () => {
        await requireLocks(locks);
        return true;
      };
      // No other process writes to the directory.
      await decideBatch(disk, batch, { lease, verify });
      work = workOn(environment, batch, locks, true);
      return { kind: "ended", ending: await finishBatch(work) };
    });
  } catch (error) {
    if (work !== null) {
      if (error instanceof LocksLostError) return { kind: "taken over", work };
      throw unfinished(error);
    }
    if (error instanceof PublishUncertainError) throw error;
    await dropBatch(disk, root, batch.directory);
    // Another process considered its directory abandoned.
    if (error instanceof LocksLostError || codeOf(error) === "ENOENT") return { kind: "undecided" };
    throw error;
  }
}

/** Returns the error that asks the caller to try later: the next operation finishes the batch. */
const unfinished = (cause: unknown): ServiceUnavailableError =>
  new ServiceUnavailableError(
    `the batch is decided, and the next operation on one of its tables finishes it: ${tellFailure(cause)}`,
    { cause },
  );

/** @throws the reason why the batch was undone, naming the part */
function requireDone(ending: Ending): void {
  if (ending.outcome === "done") return;
  const { refusal, step } = ending;
  const message = `${formatStep(step)}: ${tellFailure(refusal)}`;
  if (refusal instanceof BatchConflict) {
    throw new ConcurrentModificationError(message, { cause: refusal.cause });
  }
  if (!(refusal instanceof NamespaceError)) {
    throw platformError(refusal, formatStep(step)) ?? new InternalError(message, { cause: refusal });
  }
  // Keeps the error's class and members.
  refusal.message = message;
  throw refusal;
}

/**
 * @throws ConcurrentModificationError if another process undid the batch; InternalError if its outcome is
 *   unknown, or it cannot be finished now
 */
async function requireLearned(work: BatchWork): Promise<void> {
  if ((await learnOutcome(work)) === "done") return returnForeign(work);
  await removeResurrected(work);
  throw new ConcurrentModificationError(
    "another process took the batch over while this one was suspended, and undid it because a part can't be done",
  );
}

async function learnOutcome({ unguarded: environment, batch }: BatchWork): Promise<BatchOutcome> {
  const { disk, root, lock } = environment;
  for (let attempt = 1; ; attempt++) {
    // This comes first: a remaining journal is recovered, by the outcome if there is one already.
    if (await isDecided(disk, batch.directory)) {
      await recoverBatch(environment, batch, lock).catch((error: unknown) => {
        throw unfinished(error);
      });
    }
    const outcome = await readOutcome(disk, root, batch.directory);
    if (outcome !== null) {
      await clearOutcome(disk, root, batch.directory);
      return outcome;
    }
    if (attempt > 1) {
      throw new InternalError(
        "the outcome of the batch is unknown: the process that took it over did not record it",
      );
    }
  }
}
