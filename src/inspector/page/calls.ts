/** The calls of the page, which a transport brings to the engine: to a server, or in the page itself. */

import type { CallAnswers } from "../calls.ts";

/** Error of a call, with the type that the engine gave it. */
export class CallError extends Error {
  constructor(
    readonly type: string,
    message: string,
  ) {
    super(message);
  }
}

/** Name of a call. */
export type CallName = keyof CallAnswers;

/** Names an image in a cell. */
export interface ImageCell extends TableChoice {
  readonly rowId: string;
  readonly column: string;
}

/** Brings the calls of the page to the engine. */
export interface Transport {
  /** @throws CallError */
  call<Name extends CallName>(
    name: Name,
    request: object,
    signal: AbortSignal | undefined,
  ): Promise<CallAnswers[Name]>;
  /** Returns the address of an image, or its bytes. */
  image(cell: ImageCell, signal: AbortSignal): string | Promise<Blob>;
  /** Starts the worker that projects vectors. */
  startProjection(): Worker;
}

let transport: Transport | null = null;

/** Chooses the transport of all further calls. */
export function connect(next: Transport): void {
  transport = next;
}

/** Returns the transport. */
export function connected(): Transport {
  if (transport === null) throw new Error("the page has no transport yet");
  return transport;
}

/** Makes a call and returns its answer. */
export const call = <Name extends CallName>(
  name: Name,
  request: object,
  signal?: AbortSignal,
): Promise<CallAnswers[Name]> => connected().call(name, request, signal);

/** A table, at the branch and version that the page shows. */
export interface TableChoice {
  readonly id: readonly string[];
  readonly branch?: string;
  readonly version?: number;
}
