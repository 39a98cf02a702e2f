/**
 * Remembers the tables of this engine's latest transactions, so that a lookup by the transaction id alone needs no
 * search. A hint: a table may have been renamed or dropped since.
 */

import { LruCache } from "../io/memory/cache.js";

/** Maximum number of transactions remembered. */
const MAX_REMEMBERED = 10_000;

export class RecentTransactions {
  readonly #tableIds = new LruCache<readonly string[]>(MAX_REMEMBERED);

  /** @param response of a change of the table; ignored without a transaction id */
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
