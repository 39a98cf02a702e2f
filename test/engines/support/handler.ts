/** Our handler as a server in a process of its own, as users of other engines have it. */

import { fileURLToPath } from "node:url";
import { exitOf, nextMessage, startProcess } from "../../support/childProcess.js";

const SCRIPT = fileURLToPath(new URL("./handlerProcess.mjs", import.meta.url));
export const API_KEY = "a key of the engines";

export interface Handler extends AsyncDisposable {
  /** Without a slash at the end. */
  readonly url: string;
}

/**
 * Serves a directory on a free port of the loopback, by the built package.
 * @param options of the handler, as JSON; callers need {@link API_KEY} unless they say otherwise
 */
export async function startHandler(root: string, options: object = {}): Promise<Handler> {
  const child = startProcess(SCRIPT, [root, JSON.stringify({ auth: { apiKeys: [API_KEY] }, ...options })]);
  const port = await nextMessage(child);
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await exitOf(child);
    },
  };
}
