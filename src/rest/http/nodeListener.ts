/** Runs a fetch-style handler behind Node's own HTTP server: streams in both directions, at the receiver's pace. */

import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { clearTimeout, onNextTurn, setTimeout } from "../../async/timers.js";
import { problemOf, Refusal } from "../wire/problem.js";
import { attachProblemAnswers, serverOf } from "./nodeProblems.js";
import { parsedBody } from "./parsedBody.js";
import { inTurn } from "./pipelining.js";

/** A handler that {@link toNodeListener} accepts: one of this package, or any other of the same form. */
export interface FetchHandler {
  (request: Request): Response | Promise<Response>;
  /** Prefix of the paths that it serves; absent or empty: any path. */
  readonly basePath?: string;
}

/** Bounds within which the rest of an unwanted body is read, so that the client gets to read the answer. */
const LINGER_MS = 1000;
const LINGER_BYTES = 2 ** 23;

/**
 * A listener for `http.createServer` and `https.createServer`. The request's signal is aborted when the client goes
 * away before it has its answer. Requests that a client sends without waiting for answers are handled one after the
 * other; the connection is cut if more than 16 of them wait behind the first.
 *
 * Some bounds are Node's own, and apply before the handler's. `server.requestTimeout`, 5 minutes, cuts off bodies that
 * take longer. Set it to 0 to lift that bound, but only on the finished server: as an option of `createServer`, 0 also
 * lifts the bound on headers. `maxHeaderSize`, 16 KiB, refuses larger headers; unless `attachProblemAnswers` is in
 * effect, that answer has no body.
 *
 * Behind Express and the like: `app.use("/lance", toNodeListener(handler))`, where the handler's `basePath` may be
 * `/lance` or absent, preferably before body parsers. A body that was read before is taken from `request.rawBody` or
 * `request.body` if these hold its bytes, or JSON; otherwise the request is refused with 500.
 */
export function toNodeListener(handler: FetchHandler): RequestListener {
  let known: object | undefined;
  const listener: RequestListener = (incoming, outgoing) => {
    const server = serverOf(incoming);
    if (server !== known) {
      known = server;
      // If others listen too, the server's own answers are theirs.
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
    // After a complete answer there is nothing left to release.
    answer?.cancel().catch(() => undefined);
  }
  // Ending the answer may end the connection, and the client would then lose what it has not read yet.
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

/** The answer to a request that cannot be passed to the handler. */
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

/**
 * Null if the target is not a path, or fetch does not know the method. Only the headers have the host that the client
 * names.
 */
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
  // A host in the target, or one that HTTP/2 names, takes precedence.
  let host = target === url ? new URL(url).host : null;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    const value = rawHeaders[index + 1];
    // Names that begin with a colon are HTTP/2's own.
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
 * The target. Frameworks remove the path that a listener is mounted at from the URL, and keep the whole URL in
 * `originalUrl`. The whole URL counts if it begins with the handler's base path.
 */
function urlOf(incoming: IncomingMessage, basePath = ""): string {
  const { url = "/", originalUrl } = incoming as IncomingMessage & { readonly originalUrl?: unknown };
  if (basePath === "" || typeof originalUrl !== "string" || !URL.canParse(originalUrl, "http://localhost"))
    return url;
  const { pathname } = new URL(originalUrl, "http://localhost");
  return pathname.startsWith(`${basePath}/`) ? originalUrl : url;
}

/**
 * The body of a request. It arrives at the pace of its reader. The rest of it after the answer was sent is read and
 * dropped, because the connection's next request follows it.
 */
class IncomingBody {
  readonly #incoming: IncomingMessage;

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
  }

  /** @param headers loses those that do not describe a body that was read before */
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
   * Reads the rest, within the bounds above: a client that is still sending reads no answer.
   * @returns whether that was all
   */
  takeRest(): Promise<boolean> {
    const incoming = this.#incoming;
    incoming.resume();
    if (incoming.complete || incoming.destroyed) return Promise.resolve(incoming.complete);
    return new Promise((resolve) => {
      let taken = 0;
      // If the thread was busy for long, the time is up before data that arrived meanwhile has been looked at.
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

/** Sends a body at the pace at which it is taken. Rejects if the client leaves or the body fails. */
async function send(
  body: ReadableStreamDefaultReader<Uint8Array>,
  outgoing: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  // A wait for the client must end in both cases, too.
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
