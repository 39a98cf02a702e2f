/**
 * Requests that a client sends without waiting for answers. Node hands all of them on as soon as they are there, and
 * holds each until those before it are answered; how many there may be is up to whoever listens.
 *
 * Those that waited share turns of the event loop with all long work. Else the answer to one would begin the next at once,
 * and clients with many connections would keep the loop from everybody else until all are answered.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { breathe } from "../../async/eventLoop.js";

/** Requests of one connection that may wait behind the one that is being answered. */
export const MAX_PIPELINED = 16;

/** Requests that wait, by connection. */
const waiting = new WeakMap<Socket, number>();

/**
 * Calls `begin` when it is the request's turn, or never, where the client leaves. A connection with too many that wait is
 * cut: its client may send again what was not answered.
 */
export function inTurn(incoming: IncomingMessage, outgoing: ServerResponse, begin: () => void): void {
  const { socket } = incoming;
  // Of a connection that was cut Node still hands on what came with the request that was too many. To be told of the cut
  // when the connection is closed would take such a request longer than anything else.
  if (socket.destroyed) {
    incoming.destroy();
    return;
  }
  // An answer gets the connection when those before it are through.
  if (outgoing.socket !== null) {
    begin();
    return;
  }
  const count = (waiting.get(socket) ?? 0) + 1;
  if (count > MAX_PIPELINED) {
    socket.destroy();
    incoming.destroy();
    return;
  }
  waiting.set(socket, count);
  outgoing.once("socket", async () => {
    waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
    await breathe();
    if (!socket.destroyed) begin();
  });
}
