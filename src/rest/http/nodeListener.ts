/** Runs a fetch-style handler on Node's HTTP server. Streams follow the receiver's pace. */

import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { yieldToEventLoop } from "../../async/eventLoop.js";
import { clearTimeout, onNextTurn, setTimeout } from "../../async/timers.js";
import { problemOf, Refusal } from "../wire/problem.js";
import { attachProblemAnswers, serverOf } from "./nodeProblems.js";
import { parsedBody } from "./parsedBody.js";

/** A handler for {@link toNodeListener}: one of this package, or any other of the same form. */
export interface FetchHandler {
  (request: Request): Response | Promise<Response>;
  /** Prefix of the served paths. Absent or empty: all paths. */
  readonly basePath?: string;
}

/** Maximum number of waiting requests per connection. */
const MAX_PIPELINED = 16;
/** Number of waiting requests by connection. */
const waiting = new WeakMap<Socket, number>();
/** Limits for reading the rest of an unwanted body, so that the client reads the answer. */
const LINGER_MS = 1000;
const LINGER_BYTES = 2 ** 23;

/**
 * Returns a listener for `http.createServer` and `https.createServer`. The request's signal aborts if the
 * client leaves before it has its answer. Pipelined requests of a connection are handled one after the other;
 * the connection is cut if more than 16 wait.
 *
 * Node has limits of its own, which apply first. `server.requestTimeout` (5 minutes) cuts off slow bodies.
 * Set it to 0 on the finished server to lift the limit. As an option of `createServer`, 0 also lifts the
 * limit on headers. Node refuses headers above `maxHeaderSize` (16 KiB). Without `attachProblemAnswers`, that
 * answer has no body.
 *
 * In Express and similar frameworks, write `app.use("/lance", toNodeListener(handler))`, preferably before
 * body parsers. The handler's `basePath` is `/lance` or absent. If a parser has read the body, it is taken
 * from `request.rawBody` or `request.body` if these hold its bytes, or JSON; otherwise the request is refused
 * with 500.
 */
export function toNodeListener(handler: FetchHandler): RequestListener {
  let lastServer: object | undefined;
  const listener: RequestListener = (incoming, outgoing) => {
    const server = serverOf(incoming);
    if (server !== lastServer) {
      lastServer = server;
      // If there are other listeners, they own the server's answers.
      const listeners = server?.listeners("request");
      if (server !== undefined && listeners?.length === 1 && listeners[0] === listener)
        attachProblemAnswers(server);
    }
    const begin = () => {
      const client = new AbortController();
      outgoing.once("close", () => {
        if (!outgoing.writableFinished) client.abort(new DOMException("the client left", "AbortError"));
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
    // After a complete answer there is nothing to release.
    answer?.cancel().catch(() => undefined);
  }
  // Ending the answer may end the connection before the client has read all of it.
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
  // Cookies are the only header whose values can't be joined.
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) headers["set-cookie"] = cookies;
  return headers;
}

/** Returns the answer to a request that can't be passed to the handler. */
function noRequest({ url = "" }: IncomingMessage): Response {
  const refusal = new Refusal(
    400,
    "InvalidInput",
    "the target is not a path, or the method is not supported",
  );
  const problem = problemOf(refusal, { instance: url, roots: [], inTheirWords: (text) => text });
  const headers = { "x-content-type-options": "nosniff" };
  return Response.json(problem, { status: problem.status, headers });
}

/** Returns the fetch request; null without a path or a supported method. Only headers hold the host. */
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
  // A host in the target, or in HTTP/2's pseudo-header, takes precedence.
  let host = target === url ? new URL(url).host : null;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    const value = rawHeaders[index + 1];
    // Names that begin with a colon are pseudo-headers of HTTP/2.
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
    // Fetch does not support methods such as CONNECT and TRACE.
    return null;
  }
}

/**
 * Returns the target. Frameworks remove the mount path from the URL and keep the whole URL in `originalUrl`,
 * which counts if it begins with the handler's base path.
 */
function urlOf(incoming: IncomingMessage, basePath = ""): string {
  const { url = "/", originalUrl } = incoming as IncomingMessage & { readonly originalUrl?: unknown };
  if (basePath === "" || typeof originalUrl !== "string" || !URL.canParse(originalUrl, "http://localhost"))
    return url;
  const { pathname } = new URL(originalUrl, "http://localhost");
  return pathname.startsWith(`${basePath}/`) ? originalUrl : url;
}

/** The body of a request, read at the reader's pace. After the answer, the rest is read and dropped. */
class IncomingBody {
  readonly #incoming: IncomingMessage;

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
  }

  /**
   * Returns the body.
   * @param headers loses headers that do not describe a body that was already read
   */
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
   * Reads the rest within the limits above, because a client that is still sending reads no answer.
   * @returns true if the rest is complete
   */
  takeRest(): Promise<boolean> {
    const incoming = this.#incoming;
    incoming.resume();
    if (incoming.complete || incoming.destroyed) return Promise.resolve(incoming.complete);
    return new Promise((resolve) => {
      let taken = 0;
      // If the thread was busy, the time limit may expire before data that arrived meanwhile is read.
      const lookOnce = () => {
        const before = taken;
        onNextTurn(() => {
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

/** Sends a body at the receiver's pace. Rejects if the client leaves or the body fails. */
async function send(
  body: ReadableStreamDefaultReader<Uint8Array>,
  outgoing: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  // A wait for the client must end in both cases.
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

/**
 * Limits pipelined requests, which a client sends without waiting for answers. Node passes them on as soon as
 * they arrive, and holds each answer until the earlier ones are finished. Waiting requests take turns of the
 * event loop together with all long work. Otherwise each answer would start the next request at once, and
 * clients with many connections would block the loop.
 *
 * Calls `begin` when it is the request's turn, or never if the client leaves. A connection with too many
 * waiting requests is cut; its client may send the unanswered ones again.
 */
function inTurn(incoming: IncomingMessage, outgoing: ServerResponse, begin: () => void): void {
  const { socket } = incoming;
  // After a cut, Node still passes on requests that arrived together. This check is faster than waiting for
  // the closing of the connection.
  if (socket.destroyed) {
    incoming.destroy();
    return;
  }
  // An answer gets the connection when the earlier ones are finished.
  if (outgoing.socket !== null) {
    begin();
    return;
  }
  const count = (waiting.get(socket) ?? 0) + 1;
  if (count > MAX_PIPELINED) {
    ignoreRest(socket);
    socket.destroy();
    incoming.destroy();
    return;
  }
  waiting.set(socket, count);
  outgoing.once("socket", async () => {
    waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
    await yieldToEventLoop();
    if (!socket.destroyed) begin();
  });
}

/**
 * Makes Node's parser drop the requests that arrived together with the one too many. Otherwise Node builds a
 * response for each, and an error with a stack trace when the connection closes. For a few hundred
 * connections, that takes over a second. The parser is an undocumented member; without it, the requests only
 * take longer.
 */
function ignoreRest(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser?: { onIncoming?: unknown } | null };
  if (typeof parser?.onIncoming === "function") parser.onIncoming = passOver;
}

/** Tells the parser to parse a body as usual. */
const passOver = (): number => 0;
