/** A fetch-style handler behind Node's own HTTP server: streams in both directions, at the pace of who takes. */

import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { problemOf, Refusal } from "../wire/problem.js";
import { attachProblemAnswers, serverOf } from "./nodeProblems.js";
import { parsedBody } from "./parsedBody.js";
import { inTurn } from "./pipelining.js";

/** What {@link toNodeListener} takes: a handler of this package or any other of the same form. */
export interface FetchHandler {
  (request: Request): Response | Promise<Response>;
  /** What the paths that it serves begin with; absent or empty: anything. */
  readonly basePath?: string;
}

/** What is left of a body that nobody wants is taken so far, so that the client gets to read the answer. */
const LINGER_MS = 1000;
const LINGER_BYTES = 2 ** 23;

/**
 * A listener for `http.createServer` and `https.createServer`. The request's signal is aborted when the client goes
 * away before it has its answer. Requests that a client sends without waiting for answers are handled one after the
 * other; with more than 16 of them behind the first the connection is cut. Some bounds are Node's own, and come before the handler's: `server.requestTimeout`, 5 minutes, cuts bodies that
 * take longer unless it is set to 0 (afterwards: among the options of `createServer` it takes the bound on headers with
 * it), and `maxHeaderSize`, 16 KiB, refuses larger headers without a body.
 *
 * Behind Express and the like: `app.use("/lance", toNodeListener(handler))`, where the handler's `basePath` may be `/lance`
 * or nothing, best in front of body parsers. A body that was read before is taken from `request.rawBody` or `request.body`
 * where these have its bytes, or JSON; else it is refused with 500.
 */
export function toNodeListener(handler: FetchHandler): RequestListener {
  let known: object | undefined;
  const listener: RequestListener = (incoming, outgoing) => {
    const server = serverOf(incoming);
    if (server !== known) {
      known = server;
      // Where others listen too, the server's answers are theirs.
      const listeners = server?.listeners("request");
      if (server !== undefined && listeners?.length === 1 && listeners[0] === listener)
        attachProblemAnswers(server);
    }
    const begin = () => {
      const client = new AbortController();
      outgoing.once("close", () => {
        if (!outgoing.writableFinished) client.abort(new DOMException("the client went away", "AbortError"));
      });
      serve(handler, incoming, outgoing, client.signal).catch(() => outgoing.destroy());
    };
    inTurn(incoming, outgoing, begin);
  };
  return listener;
}

async function serve(
  handler: FetchHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const body = new IncomingBody(incoming);
  const request = requestOf(incoming, body, handler.basePath, signal);
  const response = request === null ? noRequest(incoming) : await handler(request);
  const answer = response.body?.getReader();
  try {
    signal.throwIfAborted();
    outgoing.writeHead(response.status, headersOf(response));
    if (answer === undefined || incoming.method === "HEAD") outgoing.flushHeaders();
    else await send(answer, outgoing, signal);
  } finally {
    // Of an answer that was sent whole nothing is left to let go of.
    answer?.cancel().catch(() => undefined);
  }
  // The end of an answer may be the end of the connection, whose client would lose what it has not read yet.
  const isWhole = await body.takeRest();
  if (signal.aborted) return;
  outgoing.end(() => {
    if (!isWhole) incoming.destroy();
  });
}

function headersOf(response: Response): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  response.headers.forEach((value, name) => {
    headers[name] = value;
  });
  // Cookies are the one header whose values cannot be joined.
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) headers["set-cookie"] = cookies;
  return headers;
}

/** The answer to what cannot be handed on. */
function noRequest({ url = "" }: IncomingMessage): Response {
  const refusal = new Refusal(
    400,
    "InvalidInput",
    "the target is no path, or the method is none to be served",
  );
  const problem = problemOf(refusal, { instance: url, roots: [], inTheirWords: (text) => text });
  const headers = { "x-content-type-options": "nosniff" };
  return Response.json(problem, { status: problem.status, headers });
}

/** Null where the target is no path. The host that the client names is among the headers only. */
function requestOf(
  incoming: IncomingMessage,
  body: IncomingBody,
  basePath: string | undefined,
  signal: AbortSignal,
): Request | null {
  const { method = "GET", rawHeaders } = incoming;
  const url = urlOf(incoming, basePath);
  const target = url.startsWith("/") ? `http://localhost${url}` : url;
  if (!URL.canParse(target)) return null;
  const headers = new Headers();
  // Where the target has a host of its own, or HTTP/2 names one, that is what counts.
  let host = target === url ? new URL(url).host : null;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    const value = rawHeaders[index + 1];
    // Names with a colon in front are HTTP/2's own.
    if (!name.startsWith(":")) headers.append(name, value);
    else if (name === ":authority") host = value;
  }
  if (host !== null) headers.set("host", host);
  const hasBody = method !== "GET" && method !== "HEAD";
  try {
    return new Request(target, {
      method,
      headers,
      signal,
      ...(hasBody ? { body: body.open(headers), duplex: "half" } : {}),
    } as RequestInit);
  } catch {
    // Methods that fetch does not know, such as CONNECT and TRACE.
    return null;
  }
}

/**
 * The target. Frameworks take the path that a listener is mounted at from the URL, and keep the whole: that counts where
 * the handler knows the path as its own.
 */
function urlOf(incoming: IncomingMessage, basePath = ""): string {
  const { url = "/", originalUrl } = incoming as IncomingMessage & { readonly originalUrl?: unknown };
  if (basePath === "" || typeof originalUrl !== "string" || !URL.canParse(originalUrl, "http://localhost"))
    return url;
  const { pathname } = new URL(originalUrl, "http://localhost");
  return pathname.startsWith(`${basePath}/`) ? originalUrl : url;
}

/**
 * The body of a request. While somebody reads it, it comes at that pace; what is left of it when the answer was sent is
 * taken and dropped, because the connection's next request is behind it.
 */
class IncomingBody {
  readonly #incoming: IncomingMessage;

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
  }

  /** @param headers loses what is not true of a body that was read before */
  open(headers: Headers): ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> {
    const parsed = parsedBody(this.#incoming);
    if (parsed instanceof Refusal) {
      return new ReadableStream({ pull: (controller) => controller.error(parsed) }, { highWaterMark: 0 });
    }
    if (parsed !== null) {
      for (const name of ["content-length", "content-encoding", "transfer-encoding"]) headers.delete(name);
      return parsed as Uint8Array<ArrayBuffer>;
    }
    const pieces: AsyncIterator<Buffer> = this.#incoming.iterator({ destroyOnReturn: false });
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = await pieces.next();
          if (done === true) controller.close();
          else controller.enqueue(new Uint8Array(value.buffer, value.byteOffset, value.length));
        },
        cancel() {
          pieces.return?.().catch(() => undefined);
        },
      },
      { highWaterMark: 0 },
    );
  }

  /**
   * Takes the rest, as far as is decent; a client that is still sending reads no answer.
   * @returns whether that was all
   */
  takeRest(): Promise<boolean> {
    const incoming = this.#incoming;
    incoming.resume();
    if (incoming.complete || incoming.destroyed) return Promise.resolve(incoming.complete);
    return new Promise((resolve) => {
      let taken = 0;
      // When the thread was held for long, the time is up before anybody has looked at what came meanwhile.
      const lookOnce = () => {
        const before = taken;
        setImmediate(() => {
          if (taken === before) done();
          else timer.refresh();
        });
      };
      const timer = setTimeout(lookOnce, LINGER_MS);
      const done = () => {
        clearTimeout(timer);
        resolve(incoming.complete);
      };
      incoming.once("end", done);
      incoming.once("close", done);
      incoming.on("data", (piece: Buffer) => {
        taken += piece.length;
        if (taken > LINGER_BYTES) done();
      });
    });
  }
}

/** Hands a body over at the pace it is taken. Rejects where the client leaves or the body fails. */
async function send(
  body: ReadableStreamDefaultReader<Uint8Array>,
  outgoing: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  // Whoever waits for a client to take something must learn of either too.
  const over = new AbortController();
  body.closed.catch((reason: unknown) => over.abort(reason));
  signal.addEventListener("abort", () => {
    over.abort(signal.reason);
    body.cancel(signal.reason).catch(() => undefined);
  });
  for (;;) {
    const { done, value } = await body.read();
    signal.throwIfAborted();
    if (done) return;
    if (!outgoing.write(value)) await once(outgoing, "drain", { signal: over.signal });
  }
}
