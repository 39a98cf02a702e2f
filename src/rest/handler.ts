/**
 * The REST handler: a function from a fetch-style request to its answer, which never rejects. It gives each request an
 * id, lets the responder answer it, makes a problem of every error, and counts and logs the request once the answer has
 * been sent.
 */

import { performance } from "../async/timers.js";
import type { DirectoryNamespace } from "../DirectoryNamespace.js";
import { InvalidInputError } from "../errors.js";
import type { Principal } from "../namespace/request.js";
import { checkOptionMembers, isObject, shortly } from "../optionMembers.js";
import type { AuthOptions } from "./auth/auth.js";
import { type Dialect, FORM_DIALECT, INTERFACE_DIALECT, isFormClient } from "./dialects/dialect.js";
import { managedVersions } from "./dialects/managedVersions.js";
import { isRemoteClient, REMOTE_DIALECT } from "./dialects/remoteClient.js";
import { Counters, type RestCounters } from "./http/counters.js";
import { type OriginOptions, Origins } from "./http/origins.js";
import { checkLimits, MAX_MS, type RestLimits } from "./limits.js";
import { type Call, Responder } from "./responder.js";
import type { StorageOptionsHook } from "./storageOptions.js";
import { jsonAnswer, whenSent } from "./wire/answer.js";
import { mayNamePath, problemOf, refusalIn } from "./wire/problem.js";
import { nameMemberAsWire } from "./wire/request.js";

/** Log entry of a request that has ended. */
export interface RequestLogEntry {
  /** As in the answer's `x-request-id`. */
  readonly requestId: string;
  /** The HTTP method. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Absent if the path is not that of an operation. */
  readonly operation?: string;
  /** The HTTP status of the answer. */
  readonly status: number;
  /** Milliseconds until the last byte of the answer was handed over. */
  readonly durationMs: number;
  /** Absent if the request was refused before the caller was known. */
  readonly principal?: Principal;
  /** The error as it was thrown, with paths and causes that the client does not see. */
  readonly error?: unknown;
}

/** Options of {@link createRestHandler}. Without `auth` nobody may call. */
export interface RestHandlerOptions extends OriginOptions {
  /** Prefix of every path, for example `/lance`. Default: none. */
  readonly basePath?: string;
  /** Who may call. Absent: nobody. */
  readonly auth?: AuthOptions;
  /** Bounds of bodies, batches, requests and memory; see {@link RestLimits} for the defaults. */
  readonly limits?: RestLimits;
  /**
   * Whether clients of the namespace spec commit through this server (`version/create`) rather than write versions into
   * the directory themselves. Default false. This only changes what such clients are told. It opens or closes no route:
   * `authorize` does that.
   */
  readonly managedVersioning?: boolean;
  /**
   * Finds options with which clients open a table's files themselves, such as short-lived credentials of an object
   * store. It is called once `authorize` has allowed the call and the engine has carried it out: for `describeTable`,
   * `declareTable` and `createTable`, and for each table that `batchCommitTables` declares. What it returns is the
   * answer's `storage_options`, as it is; all values are texts. Of short-lived credentials, `expires_at_millis` says
   * when they expire. It is not called if the request has `vend_credentials: false`, nor for LanceDB's remote client
   * (`db://`), which opens no files. If it throws, the answer is 500 (503 for a `ServiceUnavailableError`) without its
   * text; a table that the call has made stays. An answer to `createTable`, `declareTable` or `batchCommitTables` has none if
   * the caller may not describe the table. Default: answers have no storage options.
   */
  readonly storageOptions?: StorageOptionsHook;
  /** Called for every request that has ended. Its errors are ignored, and nothing waits for it. */
  readonly log?: (entry: RequestLogEntry) => void;
}

const OPTION_NAMES: Readonly<Record<keyof RestHandlerOptions, true>> = {
  allowedHosts: true,
  allowedOrigins: true,
  basePath: true,
  auth: true,
  limits: true,
  managedVersioning: true,
  storageOptions: true,
  log: true,
};

/** Answers requests; never rejects. */
export interface RestHandler {
  (request: Request): Promise<Response>;
  /** The option's value, in the form that URLs have. */
  readonly basePath: string;
  /** Counts of all requests since the handler was made; live. */
  readonly counters: RestCounters;
  /**
   * Refuses new requests with 503, waits for those in progress, and aborts the remaining ones after the grace period.
   * Their last answers may still be on their way then: a server lets its connections end before it closes them. The
   * namespace stays open: the code that opened it closes it.
   * @param options `graceMs`: milliseconds, default 10 seconds
   * @throws InvalidInputError unless the grace is a number of at least 0
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const DEFAULT_GRACE_MS = 10_000;
/** A client's own id that is sent back. Only ASCII: hosts differ in how they encode other characters in headers. */
const REQUEST_ID = /^[ -~]+$/;

/**
 * Makes a handler that serves a namespace. Without `auth`, every request is refused.
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

/** The answer to `HEAD`: the answer to `GET` without its body. */
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
    // A refusal by the authenticator has its own challenge. `authorize` may also answer 401, to ask for another caller.
    ...(problem.status === 401 ? { "www-authenticate": challenge } : {}),
    ...refusalIn(error)?.headers,
  };
  return jsonAnswer(request, problem, problem.status, { headers });
}

function tell(log: RestHandlerOptions["log"], entry: RequestLogEntry): void {
  // A failing log must not fail a request that is done.
  const told = async (): Promise<unknown> => log?.(entry);
  told().catch(() => undefined);
}

function checkBasePath(given = ""): string {
  if (typeof given !== "string" || !/^(\/[^/?#\s]+)*\/?$/.test(given)) {
    throw new InvalidInputError('basePath: must be a path such as "/lance"');
  }
  // In the form that URLs have.
  return new URL(given, "http://localhost").pathname.replace(/\/$/, "");
}
