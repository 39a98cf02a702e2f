/** Finishes a decided batch under its locks: does all parts, or undoes those that were begun. */

import type { Disk } from "../../io/disk/disk.js";
import { TEMPORARY_PREFIX } from "../../io/names/temporaryNames.js";
import { basename } from "../../platform/native.js";
import type { CatalogEnvironment } from "../rows/catalogEnvironment.js";
import { type Batch, type BatchOutcome, endBatch, endOwnBatch } from "./batchJournal.js";
import { type BatchLocks, LocksLostError, requireLock, requireLocks } from "./batchLocks.js";
import { type BatchWork, doStep, undoStep } from "./batchParts.js";
import { isLasting } from "./batchRefusals.js";
import type { BatchStep } from "./journalFormat.js";

/** Outcome of a batch, and the reason if it was undone. */
export type Ending =
  | { readonly outcome: "done" }
  | { readonly outcome: "undone"; readonly step: BatchStep; readonly refusal: unknown };

/** Collects what a batch needs, under its locks. */
export function workOn(
  environment: CatalogEnvironment,
  batch: Batch,
  locks: BatchLocks,
  isDecidedHere: boolean,
): BatchWork {
  const unguarded = { ...environment, batches: undefined };
  const disk = guardedDisk(environment.disk, () => requireLock(locks.batch));
  return {
    environment: { ...unguarded, disk },
    unguarded,
    batch,
    locks,
    isDecidedHere,
    published: [],
    retired: [],
  };
}

/**
 * Does the remaining parts of a batch, or undoes it, and ends it.
 * @throws LocksLostError; the caller must then do nothing more
 * @throws any other passing error, see {@link isLasting}; the journal stays
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
      // In a batch that another process began, any part may be done. The last one is undone first.
      const begun = work.isDecidedHere ? [step, ...done] : steps.toReversed();
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
 * Undoes a part. A part that cannot be undone stays. Its table would refuse the next attempt as well, and the
 * other tables must not wait until the owner has repaired it.
 */
async function undoUnlessRefused(work: BatchWork, step: BatchStep, wasDone: boolean): Promise<void> {
  try {
    await undoStep(work, step, wasDone);
  } catch (error) {
    await requireLocks(work.locks);
    if (!isLasting(error)) throw error;
  }
}

async function end(work: BatchWork, outcome: BatchOutcome): Promise<void> {
  const { environment, unguarded, batch, locks, isDecidedHere } = work;
  const { root } = environment;
  await requireLocks(locks);
  // The batch's lock goes with its directory. The rest is garbage, and needs no lock.
  if (!isDecidedHere) return endBatch(unguarded.disk, root, batch.directory, outcome);
  // Only the batch's lock counts now. The tables may have changed since the batch was done, and a process
  // that recovers it holds the batch's lock.
  const confirm = () => requireLock(locks.batch);
  if (await endOwnBatch(unguarded.disk, root, batch.directory, outcome, confirm)) return;
  throw new LocksLostError("another process has ended the batch");
}

const CHANGES: ReadonlySet<string | symbol> = new Set<keyof Disk>([
  "overwrite",
  "link",
  "rename",
  "remove",
  "removeTree",
  "removeEmptyDirectory",
  "makeDirectory",
]);

/**
 * Wraps a disk for work under a lock, and checks the lock right before each call that changes what others
 * see. It prevents changes by a process that was suspended and has lost its lock, however deep in the work a
 * call is and however long it has waited. Files that are being written belong to this process, and are not
 * guarded.
 * @param confirm rejects if the lock is lost
 */
function guardedDisk(disk: Disk, confirm: () => Promise<void>): Disk {
  return new Proxy(disk, {
    get(target, verb) {
      const value: unknown = Reflect.get(target, verb);
      if (typeof value !== "function") return value;
      if (!CHANGES.has(verb)) return value.bind(target);
      return async (...operands: unknown[]) => {
        if (
          !basename(String(operands[0])).startsWith(TEMPORARY_PREFIX) ||
          verb === "link" ||
          verb === "rename"
        ) {
          await confirm();
        }
        return Reflect.apply(value, target, operands);
      };
    },
  });
}
