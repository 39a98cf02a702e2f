/**
 * Runs the operations of a namespace after the class has checked and authorised them. It first finishes
 * batches that a dead process left, and it reports failures in the caller's terms. The first call loads this
 * module.
 */

import type { RequestBase } from "../namespace/request.js";
import type { RowsInput } from "../namespace/rows.js";
import type { Access } from "../operations/access.js";
import { type OperationContext, openContext } from "../operations/context.js";
import { inTermsOfRequest } from "../operations/failure.js";
import type { ContextOptions } from "../operations/namespaceOptions.js";
import { recoverBefore } from "../operations/recoverBefore.js";
import { namingRefusedRoot } from "../operations/refusedRoot.js";
import type { OperationName } from "../operationTable.js";

/** Function that does the work of an operation. */
export type OperationBody<Request, Response> = (
  context: OperationContext,
  request: Request,
  access: Access,
  rows: RowsInput,
) => Promise<Response> | Response;

/** A call that was checked and authorised. */
export interface OperationCall<Request> {
  readonly operation: OperationName;
  /** Id of the object that the call is about. */
  readonly id: readonly string[];
  /** Request whose authorised members cannot change any more. */
  readonly request: Request;
  readonly access: Access;
  /** Absent for operations without rows, and if the caller passed none: the operation reports it. */
  readonly rows: RowsInput | undefined;
}

export class Engine {
  readonly context: OperationContext;

  constructor(options: ContextOptions) {
    this.context = openContext(options);
  }

  async run<Request extends RequestBase, Response>(
    { operation, id, request, access, rows }: OperationCall<Request>,
    body: OperationBody<Request, Response>,
  ): Promise<Response> {
    // A batch that a dead process left unfinished must be finished before the operation reads anything.
    await recoverBefore(this.context, operation, id, request);
    const response = await body(this.context, request, access, rows as RowsInput);
    this.context.recentTransactions.note(id, response);
    return response;
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
