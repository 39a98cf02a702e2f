/**
 * Requests that a client sends without waiting for answers. Node passes all of them on as soon as they arrive, and
 * holds each answer until those before it are finished; the listener has to bound their number.
 *
 * Waiting requests share turns of the event loop with all long work. Otherwise the answer to one would start the next
 * at once, and clients with many connections would block the loop until all are answered.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { yieldToEventLoop } from "../../async/eventLoop.js";

/** Maximum number of requests of one connection that wait behind the one being answered. */
const MAX_PIPELINED = 16;

/** Number of waiting requests, by connection. */
const waiting = new WeakMap<Socket, number>();

/**
 * Calls `begin` when it is the request's turn, or never if the client leaves. A connection with too many waiting
 * requests is cut: its client may send the unanswered ones again.
 */
export function inTurn(incoming: IncomingMessage, outgoing: ServerResponse, begin: () => void): void {
  const { socket } = incoming;
  // After a connection was cut, Node still passes on requests that came together with the one too many. Learning about
  // the cut from the closing of the connection would take longer for such a request than anything else.
  if (socket.destroyed) {
    incoming.destroy();
    return;
  }
  // An answer gets the connection when those before it are finished.
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
 * Makes Node's parser forget the requests that arrived together with the one too many. Node would build a response for
 * each, and an error with a stack trace when the connection closes: for the requests of a few hundred connections that
 * takes over a second. The parser is reached through a member that Node doesn't document; without it the requests only
 * take longer.
 */
function ignoreRest(socket: Socket): void {
  const { parser } = socket as Socket & { readonly parser?: { onIncoming?: unknown } | null };
  if (typeof parser?.onIncoming === "function") parser.onIncoming = passOver;
}

/** @returns that a body is to be parsed as usual */
const passOver = (): number => 0;
