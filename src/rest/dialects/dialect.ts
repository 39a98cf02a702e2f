/**
 * Dialects: deviations of clients from the interface. A handler speaks one dialect per request. This file has
 * the interface's dialect and its variants; the other dialect has its own file.
 */

import type { DirectoryNamespace } from "../../DirectoryNamespace.js";
import type { ErrorType } from "../../errors.js";
import type { Job, ListJobsResponse } from "../../namespace/jobs.js";
import type { RowsInput } from "../../namespace/rows.js";
import type { OperationName } from "../../operationTable.js";
import { failureText } from "../wire/problem.js";
import type { Route } from "../wire/route.js";
import { ROUTES } from "../wire/routes.js";

/** A checked request for the engine. */
export interface EngineCall {
  readonly namespace: DirectoryNamespace;
  readonly route: Route;
  /** Request in the engine's form. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly data: RowsInput | undefined;
}

export interface Dialect {
  readonly routes: readonly Route[];
  /**
   * True if paths are form-encoded: a plus sign is a space, unless the body contradicts. False: a plus sign
   * is itself, unless the body contradicts.
   */
  readonly pathsAreForms: boolean;
  /** True if clients open the files of tables themselves and need storage options. */
  readonly opensFiles: boolean;
  /** True if clients that accept `application/json` want rows as JSON. */
  takesJsonRows(headers: Headers): boolean;
  /** Returns the JSON body in the interface's form. */
  readBody(route: Route, json: unknown): unknown;
  /** Makes the call and returns the engine's answer. */
  perform(call: EngineCall): Promise<unknown>;
  /** Returns the form of an operation's answer. */
  answerOf(route: Route): Route["answer"];
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the HTTP status of an error if it differs from the error's own. */
  statusOf(error: unknown): number | undefined;
}

/** Calls the operation. */
export async function callEngine({ namespace, route, request, data }: EngineCall): Promise<unknown> {
  const operation = namespace[route.operation] as (request: object, data?: RowsInput) => Promise<unknown>;
  return withoutSecrets(namespace, route.operation, await operation.call(namespace, request, data));
}

/** Returns the answer of an operation without details of jobs that a client must not learn. */
async function withoutSecrets(
  namespace: DirectoryNamespace,
  operation: OperationName,
  answer: unknown,
): Promise<unknown> {
  switch (operation) {
    case "listJobs": {
      const { jobs } = answer as ListJobsResponse;
      const roots = await namespace.rootPaths();
      return { jobs: jobs.map((job) => shown(job, roots)) };
    }
    case "describeJob":
    case "cancelJob":
    case "waitForJob":
      return shown(answer as Job, await namespace.rootPaths());
    default:
      return answer;
  }
}

function shown(job: Job, roots: readonly string[]): Job {
  const { error } = job;
  if (error === undefined) return job;
  return { ...job, error: { ...error, message: failureText(error.type as ErrorType, error.message, roots) } };
}

/** Name of clients that were generated from the namespace spec. */
const GENERATED_AGENT = /^OpenAPI-Generator\//i;

/** True for a generated client. The one in Python accepts only `application/json` and reads rows as Arrow. */
export const isGenerated = (headers: Headers): boolean =>
  GENERATED_AGENT.test(headers.get("user-agent") ?? "");

/** The dialect of the interface document. */
export const INTERFACE_DIALECT: Dialect = {
  routes: ROUTES,
  pathsAreForms: false,
  opensFiles: true,
  takesJsonRows: (headers) => !isGenerated(headers),
  readBody: (_route, json) => json,
  perform: callEngine,
  answerOf: ({ answer }) => answer,
  headers: {},
  statusOf: () => undefined,
};

/**
 * The dialect of the namespace spec's client in Rust, on which LanceDB's `connectNamespace("rest")` is based.
 * It form-encodes paths and sends no name, so it is recognised by missing headers and by its URLs.
 */
export const FORM_DIALECT: Dialect = { ...INTERFACE_DIALECT, pathsAreForms: true };

export const isFormClient = (headers: Headers, url: URL): boolean =>
  url.search.startsWith("?delimiter=") && headers.get("accept") === "*/*" && !headers.has("user-agent");

const TELLING: ReadonlySet<Route["operation"]> = new Set(["declareTable", "describeTable"]);
const OF_VERSIONS: ReadonlySet<Route["operation"]> = new Set([
  "createTableVersion",
  "describeTableVersion",
  "listTableVersions",
]);

/** Returns a dialect whose clients commit through the server, even to branches not registered yet. */
export function managedVersions(dialect: Dialect): Dialect {
  return { ...dialect, perform: (call) => performManaged(call, dialect) };
}

async function performManaged(call: EngineCall, dialect: Dialect): Promise<unknown> {
  const { operation } = call.route;
  if (OF_VERSIONS.has(operation)) {
    return callEngine({ ...call, request: { ...call.request, unregisteredBranch: true } });
  }
  const answer = await dialect.perform(call);
  return TELLING.has(operation) ? { ...(answer as object), managedVersioning: true } : answer;
}
