/**
 * Which tables the transactions of this engine's last changes are of, so that whoever asks for one by its id alone is
 * answered without a search. A hint: a table may have been renamed or dropped since.
 */

/** Transactions remembered; the oldest go first. */
const MAX_REMEMBERED = 10_000;

export class RecentTransactions {
  readonly #tableIds = new Map<string, readonly string[]>();

  /** @param response of a change of the table; one without a transaction's id is passed over */
  note(tableId: readonly string[], response: unknown): void {
    if (typeof response !== "object" || response === null || !("transactionId" in response)) return;
    const { transactionId } = response;
    if (typeof transactionId !== "string" || tableId.length === 0) return;
    this.#tableIds.set(transactionId, tableId);
    if (this.#tableIds.size <= MAX_REMEMBERED) return;
    for (const oldest of this.#tableIds.keys()) {
      this.#tableIds.delete(oldest);
      break;
    }
  }

  tableOf(transactionId: string): readonly string[] | undefined {
    return this.#tableIds.get(transactionId);
  }
}
