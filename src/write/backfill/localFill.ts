/** Computes the values of fragments in this process, some fragments at a time. */

import { Limit, mapAhead } from "../../async/parallel.js";
import type { DataFragment } from "../../format/table.js";
import { versionSource } from "../../query/indexes/versionSource.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import { type BackfillRound, type BackfillRun, resolvedAsAsked } from "./backfillWork.js";
import { BatchSize } from "./batchSize.js";
import { columnWatch } from "./columnWatch.js";
import { fragmentValues, isConflict } from "./fragmentValues.js";
import type { ComputeFragments, OpenFragment, OpenFragments } from "./openFragments.js";

export function localFill(run: BackfillRun, fragments: OpenFragments): ComputeFragments {
  const { settings, target, signal, onFailure } = run;
  const { concurrency, callsAtOnce, taskRows, flushMs, batch } = settings;
  const fragmentLimit = new Limit(concurrency);
  const shared = {
    ...{ taskRows, callsAtOnce, flushMs, signal, onFailure },
    leastRows: batch.least,
    taskLimit: new Limit(concurrency),
    tasksAtOnce: concurrency,
    scratch: target.table.environment.scratch,
    requireWanted: columnWatch(target.table, (latest) => resolvedAsAsked(run, latest)),
  };
  // All fragments share what earlier batches have told.
  let batchSize: BatchSize | null = null;
  const computeNow = async (round: BackfillRound, fragment: DataFragment): Promise<OpenFragment | null> => {
    const begun = await fragments.begin(round, fragment);
    if (begun === null) return null;
    const { opened, wanted } = begun;
    const { base, resolved, checkpoints, maxUnsavedBytes } = round;
    const size = batchSize ?? new BatchSize(batch, resolved.isByRow);
    batchSize = size;
    const computing = conflictIfRemoved(base, () =>
      fragmentValues(versionSource(base), resolved, fragment, wanted, {
        ...shared,
        batchSize: size,
        ...{ content: opened.content, early: opened.early, checkpoints, maxUnsavedBytes },
        onRows: (count, isRestored) => fragments.addRows(opened, count, isRestored),
      }),
    );
    opened.values = await fragments.orUndo(opened, computing);
    return opened;
  };
  const compute = async (round: BackfillRound, fragment: DataFragment) => {
    try {
      // Results come in the order of the fragments: a finished one waits for those before it.
      const opened = await fragmentLimit.run(() => computeNow(round, fragment), signal);
      const values = opened?.values ?? null;
      if (opened !== null && values !== null && round.savesAll) {
        await fragments.orUndo(opened, values.saveAll());
      }
      return opened;
    } catch (error) {
      if (isConflict(error)) return "conflict";
      // Call it before waiting for other fragments.
      onFailure(error);
      throw error;
    }
  };
  // One more fragment than tasks: values of one are saved or committed while the next is computed. After a
  // failure, the fragments computed before it are still committed.
  const bounds = { weigh: () => 1, maxWeight: concurrency + 1 };
  return (round, wanted) => mapAhead(wanted, (fragment) => compute(round, fragment), bounds);
}
