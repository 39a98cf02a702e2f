/**
 * Bringing a decided batch to its end, under the locks of its tables and of its directory: all parts are done, or all
 * that were begun are undone.
 */

import { codeOf } from "../io/errno.js";
import type { LockLease } from "../io/lease.js";
import { type LockOptions, withLock } from "../io/lock.js";
import { endBatch, type Outcome } from "./batchJournal.js";
import { type BatchLocks, type BatchWork, doStep, isLasting, undoStep } from "./batchParts.js";
import type { BatchStep } from "./journalFormat.js";

/** How a batch ended, and why it had to be undone. */
export type Ending =
  | { readonly outcome: "done" }
  | { readonly outcome: "undone"; readonly step: BatchStep; readonly refusal: unknown };

/** A lock was lost while this process stood still: another one may be at the batch, or have ended it. */
export class LocksLostError extends Error {}

/** @throws LocksLostError unless all locks are held */
export async function requireLocks({ batch, tables }: BatchLocks): Promise<void> {
  try {
    await batch.confirm();
    for (const lease of tables.values()) await lease.confirm();
  } catch (cause) {
    throw new LocksLostError("a lock of the batch was lost", { cause });
  }
}

/**
 * Does what is left of a batch, or undoes it, and ends it.
 * @throws LocksLostError, after which nothing more may be done
 * @throws whatever else may pass, see {@link isLasting}; the journal is there
 */
export async function finishBatch(work: BatchWork): Promise<Ending> {
  const steps = inOrder(work.batch.steps);
  const done: BatchStep[] = [];
  for (const step of steps) {
    try {
      if (await doStep(work, step)) done.unshift(step);
    } catch (refusal) {
      await requireLocks(work.locks);
      if (!isLasting(refusal)) throw refusal;
      // Of a batch that another began, any part may be done. The last one is undone first.
      const begun = work.isOwn ? [step, ...done] : steps.toReversed();
      for (const each of begun) await undoUnlessRefused(work, each, done.includes(each));
      await end(work, "undone");
      return { outcome: "undone", step, refusal };
    }
  }
  await end(work, "done");
  return { outcome: "done" };
}

const ORDER: readonly BatchStep["kind"][] = [
  "declareTable",
  "createVersion",
  "deregisterTable",
  "deleteVersions",
];
const inOrder = (steps: readonly BatchStep[]): BatchStep[] =>
  ORDER.flatMap((kind) => steps.filter((step) => step.kind === kind));

/**
 * A part that can't be undone stays: the table would refuse the next one who tries as well, and until its owner has
 * mended it nobody could use the other tables.
 */
async function undoUnlessRefused(work: BatchWork, step: BatchStep, wasDone: boolean): Promise<void> {
  try {
    await undoStep(work, step, wasDone);
  } catch (error) {
    await requireLocks(work.locks);
    if (!isLasting(error)) throw error;
  }
}

async function end({ environment, batch, locks, isOwn }: BatchWork, outcome: Outcome): Promise<void> {
  const { disk, root } = environment;
  await requireLocks(locks);
  if (isOwn) return endBatch(disk, root, batch.directory, null);
  try {
    await endBatch(disk, root, batch.directory, outcome);
  } catch (error) {
    // Nobody may write where outcomes lie: better one process that does not learn it than tables nobody can use.
    if (!isLasting(error)) throw error;
    await endBatch(disk, root, batch.directory, null);
  }
}

/** Locks of tables that were taken; and of those that can't be, why. */
export type TableLocks = Pick<BatchLocks, "tables" | "refusals">;

/**
 * Takes the locks of directories, in one order for all callers, so that no two wait for each other. One that is gone has
 * none, nor has one whose lock can't be had, now or later.
 * @throws ServiceUnavailableError where a lock is not free in time
 */
export async function withTableLocks<T>(
  tableRoots: readonly string[],
  options: LockOptions,
  work: (locks: TableLocks) => Promise<T>,
): Promise<T> {
  const tables = new Map<string, LockLease>();
  const refusals = new Map<string, unknown>();
  const takeFrom = async (rest: readonly string[]): Promise<T> => {
    const [next, ...others] = rest;
    if (next === undefined) return work({ tables, refusals });
    try {
      return await withLock(next, options, (lease) => {
        tables.set(next, lease);
        return takeFrom(others);
      });
    } catch (error) {
      if (tables.has(next) || !isLasting(error)) throw error;
      if (codeOf(error) !== "ENOENT") refusals.set(next, error);
      return takeFrom(others);
    }
  };
  return takeFrom([...new Set(tableRoots)].sort());
}
