/**
 * Answers that Node's server gives instead of the handler, as problems: to requests that are not HTTP, have
 * too long headers, arrive too slowly, or expect something unsupported. Node itself only sends a status.
 */

import type { EventEmitter } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { clearTimeout, setTimeout } from "../../async/timers.js";
import { type Problem, problemOf, Refusal } from "../wire/problem.js";

/** Milliseconds for reading further data of the client, so that it reads the answer. */
const LINGER_MS = 200;

/** Node's error for a request that its server can't pass on. */
interface ClientError extends Error {
  readonly code?: string;
  /** Reason of the parser. */
  readonly reason?: string;
}

/**
 * Makes a Node server answer with problems when it has no request to pass on. Events with other listeners,
 * now or later, are left to those. `toNodeListener` calls this function on the first request if it is the
 * server's only listener. Call it yourself to cover errors before the first request, or if a framework adds
 * listeners.
 *
 *     attachProblemAnswers(createServer(toNodeListener(handler))).listen(8080, "127.0.0.1");
 *
 * Fastify listens to `clientError` itself: call `fastify.server.removeAllListeners("clientError")` first.
 * Node still answers an HTTP/1.1 request without a host (option `requireHostHeader` of `createServer`).
 */
export function attachProblemAnswers<S extends EventEmitter>(server: S): S {
  const attached: EventEmitter = server;
  if (attached.listenerCount("clientError") === 0) {
    attached.on("clientError", (error: ClientError, socket: Duplex) => {
      if (attached.listenerCount("clientError") === 1) answerOnSocket(error, socket);
    });
  }
  if (attached.listenerCount("checkExpectation") === 0) {
    attached.on("checkExpectation", (incoming: IncomingMessage, outgoing: ServerResponse) => {
      if (attached.listenerCount("checkExpectation") === 1) refuseExpectation(incoming, outgoing);
    });
  }
  return server;
}

/** Returns the server that received a request, if Node reveals it. */
export const serverOf = ({ socket }: IncomingMessage): Server | undefined =>
  (socket as { readonly server?: Server }).server;

const answered = new WeakSet<Duplex>();

function answerOnSocket(error: ClientError, socket: Duplex): void {
  // Anything else from this client is not HTTP either.
  if (answered.has(socket)) return;
  const refusal = refusalOf(error);
  // An answer in progress can only be broken off. Node has no public name for it.
  const { _httpMessage: current } = socket as { readonly _httpMessage?: ServerResponse | null };
  if (refusal === null || !socket.writable || current?.headersSent === true) {
    socket.destroy(error);
    return;
  }
  answered.add(socket);
  const { status } = refusal;
  const body = JSON.stringify(problemAt("", refusal));
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(headersOf(body)).map(([name, value]) => `${name}: ${value}`),
    "connection: close",
    "",
    body,
  ];
  socket.end(lines.join("\r\n"));
  const late = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(late));
}

/** Returns the refusal for an error of Node; null if there is nobody to answer. */
function refusalOf({ code = "", reason = "" }: ClientError): Refusal | null {
  if (code === "HPE_HEADER_OVERFLOW") {
    return new Refusal(431, "InvalidInput", "the header is longer than the server's maxHeaderSize");
  }
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") {
    return new Refusal(413, "InvalidInput", "the extensions of the body's chunks are too long");
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return new Refusal(408, "InvalidInput", "the request took longer to arrive than the server waits");
  }
  if (!code.startsWith("HPE_")) return null;
  return new Refusal(400, "InvalidInput", `the request is malformed${reason === "" ? "" : `: ${reason}`}`);
}

function refuseExpectation(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const refusal = new Refusal(417, "InvalidInput", "expect: must be 100-continue");
  const body = JSON.stringify(problemAt(incoming.url ?? "", refusal));
  outgoing.writeHead(refusal.status, headersOf(body)).end(incoming.method === "HEAD" ? undefined : body);
}

const problemAt = (instance: string, refusal: Refusal): Problem =>
  problemOf(refusal, { instance, roots: [], inTheirWords: (text) => text });

const headersOf = (body: string) => ({
  "content-type": "application/json",
  "content-length": Buffer.byteLength(body),
  "x-content-type-options": "nosniff",
});
