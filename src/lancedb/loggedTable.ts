/**
 * Log-structured writes (MemWAL) of tables. This release does not write to logs: it refuses them, and answers
 * as LanceDB does for a table without them.
 */

import { failure, notSupported } from "./failures.js";
import type { LsmStats } from "./lsm.js";
import { QueriedTable } from "./queriedTable.js";
import type { LsmWriteSpec } from "./tableTypes.js";

/** A table with the calls about log-structured writes. */
export abstract class LoggedTable extends QueriedTable {
  async setLsmWriteSpec(spec: LsmWriteSpec): Promise<void> {
    this.inner.requireOpen();
    const { specType } = spec;
    if (!["bucket", "identity", "unsharded"].includes(specType)) {
      throw failure(
        `LsmWriteSpec \`specType\` must be 'bucket', 'identity', or 'unsharded', got '${specType}'`,
      );
    }
    throw notSupported("log-structured writes (MemWAL) are not there: setLsmWriteSpec");
  }

  async unsetLsmWriteSpec(): Promise<void> {
    this.inner.requireOpen();
    throw failure("Invalid input, unset_lsm_write_spec: no LSM write spec is set on this table");
  }

  async getLsmWriteSpec(): Promise<LsmWriteSpec | undefined> {
    this.inner.requireOpen();
    return undefined;
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
