/**
 * Requests that a client sends without waiting for answers. Node hands all of them on as soon as they are there, and
 * holds each until those before it are answered; how many there may be is up to whoever listens.
 */

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that may wait behind the one that is being answered. */
export const MAX_PIPELINED = 16;

/** Requests that wait, by connection. */
const waiting = new WeakMap<Socket, number>();

/**
 * Calls `begin` when it is the request's turn, or never, where the client leaves. A connection with too many that wait is
 * cut: its client may send again what was not answered.
 */
export function inTurn(socket: Socket, outgoing: ServerResponse, begin: () => void): void {
  // An answer gets the connection when those before it are through.
  if (outgoing.socket !== null) {
    begin();
    return;
  }
  const count = (waiting.get(socket) ?? 0) + 1;
  if (count > MAX_PIPELINED || socket.destroyed) {
    socket.destroy();
    return;
  }
  waiting.set(socket, count);
  outgoing.once("socket", () => {
    waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
    begin();
  });
}
