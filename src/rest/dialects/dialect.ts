/**
 * What clients of different kinds send and expect otherwise than the interface says. A handler speaks one dialect per
 * request; that of the interface is here, each other one has a file of its own.
 */

import type { DirectoryNamespace } from "../../DirectoryNamespace.js";
import type { RowsInput } from "../../namespace.js";
import { ROUTES, type Route } from "../wire/routes.js";

/** A request that was checked, on its way to the engine. */
export interface EngineCall {
  readonly namespace: DirectoryNamespace;
  readonly route: Route;
  /** Of the engine's form. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly data: RowsInput | undefined;
}

export interface Dialect {
  readonly routes: readonly Route[];
  /** Whether paths are encoded as forms are: a plus sign is a space, unless the body says that it is a plus sign. Else it is
   * one, unless the body says that it is a space. */
  readonly pathsAreForms: boolean;
  /** The JSON body as the interface has it. */
  readBody(route: Route, json: unknown): unknown;
  /** Makes the call and returns the engine's answer. */
  perform(call: EngineCall): Promise<unknown>;
  /** The form of an operation's answer. */
  answerOf(route: Route): Route["answer"];
  /** The HTTP status of an error, where it is another than the error's own. */
  statusOf(error: unknown): number | undefined;
}

/** Calls the operation. */
export function callEngine({ namespace, route, request, data }: EngineCall): Promise<unknown> {
  const operation = namespace[route.operation] as (request: object, data?: RowsInput) => Promise<unknown>;
  return operation.call(namespace, request, data);
}

/** The interface document's own. */
export const INTERFACE_DIALECT: Dialect = {
  routes: ROUTES,
  pathsAreForms: false,
  readBody: (_route, json) => json,
  perform: callEngine,
  answerOf: ({ answer }) => answer,
  statusOf: () => undefined,
};

/**
 * That of the namespace spec's client in Rust, which LanceDB's `connectNamespace("rest")` is made of. It encodes paths as
 * forms, and names itself nowhere: it is known by what it leaves out, and by its URLs.
 */
export const FORM_DIALECT: Dialect = { ...INTERFACE_DIALECT, pathsAreForms: true };

export const isFormClient = (headers: Headers, url: URL): boolean =>
  url.search.startsWith("?delimiter=") && headers.get("accept") === "*/*" && !headers.has("user-agent");
