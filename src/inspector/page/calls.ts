/** The calls of the page to the server that served it. Paths are relative, so any base path works. */

import type { FailureAnswer } from "../calls/answers.ts";
import type { CallAnswers } from "../calls.ts";

/** Error of a call, with the type that the engine gave it. */
export class CallError extends Error {
  constructor(
    readonly type: string,
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** Calls the server and returns its answer. */
export async function call<Name extends keyof CallAnswers>(
  name: Name,
  request: object,
  signal?: AbortSignal,
): Promise<CallAnswers[Name]> {
  let response: Response;
  try {
    response = await fetch(`./api/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
      credentials: "same-origin",
      ...(signal && { signal }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new CallError(
      "ServiceUnavailable",
      "The inspector does not answer. Is its process still running?",
      0,
    );
  }
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer as CallAnswers[Name];
  const { type, message, status } = (answer as FailureAnswer | null)?.error ?? {
    type: "Internal",
    message: `The server answered with status ${response.status}.`,
    status: response.status,
  };
  throw new CallError(type, message, status);
}

/** Address of an image in a cell. */
export const imageUrl = (cell: object): string =>
  `./api/image?of=${encodeURIComponent(JSON.stringify(cell))}`;

/** A table, at the branch and version that the page shows. */
export interface TableChoice {
  readonly id: readonly string[];
  readonly branch?: string;
  readonly version?: number;
}
