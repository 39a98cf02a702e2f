/** The error of a change that conflicts with a later commit. */

import { ConcurrentModificationError } from "../../errors.js";

/**
 * Verdict on a transaction:
 *
 * - `ok`: commit over it;
 * - `retryable`: plan the same change again on the newer version;
 * - `incompatible`: the change may have lost its meaning.
 */
export type ConflictVerdict = "ok" | "retryable" | "incompatible";

/** Thrown when a change conflicts with a later commit, or with the table that this commit left. */
export class TransactionConflictError extends ConcurrentModificationError {
  readonly verdict: Exclude<ConflictVerdict, "ok">;

  constructor(verdict: Exclude<ConflictVerdict, "ok">, message: string) {
    super(message);
    this.verdict = verdict;
  }
}
