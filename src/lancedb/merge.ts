/** Merging rows into a table by key. */

import type { MergeInsertIntoTableRequest } from "../namespace/rows.js";
import { conditionOf } from "./conditions.js";
import { failure } from "./failures.js";
import type { Data } from "./like.js";
import type { MergeResult } from "./native.js";

/** Clauses of a merge, as members of the engine's request. */
export type MergeClauses = Omit<MergeInsertIntoTableRequest, "id" | "branch">;

/** Runs a merge. */
export type MergeRun = (clauses: MergeClauses, data: Data) => Promise<MergeResult>;

/** Options of {@link MergeInsertBuilder.execute}. */
export interface WriteExecutionOptions {
  /** Maximum duration in milliseconds. A longer merge fails and changes nothing. Default: no limit. */
  timeoutMs?: number;
}

const optionalCondition = (sql: string | undefined) => (sql == null ? undefined : conditionOf(sql));

/** Builds a merge step by step. Each step returns a new builder. */
export class MergeInsertBuilder {
  readonly #run: MergeRun;
  readonly #clauses: MergeClauses;

  /** Makes a builder. Programs get theirs from `Table.mergeInsert`. */
  constructor(run: MergeRun, clauses: MergeClauses) {
    this.#run = run;
    this.#clauses = clauses;
  }

  #with(clauses: Partial<MergeClauses>): MergeInsertBuilder {
    return new MergeInsertBuilder(this.#run, { ...this.#clauses, ...clauses });
  }

  /**
   * Rows that are in the table and in the data get the values of the data.
   * @param options `where` is SQL over `target.<column>` and `source.<column>`: other rows stay as they are
   */
  whenMatchedUpdateAll(options?: { where: string }): MergeInsertBuilder {
    return this.#with({
      whenMatchedUpdateAll: true,
      whenMatchedUpdateAllFilt: optionalCondition(options?.where),
    });
  }

  /** Rows that are only in the data are inserted. */
  whenNotMatchedInsertAll(): MergeInsertBuilder {
    return this.#with({ whenNotMatchedInsertAll: true });
  }

  /**
   * Rows that are only in the table are deleted.
   * @param options `where` is SQL that selects the rows to delete. Default: all of them
   */
  whenNotMatchedBySourceDelete(options?: { where: string }): MergeInsertBuilder {
    return this.#with({
      whenNotMatchedBySourceDelete: true,
      whenNotMatchedBySourceDeleteFilt: optionalCondition(options?.where),
    });
  }

  /** Allows indexes for the join. It has no effect: the merge reads the key columns. */
  useIndex(useIndex: boolean): MergeInsertBuilder {
    return this.#with({ useIndex });
  }

  /**
   * Chooses between the standard path and a log-structured one, which this release does not have.
   * @throws Error for `true`
   */
  useLsm(enable: boolean): MergeInsertBuilder {
    if (!enable) return this.#with({ useLsm: false });
    return new MergeInsertBuilder(() => {
      throw failure("Invalid input, use_lsm(true): this release writes no logs (MemWAL)");
    }, this.#clauses);
  }

  /** Sets a check of log-structured merges. It has no effect. */
  validateSingleShard(_validateSingleShard: boolean): MergeInsertBuilder {
    return this.#with({});
  }

  /**
   * Merges rows.
   * @param data rows: objects, or an Arrow table
   * @param execOptions maximum duration
   */
  async execute(data: Data, execOptions?: Partial<WriteExecutionOptions>): Promise<MergeResult> {
    const timeoutMs = execOptions?.timeoutMs;
    const timeout = timeoutMs === undefined ? {} : { timeout: `${timeoutMs}ms` };
    return this.#run({ ...this.#clauses, ...timeout }, data);
  }
}
