/** Calls the server that served the page. Paths are relative, so any base path works. */

import type { FailureAnswer } from "../calls/answers.ts";
import type { CallAnswers } from "../calls.ts";
import { CallError, type CallName, type Transport } from "./calls.ts";

export const httpTransport: Transport = {
  async call<Name extends CallName>(name: Name, request: object, signal: AbortSignal | undefined) {
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
      );
    }
    const answer: unknown = await response.json().catch(() => null);
    if (response.ok && answer !== null) return answer as CallAnswers[Name];
    const { type, message } = (answer as FailureAnswer | null)?.error ?? {
      type: "Internal",
      message: `The server answered with status ${response.status}.`,
    };
    throw new CallError(type, message);
  },

  image: (cell) => `./api/image?of=${encodeURIComponent(JSON.stringify(cell))}`,

  startProjection: () => new Worker(new URL("./projection.worker.ts", import.meta.url), { type: "module" }),
};
