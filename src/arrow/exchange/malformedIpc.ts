/** The error for bytes that are no Arrow IPC data. */

import { InvalidInputError } from "../../errors.js";

export function malformedIpc(what: string, cause?: unknown): InvalidInputError {
  const message = `malformed Arrow IPC data: ${what}`;
  return new InvalidInputError(message, cause === undefined ? undefined : { cause });
}
