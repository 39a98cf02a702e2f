/**
 * Answers the requests of one handler. A request passes through admission, authentication, the route, its
 * body, the engine and the answer. An error on the way is thrown, and the handler turns it into a problem.
 *
 * The caller is identified before anything of the request is processed, unless only the body can identify it.
 */

import { markFromJson } from "../arrow/exchange/jsonGroups.js";
import { lazyModule } from "../async/lazy.js";
import { Limit } from "../async/parallel.js";
import type { DirectoryNamespace } from "../DirectoryNamespace.js";
import type { QueryResult } from "../namespace/queries.js";
import type { Principal } from "../namespace/request.js";
import type { RowsInput } from "../namespace/rows.js";
import type { TableVersion } from "../namespace/versions.js";
import { Authenticator, type AuthOptions } from "./auth/auth.js";
import type { Dialect } from "./dialects/dialect.js";
import { Admission, type Ticket } from "./http/admission.js";
import { readJson, readPieces, refuseMediaType } from "./http/body.js";
import type { BudgetShare, MemoryBudget } from "./http/budget.js";
import type { Origins } from "./http/origins.js";
import { readJsonRows } from "./http/readJsonRows.js";
import { answerBudget, bodyBudget, engineBounds, jsonBounds, type RestLimits, rowBounds } from "./limits.js";
import { type StorageOptionsHook, withStorageOptions } from "./storageOptions.js";
import { jsonAnswer, type RowsWish, rowsAnswer } from "./wire/answer.js";
import { eventsAnswer, lastEventId } from "./wire/events.js";
import { ARROW_FILE, ARROW_STREAM, JSON_LINES, JSON_TYPE, mediaTypeOf } from "./wire/mediaTypes.js";
import { mayNamePath, problemOf, Refusal, refusalIn } from "./wire/problem.js";
import { callerIdentity, engineRequest } from "./wire/request.js";
import type { Route } from "./wire/route.js";
import { type FoundRoute, innerPath, RouteFinder } from "./wire/routeFinder.js";
import { ROUTES } from "./wire/routes.js";
import { refuseUnknownParameters } from "./wire/unknownMembers.js";
import { toWire } from "./wire/wireNames.js";

/** Media types of rows as one object a line. The first one is the documented one. */
const LINE_TYPES = [JSON_LINES, "application/ndjson", "application/jsonl"];
const ROW_TYPES = [ARROW_STREAM, ARROW_FILE, "application/octet-stream", JSON_TYPE, ...LINE_TYPES];
const openApi = lazyModule(() => import("./wire/openapi.js"));
const OPENAPI_PATH = "/openapi.json";
/** Maximum number of queries without credentials that start at a time, so that others find the thread. */
const MAX_STRANGERS_STARTING = 4;

/** State of a request while it is handled. */
export interface Call {
  readonly request: Request;
  readonly url: URL;
  readonly dialect: Dialect;
  ticket?: Ticket;
  /** Released after the answer is sent. */
  readonly memory: BudgetShare[];
  route?: Route;
  principal?: Principal;
}

export interface ResponderOptions {
  readonly basePath: string;
  readonly auth: AuthOptions | undefined;
  readonly origins: Origins;
  readonly limits: Required<RestLimits>;
  readonly storageOptions: StorageOptionsHook | undefined;
}

export class Responder {
  readonly admission: Admission;
  readonly authenticator: Authenticator;
  readonly #namespace: DirectoryNamespace;
  readonly #options: ResponderOptions;
  readonly #bodies: MemoryBudget;
  readonly #answers: MemoryBudget;
  readonly #unauthenticatedStarting = new Limit(MAX_STRANGERS_STARTING);
  readonly #finders = new Map<Dialect["routes"], RouteFinder>();
  #openApi: object | undefined;

  /**
   * Creates the responder of a handler.
   * @throws InvalidInputError for invalid options of `auth`
   */
  constructor(namespace: DirectoryNamespace, options: ResponderOptions) {
    this.#namespace = namespace;
    this.#options = options;
    this.authenticator = new Authenticator(options.auth);
    this.admission = new Admission(options.limits);
    this.#bodies = bodyBudget(options.limits);
    this.#answers = answerBudget(options.limits);
  }

  /** Returns the answer. It records in `call` whatever it learns about the request, even if it fails. */
  async respond(call: Call): Promise<Response> {
    const { request } = call;
    const { origins, limits } = this.#options;
    refuseLongHeader(request, limits.maxHeaderBytes);
    origins.check(request);
    const preflight = origins.preflight(request);
    if (preflight !== null) return preflight;
    const ticket = (call.ticket = this.admission.enter(request.signal));
    const proof = this.authenticator.byHeaders(request.headers, ticket.signal);
    call.principal = (await countedWhileChecked(proof, ticket)) ?? undefined;
    const isUnauthenticated = call.principal === undefined;
    if (isUnauthenticated) ticket.isUnauthenticated();
    else ticket.ofCaller();
    const path = innerPath(call.url.pathname, this.#options.basePath);
    const method = request.method === "HEAD" ? "GET" : request.method;
    if (path === OPENAPI_PATH && method === "GET") return this.#describe(call, ticket);
    const routed = this.#finderOf(call.dialect).find(method, path, call.url.searchParams.get("delimiter"));
    if (routed instanceof Refusal) {
      call.principal ??= await this.authenticator.byIdentity(undefined, ticket.signal);
      throw routed;
    }
    call.route = routed.route;
    return this.#perform(call, ticket, { ...routed, method, isUnauthenticated });
  }

  async #describe(call: Call, { signal }: Ticket): Promise<Response> {
    call.principal ??= await this.authenticator.byIdentity(undefined, signal);
    refuseUnknownParameters([], [], call.url.searchParams);
    this.#openApi ??= (await openApi.get()).openApiDocument(ROUTES, this.#options.basePath);
    return jsonAnswer(call.request, this.#openApi, 200);
  }

  #finderOf({ routes }: Dialect): RouteFinder {
    const finder = this.#finders.get(routes) ?? new RouteFinder(routes);
    this.#finders.set(routes, finder);
    return finder;
  }

  /** Reads the body, calls the operation of the route and returns its answer. */
  async #perform(
    call: Call,
    ticket: Ticket,
    { route, parameters, method, isUnauthenticated }: RoutedRequest,
  ) {
    const { request, url, dialect } = call;
    const { limits } = this.#options;
    const { signal } = ticket;
    const bodyMemory = this.#bodies.open(signal, isUnauthenticated);
    call.memory.push(bodyMemory);
    const takesRows = route.body === "arrow";
    const readsJson = !takesRows && method !== "GET";
    const json = readsJson ? await this.#readJson(call, ticket, bodyMemory, isUnauthenticated) : undefined;
    const identity = callerIdentity(request.headers, json);
    const principal = (call.principal ??= await this.authenticator.byIdentity(identity, signal));
    const isAnonymous = principal.method === "anonymous";
    if (!isAnonymous) ticket.ofCaller();
    const staysUnauthenticated = isUnauthenticated && isAnonymous;
    const answerMemory = this.#answers.open(signal, staysUnauthenticated);
    call.memory.push(answerMemory);
    if (takesRows) refuseMediaType(request, ROW_TYPES);
    const { nonFinite = "null", ...engineCall } = engineRequest({
      route,
      parameters,
      method,
      query: url.searchParams,
      headers: request.headers,
      json: dialect.readBody(route, json),
      pathIsForm: dialect.pathsAreForms,
    });
    const seen = route.operation === "watchTable" ? lastEventId(request.headers) : undefined;
    const begin = async (): Promise<Response> => {
      const performed = await dialect.perform({
        namespace: this.#namespace,
        route,
        request: {
          ...engineCall,
          ...(seen !== undefined && { from: seen }),
          identity,
          principal,
          signal,
          ...engineBounds(route, limits),
          ...(takesRows ? { memory: bodyMemory } : route.answer === "rows" ? { memory: answerMemory } : {}),
        },
        data: takesRows ? rowsOf(request, limits, signal, bodyMemory) : undefined,
      });
      const { storageOptions } = this.#options;
      const performedCall = {
        namespace: this.#namespace,
        operation: route.operation,
        request: engineCall,
        identity: { ...identity, principal },
        signal,
      };
      const result =
        storageOptions === undefined || !dialect.opensFiles
          ? performed
          : await withStorageOptions(storageOptions, performedCall, performed);
      const form = dialect.answerOf(route);
      const wish: RowsWish = {
        takesJson: dialect.takesJsonRows(request.headers),
        nonFinite: nonFinite as RowsWish["nonFinite"],
      };
      const response =
        form === "rows"
          ? await rowsAnswer(request, result as QueryResult, wish)
          : typeof form === "object" && "events" in form
            ? eventsAnswer(form.events, result as AsyncIterable<TableVersion>, (error) =>
                this.#problemFor(error, url.pathname),
              )
            : answer(request, route.status, form, result, answerMemory);
      // The host's additions are for this caller alone.
      if (result !== performed) response.headers.set("cache-control", "no-store");
      return response;
    };
    return staysUnauthenticated && route.answer === "rows"
      ? this.#unauthenticatedStarting.run(begin)
      : begin();
  }

  /** Returns the problem that an event stream ends with. */
  async #problemFor(error: unknown, instance: string): Promise<object> {
    const roots = mayNamePath(error) ? await this.#namespace.rootPaths() : [];
    return problemOf(error, { instance, roots, inTheirWords: (text) => text });
  }

  /**
   * Only authenticated callers learn about mistakes in a body. Everybody learns that a body is too large or
   * too slow, because the unread part may have identified the caller.
   */
  async #readJson(
    call: Call,
    { signal }: Ticket,
    memory: BudgetShare,
    isUnauthenticated: boolean,
  ): Promise<unknown> {
    const terms = { ...jsonBounds(this.#options.limits, isUnauthenticated, signal), memory };
    try {
      return await readJson(call.request, terms);
    } catch (refusal) {
      if (!isUnread(refusal)) call.principal ??= await this.authenticator.byIdentity(undefined, signal);
      throw refusal;
    }
  }
}

/** Maximum number of promise turns of a check that waits for nothing. */
const PROMPT_TURNS = 16;

/** Returns the outcome of a check. While the check waits, the request counts as unauthenticated. */
async function countedWhileChecked<Proof>(proof: Promise<Proof>, ticket: Ticket): Promise<Proof> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  proof.then(end, end);
  for (let turn = 0; turn < PROMPT_TURNS && !isOver; turn++) await null;
  if (!isOver) ticket.ofUnproven();
  return proof;
}

/** A request whose route is known. */
interface RoutedRequest extends FoundRoute {
  readonly method: string;
  /** True if the headers have no credentials. */
  readonly isUnauthenticated: boolean;
}

/** True if a body was not read to its end, so that its content is unknown. */
const isUnread = (error: unknown): boolean => {
  const status = refusalIn(error)?.status;
  return status === 413 || status === 408 || status === 503;
};

/** Returns the rows of a body: bytes of Arrow, or groups of objects. */
function rowsOf(
  request: Request,
  limits: Required<RestLimits>,
  signal: AbortSignal,
  memory: BudgetShare,
): RowsInput {
  const pieces = readPieces(request, rowBounds(limits, signal));
  const mediaType = mediaTypeOf(request);
  const isLines = LINE_TYPES.includes(mediaType);
  if (!isLines && mediaType !== JSON_TYPE) return pieces;
  return markFromJson(
    readJsonRows(pieces, {
      isLines,
      maxRowBytes: limits.maxJsonBytes,
      maxMembers: limits.maxColumns,
      memory,
    }),
  );
}

function answer(
  request: Request,
  status: number,
  form: Exclude<Route["answer"], "rows" | { readonly events: unknown }>,
  result: unknown,
  memory: BudgetShare,
): Response {
  if (form === "nothing") return new Response(null, { status, headers: { "content-length": "0" } });
  if ("bare" in form) return jsonAnswer(request, result, status, { memory });

  if ("member" in form) {
    const value = (result as Readonly<Record<string, unknown>>)[form.member];
    return jsonAnswer(request, toWire(form.schema, value), status, { memory });
  }
  return jsonAnswer(request, toWire(form, result), status, { memory });
}

function refuseLongHeader(request: Request, maxBytes: number): void {
  let bytes = request.url.length;
  request.headers.forEach((value, name) => {
    bytes += name.length + value.length;
  });
  if (bytes > maxBytes) throw new Refusal(431, "InvalidInput", `the header has more than ${maxBytes} bytes`);
}
