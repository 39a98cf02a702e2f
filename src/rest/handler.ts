/**
 * The REST handler: a function from a fetch-style request to its answer. What a request goes through: admission,
 * authentication, the route, its body, the engine, the answer; every error on the way becomes a problem.
 */

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
import { innerPath, RouteFinder } from "./wire/routeFinder.js";
import { ROUTES, type Route } from "./wire/routes.js";
import { toWire } from "./wire/wireNames.js";

/** Bounds of what a request may cost. */
export interface RestLimits {
  /** Bytes of a body of rows, which is never held as a whole; default 16 GiB. */
  readonly maxBodyBytes?: number;
  /** Bytes of one record batch of it, uncompressed, of its dictionaries, and of an IPC file; default 512 MiB. */
  readonly maxBatchBytes?: number;
  /** Rows of a body; default 2^30. Of columns of nulls alone a few hundred bytes have as many. */
  readonly maxRows?: number;
  /**
   * Bytes of a JSON body; default 4 MiB. Besides, it has at most 65,536 objects and arrays, 262,144 members and as many
   * commas.
   */
  readonly maxJsonBytes?: number;
  /**
   * Bytes of a JSON body whose sender is not known before it is read: the headers have no credentials, and the body's
   * `identity` may. Default 64 KiB.
   */
  readonly maxUnauthenticatedJsonBytes?: number;
  /** Milliseconds that are waited for all of such a body; default 5 seconds. */
  readonly unauthenticatedBodyMs?: number;
  /** Columns that a query may name, unless the table itself has more fields; default 4,096. */
  readonly maxColumns?: number;
  /** Bytes of the URL and all headers; default 32 KiB. */
  readonly maxHeaderBytes?: number;
  /**
   * Bytes of bodies that are held at once, uncompressed, those of all requests together; default 1 GiB. A batch that
   * alone needs more is taken when no other is there.
   */
  readonly maxBodyMemoryBytes?: number;
  /** Bytes of answers that are held at once, from the pages of rows to what its client has not taken; default 512 MiB. */
  readonly maxAnswerMemoryBytes?: number;
  /** Milliseconds that a request waits for such memory before it is refused with 503; default 10 seconds. */
  readonly memoryWaitMs?: number;
  /** Requests under way at once; more are refused with 503. Default 256. */
  readonly maxInFlight?: number;
  /**
   * Of these, requests without credentials, where `auth` knows any: while it is not known who calls, and all the way
   * where `anonymous` lets them in. More are refused with 503. Default: a quarter of `maxInFlight`.
   */
  readonly maxUnauthenticated?: number;
  /** Milliseconds a request may take, its answer included; default 10 minutes. */
  readonly requestTimeoutMs?: number;
  /** Milliseconds until the next piece of a body has to be there; default 30 seconds. */
  readonly bodyIdleMs?: number;
  /** Milliseconds until a client has to take the next piece of its answer; default 30 seconds. */
  readonly answerIdleMs?: number;
  /**
   * Bytes that a body has to bring for each second that is waited for it, once that has been for `bodyIdleMs` in all;
   * default 1,024.
   */
  readonly minBodyBytesPerSecond?: number;
}

/** A request that has ended, for a log. */
export interface RequestLogEntry {
  /** As in the answer's `x-request-id`. */
  readonly requestId: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Absent where the path is none of an operation. */
  readonly operation?: string;
  readonly status: number;
  /** Until the last byte of the answer was handed over. */
  readonly durationMs: number;
  /** Absent where the request was refused before that was known. */
  readonly principal?: Principal;
  /** What went wrong, as it was thrown: with paths and causes that the client is not told. */
  readonly error?: unknown;
}

export interface RestHandlerOptions extends OriginOptions {
  /** Stands in front of every path, for example `/lance`. Default: nothing. */
  readonly basePath?: string;
  /** Who may call. Absent: nobody. */
  readonly auth?: AuthOptions;
  readonly limits?: RestLimits;
  /**
   * Whether clients of the namespace spec shall commit through this server (`version/create`) rather than write
   * versions into the directory themselves. Default false. It changes what such clients are told, and opens or closes no
   * route: `authorize` does.
   */
  readonly managedVersioning?: boolean;
  /** Told of every request that has ended. What it throws is passed over, and nobody waits for it. */
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
  /** As of the options, in the form that URLs have. */
  readonly basePath: string;
  /** Of all requests since the handler was made; live. */
  readonly counters: RestCounters;
  /**
   * Refuses new requests with 503, waits for those under way, and aborts what is left of them after the grace. Their
   * last answers may still be on their way then: a server lets its connections end before it closes them. The namespace
   * stays open: whoever opened it closes it.
   * @param options `graceMs`: milliseconds, default 10 seconds
   * @throws InvalidInputError for a grace that is no time
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
/** Bytes that one answer may hold at once while there are no others, however little they have together. */
const MAX_ANSWER_BYTES = 2 ** 30;
/** Bytes of a batch of rows on the wire, about. */
const ANSWER_BATCH_BYTES = 2 ** 20;
const DEFAULT_GRACE_MS = 10_000;
/** Longest time that a timer takes. */
const MAX_MS = 2 ** 31 - 1;
const ROW_TYPES = [ARROW_STREAM, ARROW_FILE, "application/octet-stream"];
const OPENAPI_PATH = "/openapi.json";
/** A client's own id that is sent back: hosts differ in how they encode more than ASCII in headers. */
const REQUEST_ID = /^[ -~]+$/;

/** What is found out about a request on its way. */
interface Call {
  readonly request: Request;
  readonly url: URL;
  readonly dialect: Dialect;
  ticket?: Ticket;
  /** Let go of when the answer was sent. */
  readonly memory: BudgetShare[];
  route?: Route;
  principal?: Principal;
}

/**
 * Makes a handler that serves a namespace. Without `auth`, every request is refused.
 * @throws InvalidInputError for options that cannot be meant
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
  // What a body needs at once `maxBatchBytes` bounds, however full of others the server is.
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
    // Nothing of a request is looked at before it is known who calls, unless only its body can tell.
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
          // What is wrong in a body is for those who may call. That it is too large or too slow is told to anybody: it may
          // have said who calls.
          if (!isUnread(refusal)) call.principal ??= await authenticator.byIdentity(undefined, signal);
          throw refusal;
        })
      : undefined;
    const identity = identityOf(request.headers, json);
    call.principal ??= await authenticator.byIdentity(identity, signal);
    const isAnonymous = call.principal.method === "anonymous";
    if (!isAnonymous) ticket.ofCaller();
    const answerMemory = answers.open(signal, isStranger && isAnonymous);
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

/** Whether a body was not read to its end, so that nobody knows what it says. */
const isUnread = (error: unknown): boolean => {
  const status = refusalIn(error)?.status;
  return status === 413 || status === 408 || status === 503;
};

/** The answer to `HEAD`: that to `GET`, but for the body. */
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

/** What the engine is told of the limits. */
function engineBounds(route: Route, { maxBatchBytes, maxRows, maxColumns }: Required<RestLimits>): object {
  if (route.body === "arrow") return { maxBatchBytes, maxRows };
  return route.answer === "rows" ? { maxColumns, batchBytes: ANSWER_BATCH_BYTES } : {};
}

/** Strangers get a half, so that something is left for others. */
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
    // Of its own only where who calls was found out; whoever authorizes may want somebody else.
    ...(problem.status === 401 ? { "www-authenticate": challenge } : {}),
    ...refusalIn(error)?.headers,
  };
  return jsonAnswer(request, problem, problem.status, { headers });
}

function tell(log: RestHandlerOptions["log"], entry: RequestLogEntry): void {
  // A log that fails is no reason to fail a request that is done.
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
  // As URLs have it.
  return new URL(given, "http://localhost").pathname.replace(/\/$/, "");
}
