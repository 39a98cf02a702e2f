/** Computes the values of fragments in this process, some fragments at a time. */

import { Limit, mapAhead } from "../../async/parallel.js";
import type { DataFragment } from "../../format/table.js";
import { versionSource } from "../../query/indexes/versionSource.js";
import { conflictIfRemoved } from "../conflictIfRemoved.js";
import { type BackfillRound, type BackfillRun, resolvedAsAsked } from "./backfillWork.js";
import { BatchSize } from "./batchSize.js";
import { ColumnWatch } from "./columnWatch.js";
import type { ComputedValues } from "./computedValues.js";
import { fragmentValues, isConflict } from "./fragmentValues.js";
import type { OpenFragment, OpenFragments } from "./openFragments.js";

export class LocalFill {
  readonly #run: BackfillRun;
  readonly #fragments: OpenFragments;
  readonly #batchSize: BatchSize;
  readonly #taskLimit: Limit;
  readonly #fragmentLimit: Limit;
  readonly #watch: ColumnWatch;

  constructor(run: BackfillRun, fragments: OpenFragments) {
    const { settings, target } = run;
    this.#run = run;
    this.#fragments = fragments;
    this.#batchSize = new BatchSize(settings.batch);
    this.#taskLimit = new Limit(settings.concurrency);
    this.#fragmentLimit = new Limit(settings.concurrency);
    this.#watch = new ColumnWatch(target.table, (latest) => resolvedAsAsked(run, latest));
  }

  /**
   * Yields each fragment when its values are computed: null if no row needs a value, "conflict" if the
   * fragment needs the next round.
   */
  compute(
    round: BackfillRound,
    fragments: readonly DataFragment[],
  ): AsyncIterable<OpenFragment | "conflict" | null> {
    // One more fragment than tasks: values of one are saved or committed while the next is computed. After a
    // failure, the fragments computed before it are still committed.
    const bounds = { weigh: () => 1, maxWeight: this.#run.settings.concurrency + 1 };
    return mapAhead(fragments, (fragment) => this.#compute(round, fragment), bounds);
  }

  async #compute(round: BackfillRound, fragment: DataFragment): Promise<OpenFragment | "conflict" | null> {
    const { signal, onFailure } = this.#run;
    try {
      // Results come in the order of the fragments: a finished one waits for those before it.
      const computed = await this.#fragmentLimit.run(() => this.#computeNow(round, fragment), signal);
      const values = computed?.values ?? null;
      if (computed !== null && values !== null && round.savesAll) {
        await this.#fragments.orUndo(computed, values.saveAll());
      }
      return computed;
    } catch (error) {
      if (isConflict(error)) return "conflict";
      // Call it before waiting for other fragments.
      onFailure(error);
      throw error;
    }
  }

  async #computeNow(round: BackfillRound, fragment: DataFragment): Promise<OpenFragment | null> {
    const begun = await this.#fragments.begin(round, fragment);
    if (begun === null) return null;
    const { opened, wanted } = begun;
    const computing = conflictIfRemoved(round.base, () => this.#values(round, fragment, wanted, opened));
    opened.values = await this.#fragments.orUndo(opened, computing);
    return opened;
  }

  #values(
    { base, resolved, checkpoints, maxUnsavedBytes }: BackfillRound,
    fragment: DataFragment,
    wanted: Uint32Array,
    opened: OpenFragment,
  ): Promise<ComputedValues> {
    const { settings, signal, onFailure } = this.#run;
    const { concurrency, callsAtOnce, taskRows, flushMs, batch } = settings;
    return fragmentValues(versionSource(base), resolved, fragment, wanted, {
      ...{ content: opened.content, early: opened.early, checkpoints, signal, onFailure },
      ...{ taskRows, callsAtOnce, flushMs, maxUnsavedBytes },
      batchSize: this.#batchSize,
      leastRows: batch.least,
      taskLimit: this.#taskLimit,
      tasksAtOnce: concurrency,
      onRows: (count) => this.#fragments.addRows(opened, count),
      requireWanted: () => this.#watch.look(),
    });
  }
}
