/**
 * The REST handler: a function from a fetch-style request to its answer, which never rejects. It gives each
 * request an id, passes it to the responder, and turns every error into a problem. After the answer is sent,
 * it counts and logs the request.
 */

import { performance } from "../async/timers.js";
import type { DirectoryNamespace } from "../DirectoryNamespace.js";
import { InvalidInputError } from "../errors.js";
import type { Principal } from "../namespace/request.js";
import { recordOf } from "../operationTable.js";
import { checkOptionMembers, isObject, shortly } from "../optionMembers.js";
import type { AuthOptions } from "./auth/auth.js";
import {
  type Dialect,
  FORM_DIALECT,
  INTERFACE_DIALECT,
  isFormClient,
  managedVersions,
} from "./dialects/dialect.js";
import { isRemoteClient, REMOTE_DIALECT } from "./dialects/remoteClient.js";
import { Counters, type RestCounters } from "./http/counters.js";
import { type OriginOptions, Origins } from "./http/origins.js";
import { checkLimits, MAX_MS, type RestLimits } from "./limits.js";
import { type Call, Responder } from "./responder.js";
import type { StorageOptionsHook } from "./storageOptions.js";
import { jsonAnswer, whenSent } from "./wire/answer.js";
import { mayNamePath, problemOf, refusalIn } from "./wire/problem.js";
import { nameMemberAsWire } from "./wire/request.js";

/** Log entry of a finished request. */
export interface RequestLogEntry {
  /** Id of the request, as in the answer's `x-request-id`. */
  readonly requestId: string;
  /** HTTP method. */
  readonly method: string;
  /** Path of the request without the query. */
  readonly path: string;
  /** Name of the operation. Absent if the path has no operation. */
  readonly operation?: string;
  /** HTTP status of the answer. */
  readonly status: number;
  /** Milliseconds until the last byte of the answer was taken. */
  readonly durationMs: number;
  /** The caller. Absent if the request was refused before the caller was identified. */
  readonly principal?: Principal;
  /** The thrown error, with paths and causes that the client does not see. */
  readonly error?: unknown;
}

/** Options of {@link createRestHandler}. Without `auth`, every request is refused. */
export interface RestHandlerOptions extends OriginOptions {
  /** Prefix of every path, such as `/lance`. Default: none. */
  readonly basePath?: string;
  /** Accepted callers. Default: none. */
  readonly auth?: AuthOptions;
  /** Limits on bodies, batches, requests and memory. Defaults: see {@link RestLimits}. */
  readonly limits?: RestLimits;
  /**
   * True: tells clients of the namespace spec to commit through this server (`version/create`). False: tells
   * them to write versions into the directory themselves. It opens and closes no route; `authorize` does
   * that. Default: false.
   */
  readonly managedVersioning?: boolean;
  /**
   * Returns the options with which clients open a table's files themselves, such as short-lived credentials
   * of an object store. All values are strings; `expires_at_millis` is the expiry of credentials. The answer
   * has them as `storage_options`.
   *
   * The handler calls it after `authorize` has allowed the call and the engine has carried it out: for
   * `describeTable`, `declareTable`, `createTable`, and each table that `batchCommitTables` declares. It does
   * not call it for requests with `vend_credentials: false`, nor for LanceDB's remote client (`db://`), which
   * opens no files. Answers to callers that may not describe the table have no options.
   *
   * If it throws, the answer is 500 (503 for a `ServiceUnavailableError`) without the message; a created
   * table stays. Default: answers have no storage options.
   */
  readonly storageOptions?: StorageOptionsHook;
  /** Callback for each finished request. Its errors are ignored, and nothing waits for it. */
  readonly log?: (entry: RequestLogEntry) => void;
}

const OPTION_NAMES: Readonly<Record<keyof RestHandlerOptions, true>> = recordOf(
  true,
  "allowedHosts allowedOrigins basePath auth limits managedVersioning storageOptions log",
);

/** A REST handler. It never rejects. */
export interface RestHandler {
  (request: Request): Promise<Response>;
  /** Value of the option in the form of a URL path. */
  readonly basePath: string;
  /** Current counts of all requests since the handler was created. */
  readonly counters: RestCounters;
  /**
   * Refuses new requests with 503, waits for requests in progress, and aborts the remaining ones after the
   * grace period. Their last answers may still be in transit, so a server lets its connections end before it
   * closes them. The namespace stays open; its owner closes it.
   * @param options `graceMs`: grace period in milliseconds, ≥ 0. Default: 10 seconds
   * @throws InvalidInputError for an invalid grace period
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const DEFAULT_GRACE_MS = 10_000;
/**
 * Request ids of clients that the answer repeats. Only ASCII, because hosts encode other characters
 * differently.
 */
const REQUEST_ID = /^[ -~]+$/;

/**
 * Creates a handler that serves a namespace. Without `auth`, it refuses every request.
 * @throws InvalidInputError for invalid options
 */
export function createRestHandler(
  namespace: DirectoryNamespace,
  options: RestHandlerOptions = {},
): RestHandler {
  if (!isObject(namespace) || typeof namespace.queryTable !== "function") {
    throw new InvalidInputError(`namespace: must be a DirectoryNamespace, not ${shortly(namespace)}`);
  }
  checkOptionMembers("options", options, Object.keys(OPTION_NAMES));
  const limits = checkLimits(options.limits);
  const basePath = checkBasePath(options.basePath);
  const { auth, storageOptions } = options;
  if (storageOptions !== undefined && typeof storageOptions !== "function") {
    throw new InvalidInputError(`storageOptions: must be a function, not ${shortly(storageOptions)}`);
  }
  const origins = new Origins(options, auth?.anonymous === true);
  const responder = new Responder(namespace, { basePath, auth, origins, limits, storageOptions });
  const { admission, authenticator } = responder;
  const counters = new Counters(() => admission.inFlight);

  async function handle(request: Request): Promise<Response> {
    const started = performance.now();
    const ownId = request.headers.get("x-request-id")?.slice(0, 100) ?? "";
    const requestId = REQUEST_ID.test(ownId) ? ownId : crypto.randomUUID();
    const url = new URL(request.url);
    const call: Call = { request, url, dialect: dialectOf(request.headers, url, options), memory: [] };
    let error: unknown;
    const whole = await responder.respond(call).catch(async (thrown: unknown) => {
      error = thrown;
      const roots = mayNamePath(thrown) ? await namespace.rootPaths() : [];
      return problemAnswer(call, thrown, roots, authenticator.challenge());
    });
    const response = request.method === "HEAD" ? withoutBody(whole) : whole;
    response.headers.set("x-request-id", requestId);
    for (const [name, value] of Object.entries(call.dialect.headers)) response.headers.set(name, value);
    origins.describe(request, response.headers);
    const sending = { signal: call.ticket?.signal, idleMs: limits.answerIdleMs };
    return whenSent(response, sending, (failure) => {
      for (const share of call.memory) share.close();
      call.ticket?.release();
      error ??= failure;
      const { status } = response;
      const durationMs = performance.now() - started;
      counters.add(status, call.route?.operation, durationMs);
      tell(options.log, {
        requestId,
        method: request.method,
        path: url.pathname,
        status,
        durationMs,
        ...(call.route === undefined ? {} : { operation: call.route.operation }),
        ...(call.principal === undefined ? {} : { principal: call.principal }),
        ...(error === undefined ? {} : { error }),
      });
    });
  }

  const close: RestHandler["close"] = async ({ graceMs = DEFAULT_GRACE_MS } = {}) => {
    if (typeof graceMs !== "number" || !(graceMs >= 0)) {
      throw new InvalidInputError("graceMs: must be a number of milliseconds");
    }
    await admission.stop(Math.min(graceMs, MAX_MS));
  };
  return Object.assign(handle, { basePath, counters, close });
}

function dialectOf(headers: Headers, url: URL, { managedVersioning = false }: RestHandlerOptions): Dialect {
  if (isRemoteClient(headers, url)) return REMOTE_DIALECT;
  const dialect = isFormClient(headers, url) ? FORM_DIALECT : INTERFACE_DIALECT;
  return managedVersioning ? managedVersions(dialect) : dialect;
}

/** Returns the answer to `HEAD`: the answer to `GET` without its body. */
function withoutBody(answer: Response): Response {
  answer.body?.cancel().catch(() => undefined);
  return new Response(null, answer);
}

function problemAnswer(
  { request, url, dialect, route }: Call,
  error: unknown,
  roots: readonly string[],
  challenge: string,
): Response {
  const inTheirWords = (text: string) => (route === undefined ? text : nameMemberAsWire(route, text));
  const problem = problemOf(error, {
    instance: url.pathname,
    roots,
    status: dialect.statusOf(error),
    inTheirWords,
  });
  const headers = {
    // A refusal by the authenticator has its own challenge. `authorize` may also answer 401 to request
    // another caller.
    ...(problem.status === 401 ? { "www-authenticate": challenge } : {}),
    ...refusalIn(error)?.headers,
  };
  return jsonAnswer(request, problem, problem.status, { headers });
}

function tell(log: RestHandlerOptions["log"], entry: RequestLogEntry): void {
  // A failing log must not fail a finished request.
  const logEntry = async (): Promise<unknown> => log?.(entry);
  logEntry().catch(() => undefined);
}

function checkBasePath(basePath = ""): string {
  if (typeof basePath !== "string" || !/^(\/[^/?#\s]+)*\/?$/.test(basePath)) {
    throw new InvalidInputError('basePath: must be a path such as "/lance"');
  }
  // Form of a URL path.
  return new URL(basePath, "http://localhost").pathname.replace(/\/$/, "");
}
