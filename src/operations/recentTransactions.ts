/**
 * Remembers the tables of this engine's latest transactions, so that a lookup by transaction id needs no
 * search. An entry may be wrong: the table may have been renamed or dropped since.
 */

import { LruCache } from "../io/memory/cache.js";

/** Maximum number of remembered transactions. */
const MAX_REMEMBERED = 10_000;

export class RecentTransactions {
  readonly #tableIds = new LruCache<readonly string[]>(MAX_REMEMBERED);

  /**
   * Remembers the transaction of a response.
   * @param response ignored without a transaction id
   */
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
