/**
 * Runs the operations of a namespace after the class has checked and authorised them. It first finishes
 * batches that a dead process left, and it reports failures in the caller's terms. The first call loads this
 * module.
 */

import type { RowsInput } from "../namespace/rows.js";
import type { Access } from "../operations/access.js";
import { type OperationContext, openContext } from "../operations/context.js";
import { inTermsOfRequest } from "../operations/failure.js";
import type { ContextOptions } from "../operations/namespaceOptions.js";
import type { OperationBody } from "../operations/operation.js";
import { recoverBefore } from "../operations/recoverBefore.js";
import { namingRefusedRoot } from "../operations/refusedRoot.js";
import { optionalMessage } from "../operations/request.js";
import type { Answers, OperationName, Requests } from "../operationTable.js";

/** A call that was checked and authorised. */
interface OperationCall<Name extends OperationName> {
  readonly operation: OperationName;
  /** Id of the object that the call is about. */
  readonly id: readonly string[];
  /** Request whose authorised members cannot change any more. */
  readonly request: Requests[Name];
  readonly access: Access;
  /** Absent for operations without rows, and if the caller passed none: the operation reports it. */
  readonly rows: RowsInput | undefined;
}

export class Engine {
  readonly context: OperationContext;

  constructor(options: ContextOptions) {
    this.context = openContext(options);
  }

  async run<Name extends OperationName>(
    { operation, id, request, access, rows }: OperationCall<Name>,
    body: OperationBody<Name>,
  ): Promise<Answers[Name]> {
    // A batch that a dead process left unfinished must be finished before the operation reads anything.
    await recoverBefore(this.context, operation, id, request);
    const response = await body(this.#contextOf(request), request, access, rows as RowsInput);
    this.context.recentTransactions.note(id, response);
    return response;
  }

  /** Returns the context of a call. The commits of the call carry the message of its request. */
  #contextOf(request: object): OperationContext {
    const commitMessage = "message" in request ? optionalMessage(request.message) : undefined;
    return commitMessage === undefined ? this.context : { ...this.context, commitMessage };
  }

  /**
   * Returns the error to report to the caller for an error that an operation failed with.
   * @param request unchecked
   */
  async inTermsOf(
    request: { readonly id?: unknown; readonly branch?: unknown },
    error: unknown,
  ): Promise<unknown> {
    const { disk, root } = this.context;
    return inTermsOfRequest(await namingRefusedRoot(disk, root, error), request);
  }
}
