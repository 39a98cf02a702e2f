/**
 * What runs every operation of a namespace, behind the checks of the class: batches that a dead process left are finished
 * first, and failures are told in the caller's terms. It is loaded with the first call.
 */

import type { RequestBase } from "../namespace/request.js";
import type { Access } from "../operations/access.js";
import { type OperationContext, openContext } from "../operations/context.js";
import { inTermsOfRequest } from "../operations/failure.js";
import type { ContextOptions } from "../operations/namespaceOptions.js";
import { recoverBefore } from "../operations/recoverBefore.js";
import { namingRefusedRoot } from "../operations/refusedRoot.js";

/** What does an operation's work. */
export type OperationBody<Request, Response> = (
  context: OperationContext,
  request: Request,
  access: Access,
) => Promise<Response> | Response;

/** A call that was checked and authorised. */
export interface OperationCall<Request> {
  readonly operation: string;
  /** Of the object that the call is about. */
  readonly id: readonly string[];
  /** With the members pinned that were authorised. */
  readonly request: Request;
  readonly access: Access;
}

export class Engine {
  readonly context: OperationContext;

  constructor(options: ContextOptions) {
    this.context = openContext(options);
  }

  async run<Request extends RequestBase, Response>(
    { operation, id, request, access }: OperationCall<Request>,
    body: OperationBody<Request, Response>,
  ): Promise<Response> {
    // Finish what a dead process left half done before anything is read.
    await recoverBefore(this.context, operation, id, request);
    const response = await body(this.context, request, access);
    this.context.recentTransactions.note(id, response);
    return response;
  }

  /**
   * The error to report for one that an operation failed with.
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
