/**
 * The REST handler: a function from a fetch-style request to its answer. A request passes through admission,
 * authentication, the route, its body, the engine and the answer; every error on the way becomes a problem.
 */

import { Limit } from "../async/parallel.js";
import type { DirectoryNamespace } from "../DirectoryNamespace.js";
import { InvalidInputError } from "../errors.js";
import type { Principal, QueryResult } from "../namespace.js";
import { checkOptionMembers } from "../optionMembers.js";
import { Authenticator, type AuthOptions } from "./auth/auth.js";
import { type Dialect, FORM_DIALECT, INTERFACE_DIALECT, isFormClient } from "./dialects/dialect.js";
import { managedVersions } from "./dialects/managedVersions.js";
import { isRemoteClient, REMOTE_DIALECT } from "./dialects/remoteClient.js";
import { Admission, type Ticket } from "./http/admission.js";
import { type BodyBounds, readJson, readPieces, refuseMediaType } from "./http/body.js";
import { type BudgetShare, MemoryBudget } from "./http/budget.js";
import { Counters, type RestCounters } from "./http/counters.js";
import { type OriginOptions, Origins } from "./http/origins.js";
import { jsonAnswer, rowsAnswer, whenSent } from "./wire/answer.js";
import { ARROW_FILE, ARROW_STREAM } from "./wire/negotiation.js";
import { openApiDocument } from "./wire/openapi.js";
import { mayNamePath, problemOf, Refusal, refusalIn } from "./wire/problem.js";
import { engineRequest, identityOf, nameMemberAsWire } from "./wire/request.js";
import type { Route } from "./wire/route.js";
import { innerPath, RouteFinder } from "./wire/routeFinder.js";
import { ROUTES } from "./wire/routes.js";
import { toWire } from "./wire/wireNames.js";

/** Bounds on the cost of requests. */
export interface RestLimits {
  /** Maximum bytes of a body of rows, which is never held as a whole; default 16 GiB. */
  readonly maxBodyBytes?: number;
  /**
   * Maximum bytes of one record batch of such a body, uncompressed, of its dictionaries, and of an IPC file; default
   * 512 MiB.
   */
  readonly maxBatchBytes?: number;
  /** Maximum rows of a body; default 2^30. A few hundred bytes have as many rows if all columns are nulls. */
  readonly maxRows?: number;
  /**
   * Maximum bytes of a JSON body; default 4 MiB. It also has at most 65,536 objects and arrays, 262,144 members and as
   * many commas.
   */
  readonly maxJsonBytes?: number;
  /**
   * Maximum bytes of a JSON body whose sender is unknown until it is read: the headers have no credentials, but the
   * body's `identity` may. Default 64 KiB.
   */
  readonly maxUnauthenticatedJsonBytes?: number;
  /** Total milliseconds to wait for such a body; default 5 seconds. */
  readonly unauthenticatedBodyMs?: number;
  /** Maximum columns that a query may name; a table with more fields allows as many as it has. Default 4,096. */
  readonly maxColumns?: number;
  /** Maximum bytes of the URL and all headers; default 32 KiB. */
  readonly maxHeaderBytes?: number;
  /**
   * Maximum bytes of bodies held at once, uncompressed, by all requests together; default 1 GiB. A batch that needs
   * more by itself is accepted when there is no other.
   */
  readonly maxBodyMemoryBytes?: number;
  /**
   * Maximum bytes of answers held at once by all requests together, from the pages of rows to what the client has not
   * taken; default 512 MiB.
   */
  readonly maxAnswerMemoryBytes?: number;
  /** Milliseconds that a request waits for such memory before it is refused with 503; default 10 seconds. */
  readonly memoryWaitMs?: number;
  /** Maximum requests in progress at once; more are refused with 503. Default 256. */
  readonly maxInFlight?: number;
  /**
   * Maximum requests among these without credentials in their headers, if `auth` accepts any credentials. They count
   * until the caller is known, or to their end if `anonymous` lets them in. More are refused with 503. Default: a
   * quarter of `maxInFlight`.
   */
  readonly maxUnauthenticated?: number;
  /** Milliseconds that a request may take, including its answer; default 10 minutes. */
  readonly requestTimeoutMs?: number;
  /** Milliseconds within which the next piece of a body must arrive; default 30 seconds. */
  readonly bodyIdleMs?: number;
  /** Milliseconds within which a client must take the next piece of its answer; default 30 seconds. */
  readonly answerIdleMs?: number;
  /**
   * Minimum bytes that a body must deliver per second of waiting, once the wait exceeds `bodyIdleMs` in total; default
   * 1,024.
   */
  readonly minBodyBytesPerSecond?: number;
}

/** Log entry of a request that has ended. */
export interface RequestLogEntry {
  /** As in the answer's `x-request-id`. */
  readonly requestId: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Absent if the path is not that of an operation. */
  readonly operation?: string;
  readonly status: number;
  /** Milliseconds until the last byte of the answer was handed over. */
  readonly durationMs: number;
  /** Absent if the request was refused before the caller was known. */
  readonly principal?: Principal;
  /** The error as it was thrown, with paths and causes that the client does not see. */
  readonly error?: unknown;
}

export interface RestHandlerOptions extends OriginOptions {
  /** Prefix of every path, for example `/lance`. Default: none. */
  readonly basePath?: string;
  /** Who may call. Absent: nobody. */
  readonly auth?: AuthOptions;
  readonly limits?: RestLimits;
  /**
   * Whether clients of the namespace spec commit through this server (`version/create`) rather than write versions into
   * the directory themselves. Default false. This only changes what such clients are told. It opens or closes no route:
   * `authorize` does that.
   */
  readonly managedVersioning?: boolean;
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

const DEFAULT_LIMITS: Required<RestLimits> = {
  maxBodyBytes: 2 ** 34,
  maxBatchBytes: 2 ** 29,
  maxRows: 2 ** 30,
  maxJsonBytes: 2 ** 22,
  maxUnauthenticatedJsonBytes: 2 ** 16,
  unauthenticatedBodyMs: 5000,
  maxColumns: 4096,
  maxHeaderBytes: 2 ** 15,
  maxBodyMemoryBytes: 2 ** 30,
  maxAnswerMemoryBytes: 2 ** 29,
  memoryWaitMs: 10_000,
  maxInFlight: 256,
  maxUnauthenticated: 64,
  requestTimeoutMs: 600_000,
  bodyIdleMs: 30_000,
  answerIdleMs: 30_000,
  minBodyBytesPerSecond: 1024,
};
/** Bytes that one answer may hold at once while there are no others, even if the bound for all answers is lower. */
const MAX_ANSWER_BYTES = 2 ** 30;
/** Approximate bytes of a batch of rows on the wire. */
const ANSWER_BATCH_BYTES = 2 ** 20;
/**
 * Queries of callers without credentials that may be planned, and their first batch read, at once. Others have to find
 * the thread free now and then, however many of these there are.
 */
const MAX_STRANGERS_STARTING = 4;
const DEFAULT_GRACE_MS = 10_000;
/** Longest time that a timer accepts. */
const MAX_MS = 2 ** 31 - 1;
const ROW_TYPES = [ARROW_STREAM, ARROW_FILE, "application/octet-stream"];
const OPENAPI_PATH = "/openapi.json";
/** A client's own id that is sent back. Only ASCII: hosts differ in how they encode other characters in headers. */
const REQUEST_ID = /^[ -~]+$/;

/** What is known about a request while it is handled. */
interface Call {
  readonly request: Request;
  readonly url: URL;
  readonly dialect: Dialect;
  ticket?: Ticket;
  /** Released when the answer was sent. */
  readonly memory: BudgetShare[];
  route?: Route;
  principal?: Principal;
}

/**
 * Makes a handler that serves a namespace. Without `auth`, every request is refused.
 * @throws InvalidInputError for invalid options
 */
export function createRestHandler(
  namespace: DirectoryNamespace,
  options: RestHandlerOptions = {},
): RestHandler {
  checkOptionMembers("options", options, Object.keys(OPTION_NAMES));
  const limits = checkLimits(options.limits);
  const basePath = checkBasePath(options.basePath);
  const authenticator = new Authenticator(options.auth);
  const origins = new Origins(options, options.auth?.anonymous === true);
  const finders = new Map<Dialect["routes"], RouteFinder>();
  const finderOf = ({ routes }: Dialect): RouteFinder => {
    const finder = finders.get(routes) ?? new RouteFinder(routes);
    finders.set(routes, finder);
    return finder;
  };
  let openApi: object | undefined;
  const admission = new Admission(limits);
  const strangersStarting = new Limit(MAX_STRANGERS_STARTING);
  // No bound on a single body here: `maxBatchBytes` bounds what it needs at once, regardless of other requests.
  const bodies = budgetOf(limits.maxBodyMemoryBytes, Number.POSITIVE_INFINITY, limits);
  const answers = budgetOf(
    limits.maxAnswerMemoryBytes,
    Math.max(MAX_ANSWER_BYTES, limits.maxAnswerMemoryBytes),
    limits,
  );
  const counters = new Counters(() => admission.inFlight);

  async function respond(call: Call): Promise<Response> {
    const { request, url, dialect } = call;
    refuseLongHeader(request, limits.maxHeaderBytes);
    origins.check(request);
    const preflight = origins.preflight(request);
    if (preflight !== null) return preflight;
    const ticket = (call.ticket = admission.enter(request.signal));
    const { signal } = ticket;
    // The caller is identified before anything of the request is processed, unless only the body can identify it.
    call.principal = (await authenticator.byHeaders(request.headers, signal)) ?? undefined;
    const isStranger = call.principal === undefined;
    if (isStranger) ticket.ofStranger();
    const path = innerPath(url.pathname, basePath);
    const method = request.method === "HEAD" ? "GET" : request.method;
    if (path === OPENAPI_PATH && method === "GET") {
      call.principal ??= await authenticator.byIdentity(undefined, signal);
      openApi ??= openApiDocument(ROUTES, basePath);
      return jsonAnswer(request, openApi, 200);
    }
    const found = finderOf(dialect).find(method, path, url.searchParams.get("delimiter"));
    if (found instanceof Refusal) {
      call.principal ??= await authenticator.byIdentity(undefined, signal);
      throw found;
    }
    const { route, parameters } = found;
    call.route = route;
    const bodyMemory = bodies.open(signal, isStranger);
    call.memory.push(bodyMemory);
    const takesRows = route.body === "arrow";
    const readsJson = !takesRows && method !== "GET";
    const jsonTerms = { ...jsonBounds(limits, isStranger, signal), memory: bodyMemory };
    const json = readsJson
      ? await readJson(request, jsonTerms).catch(async (refusal: unknown) => {
          // Only authenticated callers learn what is wrong in a body. Anybody learns that a body is too large or too
          // slow, because the unread part may have identified the caller.
          if (!isUnread(refusal)) call.principal ??= await authenticator.byIdentity(undefined, signal);
          throw refusal;
        })
      : undefined;
    const identity = identityOf(request.headers, json);
    call.principal ??= await authenticator.byIdentity(identity, signal);
    const isAnonymous = call.principal.method === "anonymous";
    if (!isAnonymous) ticket.ofCaller();
    const staysStranger = isStranger && isAnonymous;
    const answerMemory = answers.open(signal, staysStranger);
    call.memory.push(answerMemory);
    if (takesRows) refuseMediaType(request, ROW_TYPES);
    const asked = engineRequest({
      route,
      parameters,
      method,
      query: url.searchParams,
      headers: request.headers,
      json: dialect.readBody(route, json),
      pathIsForm: dialect.pathsAreForms,
    });
    const begin = async (): Promise<Response> => {
      const result = await dialect.perform({
        namespace,
        route,
        request: {
          ...asked,
          identity,
          principal: call.principal,
          signal,
          ...engineBounds(route, limits),
          ...(takesRows ? { memory: bodyMemory } : route.answer === "rows" ? { memory: answerMemory } : {}),
        },
        data: takesRows ? readPieces(request, rowBounds(limits, signal)) : undefined,
      });
      return answer(request, route.status, dialect.answerOf(route), result, answerMemory);
    };
    return staysStranger && route.answer === "rows" ? strangersStarting.run(begin) : begin();
  }

  async function handle(request: Request): Promise<Response> {
    const started = performance.now();
    const ownId = request.headers.get("x-request-id")?.slice(0, 100) ?? "";
    const requestId = REQUEST_ID.test(ownId) ? ownId : crypto.randomUUID();
    const url = new URL(request.url);
    const call: Call = { request, url, dialect: dialectOf(request.headers, url, options), memory: [] };
    let error: unknown;
    const whole = await respond(call).catch(async (thrown: unknown) => {
      error = thrown;
      const roots = mayNamePath(thrown) ? await namespace.rootPaths() : [];
      return problemAnswer(call, thrown, roots, authenticator.challenge());
    });
    const response = request.method === "HEAD" ? withoutBody(whole) : whole;
    response.headers.set("x-request-id", requestId);
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
  if (isRemoteClient(headers)) return REMOTE_DIALECT;
  const dialect = isFormClient(headers, url) ? FORM_DIALECT : INTERFACE_DIALECT;
  return managedVersioning ? managedVersions(dialect) : dialect;
}

/** Whether a body was not read to its end, so that its content is unknown. */
const isUnread = (error: unknown): boolean => {
  const status = refusalIn(error)?.status;
  return status === 413 || status === 408 || status === 503;
};

/** The answer to `HEAD`: the answer to `GET` without its body. */
function withoutBody(answer: Response): Response {
  answer.body?.cancel().catch(() => undefined);
  return new Response(null, answer);
}

function rowBounds(limits: Required<RestLimits>, signal: AbortSignal): BodyBounds {
  const { maxBodyBytes, bodyIdleMs, minBodyBytesPerSecond } = limits;
  const bytesPerSecond = minBodyBytesPerSecond;
  return { maxBytes: maxBodyBytes, idleMs: bodyIdleMs, waitMs: bodyIdleMs, bytesPerSecond, signal };
}

function jsonBounds(limits: Required<RestLimits>, ofStranger: boolean, signal: AbortSignal): BodyBounds {
  const bounds = { ...rowBounds(limits, signal), maxBytes: limits.maxJsonBytes };
  if (!ofStranger) return bounds;
  const maxBytes = Math.min(limits.maxUnauthenticatedJsonBytes, limits.maxJsonBytes);
  return {
    ...bounds,
    maxBytes,
    waitMs: limits.unauthenticatedBodyMs,
    bytesPerSecond: Number.POSITIVE_INFINITY,
  };
}

/** The limits that are passed to the engine. */
function engineBounds(route: Route, { maxBatchBytes, maxRows, maxColumns }: Required<RestLimits>): object {
  if (route.body === "arrow") return { maxBatchBytes, maxRows };
  return route.answer === "rows" ? { maxColumns, batchBytes: ANSWER_BATCH_BYTES } : {};
}

/** Requests without credentials get half of it, so that something is left for others. */
const budgetOf = (
  maxBytes: number,
  maxAloneBytes: number,
  { memoryWaitMs }: Required<RestLimits>,
): MemoryBudget =>
  new MemoryBudget({ maxBytes, maxAloneBytes, maxStrangerBytes: maxBytes / 2, waitMs: memoryWaitMs });

function answer(
  request: Request,
  status: number,
  form: Route["answer"],
  result: unknown,
  memory: BudgetShare,
): Response | Promise<Response> {
  if (form === "nothing") return new Response(null, { status, headers: { "content-length": "0" } });
  if (form === "rows") return rowsAnswer(request, result as QueryResult);
  if ("bare" in form) return jsonAnswer(request, result, status, { memory });
  if ("member" in form) {
    const value = (result as Readonly<Record<string, unknown>>)[form.member];
    return jsonAnswer(request, toWire(form.schema, value), status, { memory });
  }
  return jsonAnswer(request, toWire(form, result), status, { memory });
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

// ------------------------------------------------------------------------------------------------ checks

function refuseLongHeader(request: Request, maxBytes: number): void {
  let bytes = request.url.length;
  request.headers.forEach((value, name) => {
    bytes += name.length + value.length;
  });
  if (bytes > maxBytes) throw new Refusal(431, "InvalidInput", `the header has more than ${maxBytes} bytes`);
}

function checkLimits(given: RestLimits = {}): Required<RestLimits> {
  const limits: Record<string, number> = { ...DEFAULT_LIMITS };
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(limits, name)) throw new InvalidInputError(`limits.${name}: there is no such limit`);
    if (value === undefined) continue;
    const most = name.endsWith("Ms") ? MAX_MS : Number.MAX_SAFE_INTEGER;
    if (!Number.isSafeInteger(value) || value < 1 || value > most) {
      throw new InvalidInputError(`limits.${name}: must be an integer from 1 to ${most}`);
    }
    limits[name] = value;
  }
  if (given.maxUnauthenticated === undefined) limits.maxUnauthenticated = Math.ceil(limits.maxInFlight / 4);
  return limits as unknown as Required<RestLimits>;
}

function checkBasePath(given = ""): string {
  if (typeof given !== "string" || !/^(\/[^/?#\s]+)*\/?$/.test(given)) {
    throw new InvalidInputError('basePath: must be a path such as "/lance"');
  }
  // In the form that URLs have.
  return new URL(given, "http://localhost").pathname.replace(/\/$/, "");
}
