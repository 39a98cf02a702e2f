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
  const request = requestOf(incoming, signal);
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
  if (response.body === null) outgoing.end();
  else await send(response.body, outgoing);
  linger(incoming, outgoing);
}

/** Null where the target is no path. The host that the client names is of no meaning here. */
function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request | null {
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
      ...(hasBody ? { body: bodyOf(incoming), duplex: "half" } : {}),
    } as RequestInit);
  } catch {
    // Methods that fetch does not know, such as CONNECT and TRACE.
    return null;
  }
}

function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let ended = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const fail = (error: Error) => {
          if (ended) return;
          ended = true;
          controller.error(error);
        };
        incoming.on("data", (piece: Buffer) => {
          if (ended) return;
          controller.enqueue(new Uint8Array(piece.buffer, piece.byteOffset, piece.length));
          if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
        });
        incoming.once("end", () => {
          if (ended) return;
          ended = true;
          controller.close();
        });
        incoming.once("error", fail);
        incoming.once("close", () => fail(new Error("the connection was closed")));
        incoming.pause();
      },
      pull() {
        incoming.resume();
      },
      cancel() {
        ended = true;
        incoming.pause();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: BODY_AHEAD }),
  );
}

async function send(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  const reader = body.getReader();
  const closed = new Promise<"closed">((resolve) => outgoing.once("close", () => resolve("closed")));
  try {
    for (;;) {
      const next = await Promise.race([reader.read(), closed]);
      if (next === "closed") return;
      if (next.done) break;
      if (!outgoing.write(next.value)) {
        const drained = new Promise<"drained">((resolve) => outgoing.once("drain", () => resolve("drained")));
        if ((await Promise.race([drained, closed])) === "closed") return;
      }
    }
    outgoing.end();
  } finally {
    // Of a body that was sent whole nothing is left to let go of.
    await reader.cancel().catch(() => undefined);
  }
}

/** A client that is still sending reads no answer; its rest is taken for a while, then the connection is cut. */
function linger(incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (incoming.complete || incoming.destroyed) return;
  let taken = 0;
  const cut = () => {
    if (!incoming.complete) incoming.destroy();
  };
  const timer = setTimeout(cut, LINGER_MS);
  timer.unref();
  incoming.once("end", () => clearTimeout(timer));
  outgoing.once("close", () => clearTimeout(timer));
  incoming.on("data", (piece: Buffer) => {
    taken += piece.length;
    if (taken > LINGER_BYTES) cut();
  });
  incoming.resume();
}
