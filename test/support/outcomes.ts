/** Outcomes of promises as values. */

import { InvalidInputError, type NamespaceError } from "tiltyard";
import { expect } from "vitest";

/** Returns the error of a promise that rejects; null if it resolves. */
export const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  );

/** Returns true if the promise resolves, false if it rejects. */
export const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/** Returns the type of the error of a promise that rejects; "none" if it resolves. */
export const typeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error: NamespaceError) => error.type,
  );

/** Checks that a call is refused as invalid, with a text in the message. */
export async function expectInvalid(outcome: Promise<unknown>, message: string): Promise<void> {
  const error: unknown = await outcome.catch((reason) => reason);
  expect(error).toBeInstanceOf(InvalidInputError);
  expect((error as Error).message).toContain(message);
}
