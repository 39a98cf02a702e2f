/** The error for bytes that are not Arrow IPC data. */

import { InvalidInputError } from "../../errors.js";

export function malformedIpc(what: string, cause?: unknown): InvalidInputError {
  const message = `malformed Arrow IPC data: ${what}`;
  return new InvalidInputError(message, cause === undefined ? undefined : { cause });
}

export function tooLargeIpc(bytes: number, maxBytes: number): InvalidInputError {
  return new InvalidInputError(`a batch has ${bytes} bytes; at most ${maxBytes} are taken at once`);
}

export function truncatedIpc(): InvalidInputError {
  return malformedIpc("it ends in the middle of a message");
}
