/**
 * Which data files came to a table by appends since a version: their rows are not those that were to be
 * filled.
 */

import type { DataFragment } from "../../format/table.js";
import { operationOf, readTransaction } from "../../table/commit/transaction.js";
import { openVersion } from "../../table/versions/openVersion.js";
import type { OpenVersion, TableAt } from "../../table/versions/tableAt.js";
import { listVersions } from "../../table/versions/versions.js";

export class AppendedFiles {
  readonly #paths = new Set<string>();
  /** The last version whose transaction was looked at. */
  #through: number;

  /** @param version after which appends count */
  constructor(version: number) {
    this.#through = version;
  }

  /**
   * Looks at the transactions up to a version. What was appended by one whose version is gone is not known;
   * neither is what was merged with other rows since, which is in other files.
   */
  async lookUpTo(
    { table, version }: Pick<OpenVersion, "table" | "version">,
    signal: AbortSignal,
  ): Promise<void> {
    if (version <= this.#through) return;
    for (const entry of await listVersions(table)) {
      if (entry.version <= this.#through || entry.version > version) continue;
      signal.throwIfAborted();
      const open = await openVersion(table as TableAt, entry);
      const transaction = open && (await readTransaction(table, open.file));
      if (transaction === null) continue;
      const operation = operationOf(transaction);
      if (operation.kind !== "append") continue;
      for (const { files } of operation.value.fragments) for (const { path } of files) this.#paths.add(path);
    }
    this.#through = version;
  }

  /** True if a fragment has rows that were appended, and no others. */
  has({ files }: DataFragment): boolean {
    return files.some(({ path }) => this.#paths.has(path));
  }
}
