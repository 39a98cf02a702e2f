/**
 * Pipelined requests, which a client sends without waiting for answers. Node passes them on as soon as they
 * arrive, and holds each answer until the earlier ones are finished; the listener must limit their number.
 *
 * Waiting requests take turns of the event loop together with all long work. Otherwise each answer would
 * start the next request at once, and clients with many connections would block the loop.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { yieldToEventLoop } from "../../async/eventLoop.js";

/** Maximum number of waiting requests per connection. */
const MAX_PIPELINED = 16;

/** Number of waiting requests by connection. */
const waiting = new WeakMap<Socket, number>();

/**
 * Calls `begin` when it is the request's turn, or never if the client leaves. A connection with too many
 * waiting requests is cut; its client may send the unanswered ones again.
 */
export function inTurn(incoming: IncomingMessage, outgoing: ServerResponse, begin: () => void): void {
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
