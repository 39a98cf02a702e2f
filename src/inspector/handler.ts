/**
 * The inspector's handler: a function from a fetch-style request to its answer, which never rejects. It
 * serves the built page and the calls that the page makes.
 *
 * Every request passes the checks of host and origin first. With a token, all but its exchange need a
 * session.
 */

import { lazyModule } from "../async/lazy.js";
import type { DirectoryNamespace } from "../DirectoryNamespace.js";
import { InvalidInputError } from "../errors.js";
import type { Principal } from "../namespace/request.js";
import { checkOptionMembers, isObject, shortly } from "../optionMembers.js";
import { readJson } from "../rest/http/body.js";
import { type OriginOptions, Origins } from "../rest/http/origins.js";
import { mayNamePath, problemOf, Refusal } from "../rest/wire/problem.js";
import type { FailureAnswer } from "./calls/answers.js";
import type { CallContext } from "./calls/context.js";
import { image } from "./calls/rowCalls.js";
import { findCall } from "./calls.js";
import { Sessions } from "./session.js";

/** Options of {@link inspectorHandler}. */
export interface InspectorOptions extends OriginOptions {
  /** Prefix of every path, such as `/inspector`. Default: none. */
  readonly basePath?: string;
  /** True: the page may restore versions, set tags and cancel jobs. Default: false, so it only reads. */
  readonly write?: boolean;
  /**
   * Secret that opens the page once, at `<basePath>/?token=<token>`: 16 to 512 characters. The browser gets a
   * session for it. All other requests are refused with 401. Default: no session is needed, so the host's own
   * authentication must stand before the handler, or nobody else may reach it.
   */
  readonly token?: string;
  /**
   * Returns the caller of a request, for the option `authorize` of the namespace. Null refuses the request
   * with 401. Default: requests have no principal.
   */
  readonly principal?: (request: Request) => Principal | null | Promise<Principal | null>;
  /** Title of the page, at most 200 characters. Default: `Tiltyard`. */
  readonly title?: string;
}

/** A handler for `toNodeListener`, and for servers that take fetch-style handlers. It never rejects. */
export interface InspectorHandler {
  (request: Request): Promise<Response>;
  /** Value of the option in the form of a URL path. */
  readonly basePath: string;
}

const OPTION_NAMES = ["allowedHosts", "allowedOrigins", "basePath", "write", "token", "principal", "title"];
const MAX_BODY_BYTES = 2 ** 20;
const MAX_TITLE = 200;

/** Policy of the page: nothing from other hosts, no inline code, and no other page may frame it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/**
 * Creates a handler that serves a page for looking at the tables of a namespace.
 *
 *     const handler = inspectorHandler(ns, { token: randomBytes(24).toString("base64url") });
 *     createServer(toNodeListener(handler)).listen(8080, "127.0.0.1");
 *
 * Without `allowedHosts`, it answers only for names of the machine itself.
 * @throws InvalidInputError for invalid options
 */
export function inspectorHandler(
  namespace: DirectoryNamespace,
  options: InspectorOptions = {},
): InspectorHandler {
  if (!isObject(namespace) || typeof namespace.queryTable !== "function") {
    throw new InvalidInputError(`namespace: must be a DirectoryNamespace, not ${shortly(namespace)}`);
  }
  checkOptions(options);
  const inspector = new Inspector(namespace, options);
  const handle = async (request: Request): Promise<Response> => {
    const response = await inspector.respond(request).catch((error) => inspector.failure(request, error));
    for (const [name, value] of Object.entries(HEADERS)) {
      if (!response.headers.has(name)) response.headers.set(name, value);
    }
    inspector.origins.describe(request, response.headers);
    return response;
  };
  return Object.assign(handle, { basePath: inspector.basePath });
}

function checkOptions(options: InspectorOptions): void {
  checkOptionMembers("options", options, OPTION_NAMES);
  const { write, title, principal, basePath = "" } = options;
  if (write !== undefined && typeof write !== "boolean") {
    throw new InvalidInputError(`write: must be a boolean, not ${shortly(write)}`);
  }
  if (title !== undefined && (typeof title !== "string" || title.length > MAX_TITLE)) {
    throw new InvalidInputError(`title: must be a text of at most ${MAX_TITLE} characters`);
  }
  if (principal !== undefined && typeof principal !== "function") {
    throw new InvalidInputError(`principal: must be a function, not ${shortly(principal)}`);
  }
  if (typeof basePath !== "string" || !/^(\/[^/?#\s]+)*\/?$/.test(basePath)) {
    throw new InvalidInputError('basePath: must be a path such as "/inspector"');
  }
}

class Inspector {
  readonly origins: Origins;
  readonly basePath: string;
  readonly #sessions: Sessions | null;

  constructor(
    private readonly namespace: DirectoryNamespace,
    private readonly options: InspectorOptions,
  ) {
    this.origins = new Origins(options, true);
    this.basePath = new URL(options.basePath ?? "", "http://localhost").pathname.replace(/\/$/, "");
    this.#sessions = options.token === undefined ? null : new Sessions(this.basePath, options.token);
  }

  async respond(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (!isVisit(request)) this.origins.check(request);
    else
      this.origins.check(
        new Request(request.url, { headers: { host: request.headers.get("host") ?? url.host } }),
      );
    if (url.pathname !== this.basePath && !url.pathname.startsWith(`${this.basePath}/`)) throw absent(url);
    if (this.#sessions === null) return this.#answer(request, url, url.pathname.slice(this.basePath.length));
    const session = await this.#sessions.find(url.pathname, request.headers.get("cookie"));
    if (session !== null) return this.#answer(request, url, session.rest);
    const token = url.searchParams.get("token");
    const isExchange = request.method === "GET" && /^\/?$/.test(url.pathname.slice(this.basePath.length));
    const begun = token !== null && isExchange ? await this.#sessions.begin(token) : null;
    if (begun !== null) return begun;
    throw new Refusal(
      401,
      "Unauthenticated",
      "this inspector opens with the address that its operator got; each address works once",
    );
  }

  async #answer(request: Request, url: URL, path: string): Promise<Response> {
    const principal = (await this.options.principal?.(request)) ?? undefined;
    if (this.options.principal !== undefined && principal === undefined) {
      throw new Refusal(401, "Unauthenticated", "this server does not know the caller");
    }
    const context: CallContext = {
      namespace: this.namespace,
      base: { signal: request.signal, principal },
      title: this.options.title ?? "Tiltyard",
      isWritable: this.options.write === true,
    };
    const [, name] = /^\/api\/(\w+)$/.exec(path) ?? [];
    if (name === "image") return this.#image(request, context, url);
    if (name !== undefined) return this.#call(request, context, name);
    if (request.method !== "GET" && request.method !== "HEAD") throw wrongMethod("GET, HEAD");
    if (path === "") return new Response(null, { status: 308, headers: { location: `${url.pathname}/` } });
    return pageFile(path.slice(1) || "index.html", request.method === "HEAD");
  }

  async #call(request: Request, context: CallContext, name: string): Promise<Response> {
    const call = findCall(name);
    if (call === null) throw new Refusal(404, "InvalidInput", `there is no call ${name}`);
    if (request.method !== "POST") throw wrongMethod("POST");
    // Forms of other pages can't send this type without being asked first.
    if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) {
      throw new Refusal(415, "InvalidInput", "the body must be application/json");
    }
    const body = await readJson(request, {
      maxBytes: MAX_BODY_BYTES,
      idleMs: 10_000,
      waitMs: 10_000,
      bytesPerSecond: 2 ** 16,
      signal: request.signal,
    });
    return jsonResponse(await call(context, body ?? {}), 200);
  }

  /** Serves an image in a cell. It is shown as an image or not at all: types that run code are not served. */
  async #image(request: Request, context: CallContext, url: URL): Promise<Response> {
    if (request.method !== "GET") throw wrongMethod("GET");
    const picture = await image(context, readQuery(url.searchParams.get("of")));
    if (picture === null) throw new Refusal(415, "InvalidInput", "the value is not an image");
    return new Response(picture.bytes as Uint8Array<ArrayBuffer>, {
      headers: {
        "content-type": picture.media,
        "content-security-policy": "default-src 'none'; sandbox",
        "cache-control": "private, max-age=600",
      },
    });
  }

  /** Returns the answer for an error. Paths of the namespace's directory are left out. */
  async failure(request: Request, error: unknown): Promise<Response> {
    const roots = mayNamePath(error) ? await this.namespace.rootPaths().catch(() => []) : [];
    const problem = problemOf(error, { instance: "", roots, inTheirWords: (text) => text });
    const type = (error as { readonly type?: unknown } | null)?.type;
    const answer: FailureAnswer = {
      error: {
        type: typeof type === "string" ? type : "Refused",
        message: problem.detail,
        status: problem.status,
      },
    };
    const isPage = request.headers.get("sec-fetch-dest") === "document";
    const headers = error instanceof Refusal ? error.headers : {};
    if (!isPage) return jsonResponse(answer, problem.status, headers);
    return new Response(`${problem.detail}\n`, {
      status: problem.status,
      headers: { ...headers, "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
    });
  }
}

/**
 * True for a visit of the page itself by a link. It changes nothing and other pages can't read the answer, so
 * the page that has the link does not matter.
 */
const isVisit = ({ method, headers }: Request): boolean =>
  method === "GET" &&
  headers.get("sec-fetch-mode") === "navigate" &&
  headers.get("sec-fetch-dest") === "document" &&
  !headers.has("origin");

const page = lazyModule(() => import("./pageFiles.js"));

async function pageFile(path: string, isHead: boolean): Promise<Response> {
  // The page takes a third of a megabyte, which a program without visitors does not need.
  const { PAGE_FILES } = await page.get();
  if (PAGE_FILES === null) {
    throw new Refusal(503, "ServiceUnavailable", "the page is not built; npm run build builds it");
  }
  if (!Object.hasOwn(PAGE_FILES, path)) throw new Refusal(404, "InvalidInput", `there is no file ${path}`);
  const type = MEDIA_TYPES[path.split(".").at(-1) ?? ""] ?? "application/octet-stream";
  const isStable = path.startsWith("assets/");
  return new Response(isHead ? null : PAGE_FILES[path], {
    headers: {
      "content-type": type,
      "cache-control": isStable ? "private, max-age=31536000, immutable" : "no-store",
    },
  });
}

function jsonResponse(
  body: object,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...headers, "content-type": "application/json", "cache-control": "no-store" },
  });
}

function readQuery(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch (error) {
    throw new InvalidInputError("of: must be JSON", { cause: error });
  }
}

const wrongMethod = (allow: string): Refusal =>
  new Refusal(405, "InvalidInput", `the method must be ${allow}`, { allow });

const absent = ({ pathname }: URL): Refusal =>
  new Refusal(404, "InvalidInput", `there is nothing at ${pathname.slice(0, 200)}`);
