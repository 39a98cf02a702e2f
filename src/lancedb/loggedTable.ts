/**
 * Log-structured writes (MemWAL) of tables. This release stores their settings and writes no logs: a merge
 * goes into the table itself, in the form that logs allow.
 */

import { failure, notSupported } from "./failures.js";
import type { LsmStats } from "./lsm.js";
import { QueriedTable } from "./queriedTable.js";
import type { LsmWriteSpec } from "./tableTypes.js";

/** A table with the calls about log-structured writes. */
export abstract class LoggedTable extends QueriedTable {
  async setLsmWriteSpec(spec: LsmWriteSpec): Promise<void> {
    this.inner.requireOpen();
    const { specType, column, numBuckets, maintainedIndexes, writerConfigDefaults } = spec;
    if (!["bucket", "identity", "unsharded"].includes(specType)) {
      throw failure(
        `LsmWriteSpec \`specType\` must be 'bucket', 'identity', or 'unsharded', got '${specType}'`,
      );
    }
    if (specType !== "unsharded" && column == null)
      throw failure(`LsmWriteSpec ${specType} requires \`column\``);
    if (specType === "bucket" && numBuckets == null)
      throw failure("LsmWriteSpec bucket requires `numBuckets`");
    await this.state.change((namespace, table) =>
      namespace.configureLsmWrites({
        ...table,
        spec: {
          specType,
          column: column ?? undefined,
          numBuckets: numBuckets ?? undefined,
          maintainedIndexes: maintainedIndexes ?? undefined,
          writerConfigDefaults: writerConfigDefaults ?? undefined,
        },
      }),
    );
  }

  async unsetLsmWriteSpec(): Promise<void> {
    await this.state.change((namespace, table) => namespace.configureLsmWrites({ ...table, spec: null }));
  }

  async getLsmWriteSpec(): Promise<LsmWriteSpec | undefined> {
    const { lsmWriteSpec: spec } = await this.state.read((namespace, shown) =>
      namespace.describeTable(shown),
    );
    if (spec === undefined) return undefined;
    return {
      specType: spec.specType,
      ...(spec.column !== undefined && { column: spec.column }),
      ...(spec.numBuckets !== undefined && { numBuckets: spec.numBuckets }),
      maintainedIndexes: [...(spec.maintainedIndexes ?? [])],
      writerConfigDefaults: { ...spec.writerConfigDefaults },
    };
  }

  async closeLsmWriters(): Promise<void> {
    this.inner.requireOpen();
  }

  async flushLsm(): Promise<void> {
    throw this.#onlyOnServers("flush_lsm");
  }

  async compactLsm(): Promise<void> {
    throw this.#onlyOnServers("compact_lsm");
  }

  async checkpointLsm(): Promise<void> {
    throw this.#onlyOnServers("flush_lsm");
  }

  async getLsmStats(_includeGenerationRows?: boolean): Promise<LsmStats | undefined> {
    throw this.#onlyOnServers("get_lsm_stats");
  }

  #onlyOnServers(operation: string): Error {
    this.inner.requireOpen();
    return notSupported(`${operation} is not supported on this table type`);
  }
}
