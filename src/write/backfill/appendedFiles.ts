/** Files that appends added since a version, whose rows a backfill of that version does not fill. */

import type { DataFragment } from "../../format/table.js";
import { operationOf, readTransaction } from "../../table/commit/transaction.js";
import { openVersion } from "../../table/versions/openVersion.js";
import type { OpenVersion, TableAt } from "../../table/versions/tableAt.js";
import { listVersions } from "../../table/versions/versions.js";

export class AppendedFiles {
  readonly #paths = new Set<string>();
  /** Last version whose transaction was read. */
  #through: number;

  /** @param version after which appends count */
  constructor(version: number) {
    this.#through = version;
  }

  /** Reads the transactions up to a version. Appends of lost versions, or rows merged since, stay out. */
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

  /** True if a fragment has appended rows only. */
  has({ files }: DataFragment): boolean {
    return files.some(({ path }) => this.#paths.has(path));
  }
}
