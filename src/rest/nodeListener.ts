/** A fetch-style handler behind Node's own HTTP server: streams in both directions, at the pace of who takes. */

import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

/** What {@link toNodeListener} takes: a handler of this package or any other of the same form. */
export type FetchHandler = (request: Request) => Response | Promise<Response>;

/** Bytes of a body that are held ahead of who reads it. */
const BODY_AHEAD = 2 ** 18;
/** What is left of a body that nobody wants is taken so far, so that the client gets to read the answer. */
const LINGER_MS = 1000;
const LINGER_BYTES = 2 ** 23;

/**
 * A listener for `http.createServer` and `https.createServer`. The request's signal is aborted when the client goes
 * away before it has its answer.
 */
export function toNodeListener(handler: FetchHandler): RequestListener {
  return (incoming, outgoing) => {
    const client = new AbortController();
    const left = () => client.abort(new DOMException("the client went away", "AbortError"));
    outgoing.once("close", () => {
      if (!outgoing.writableFinished) left();
    });
    serve(handler, incoming, outgoing, client.signal).catch(() => outgoing.destroy());
  };
}

async function serve(
  handler: FetchHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const body = new IncomingBody(incoming);
  const request = requestOf(incoming, body, signal);
  const response =
    request === null
      ? new Response("malformed request target", { status: 400, headers: { "content-type": "text/plain" } })
      : await handler(request);
  const headers: Record<string, string | string[]> = {};
  response.headers.forEach((value, name) => {
    headers[name] = value;
  });
  if (outgoing.destroyed) {
    await response.body?.cancel();
    return;
  }
  outgoing.writeHead(response.status, headers);
  if (response.body === null) outgoing.flushHeaders();
  else if (!(await send(response.body, outgoing))) return;
  // The end of an answer may be the end of the connection, whose client would lose what it has not read yet.
  const isWhole = await body.takeRest();
  outgoing.end(() => {
    if (!isWhole) incoming.destroy();
  });
}

/** Null where the target is no path. The host that the client names is of no meaning here. */
function requestOf(incoming: IncomingMessage, body: IncomingBody, signal: AbortSignal): Request | null {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  const target = url.startsWith("/") ? `http://localhost${url}` : url;
  if (!URL.canParse(target)) return null;
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    // Names with a colon in front are HTTP/2's own.
    if (!rawHeaders[index].startsWith(":")) headers.append(rawHeaders[index], rawHeaders[index + 1]);
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  try {
    return new Request(target, {
      method,
      headers,
      signal,
      ...(hasBody ? { body: body.open(), duplex: "half" } : {}),
    } as RequestInit);
  } catch {
    // Methods that fetch does not know, such as CONNECT and TRACE.
    return null;
  }
}

/**
 * The body of a request. While somebody reads it, it comes at that pace; what is left of it when the answer was sent is
 * taken and dropped, because the connection's next request is behind it.
 */
class IncomingBody {
  readonly #incoming: IncomingMessage;
  #wanted = false;

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
  }

  open(): ReadableStream<Uint8Array> {
    const incoming = this.#incoming;
    this.#wanted = true;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const fail = (error: Error) => {
            if (this.#wanted) controller.error(error);
            this.#wanted = false;
          };
          incoming.on("data", (piece: Buffer) => {
            if (!this.#wanted) return;
            controller.enqueue(new Uint8Array(piece.buffer, piece.byteOffset, piece.length));
            if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
          });
          incoming.once("end", () => {
            if (this.#wanted) controller.close();
            this.#wanted = false;
          });
          incoming.once("error", fail);
          incoming.once("close", () => fail(new Error("the connection was closed")));
          incoming.pause();
        },
        pull: () => {
          incoming.resume();
        },
        cancel: () => {
          this.#wanted = false;
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: BODY_AHEAD }),
    );
  }

  /**
   * Takes the rest, as far as is decent; a client that is still sending reads no answer.
   * @returns whether that was all
   */
  takeRest(): Promise<boolean> {
    const incoming = this.#incoming;
    this.#wanted = false;
    incoming.resume();
    if (incoming.complete || incoming.destroyed) return Promise.resolve(incoming.complete);
    return new Promise((resolve) => {
      let taken = 0;
      const timer = setTimeout(() => resolve(false), LINGER_MS);
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

/** Hands a body over at the pace it is taken; false where the connection was closed before its end. */
async function send(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<boolean> {
  const reader = body.getReader();
  const closed = new Promise<"closed">((resolve) => outgoing.once("close", () => resolve("closed")));
  try {
    for (;;) {
      const next = await Promise.race([reader.read(), closed]);
      if (next === "closed") return false;
      if (next.done) return true;
      if (!outgoing.write(next.value)) {
        const drained = new Promise<"drained">((resolve) => outgoing.once("drain", () => resolve("drained")));
        if ((await Promise.race([drained, closed])) === "closed") return false;
      }
    }
  } finally {
    // Of a body that was sent whole nothing is left to let go of.
    await reader.cancel().catch(() => undefined);
  }
}
