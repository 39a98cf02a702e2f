/**
 * Which tables the transactions of this engine's last changes are of, so that whoever asks for one by its id alone is
 * answered without a search. A hint: a table may have been renamed or dropped since.
 */

import { LruCache } from "../io/memory/cache.js";

/** Transactions remembered. */
const MAX_REMEMBERED = 10_000;

export class RecentTransactions {
  readonly #tableIds = new LruCache<readonly string[]>(MAX_REMEMBERED);

  /** @param response of a change of the table; one without a transaction's id is passed over */
  note(tableId: readonly string[], response: unknown): void {
    if (typeof response !== "object" || response === null || !("transactionId" in response)) return;
    const { transactionId } = response;
    if (typeof transactionId !== "string" || tableId.length === 0) return;
    this.#tableIds.set(transactionId, tableId, 1);
  }

  tableOf(transactionId: string): readonly string[] | undefined {
    return this.#tableIds.peek(transactionId);
  }
}
