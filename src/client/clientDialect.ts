/** Dialects of servers: what a server takes and answers that deviates from the interface. */

import type { NamespaceError } from "../errors.js";
import type { OperationName } from "../operationTable.js";
import type { Route } from "../rest/wire/route.js";
import type { CallForm, Members } from "./callForm.js";
import { type ErrorAnswer, errorOfAnswer } from "./problems.js";

/** An error answer with everything that a dialect may read. */
export interface RefusedRequest extends ErrorAnswer {
  /** Text of the body. */
  readonly text: string;
  readonly statusText: string;
  /** Headers of the request. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly route: string;
}

/** Requests that a dialect's own operations send. */
export interface ServerCalls {
  /** Calls an operation. */
  ask(name: OperationName, request: Members): Promise<unknown>;
  /** Posts JSON to a path, and returns the JSON of the answer. */
  post(path: string, json: unknown): Promise<unknown>;
}

export interface ClientDialect {
  /** Statuses after which a request may be repeated. */
  readonly passingStatuses: ReadonlySet<number>;
  /** Returns a call in the form of the server. */
  outgoing(route: Route, form: CallForm): CallForm;
  /** Returns a JSON answer in the form of the interface. */
  incoming(route: Route, json: unknown): unknown;
  /** Returns the error of an answer that is not a success. */
  errorOf(refused: RefusedRequest, secrets: readonly string[]): NamespaceError;
  /** Returns the error after the last attempt. */
  afterRetries(error: NamespaceError, attempts: number): NamespaceError;
  /** Operations that take several requests, or another one. */
  readonly calls: {
    readonly [Name in OperationName]?: (calls: ServerCalls, request: Members) => Promise<unknown>;
  };
}

/** The dialect of the interface. */
export const INTERFACE: ClientDialect = {
  passingStatuses: new Set([408, 429, 502, 503, 504]),
  outgoing: (_route, form) => form,
  incoming: (_route, json) => json,
  errorOf: errorOfAnswer,
  afterRetries: (error) => error,
  calls: {},
};
