/** The class behind HTTP and its client, for suites of the class: each instance has a server of its own. */

import { connectRest, type RestNamespace } from "../../src/client/restNamespace.js";
import type { RestOptions } from "../../src/client/restOptions.js";
import { DirectoryNamespace } from "../../src/DirectoryNamespace.js";
import type { DirectoryNamespaceOptions } from "../../src/namespace/options.js";
import type { RestHandlerOptions } from "../../src/rest/handler.js";
import { type RestServer, startRestServer } from "./restServer.js";

/** A client whose server starts with the first request. */
export interface ServedNamespace extends RestNamespace {
  readonly engine: DirectoryNamespace;
}

/** Connects a client to a server of an engine. Closing the client closes both. */
export function serve(
  engine: DirectoryNamespace,
  options: Partial<RestOptions> = {},
  served: RestHandlerOptions = {},
): ServedNamespace {
  let server: Promise<RestServer> | undefined;
  const client = connectRest({
    uri: "http://client.test",
    retry: { retries: 2, delayMs: 1 },
    fetch: async (url, init) => {
      server ??= startRestServer(engine, served);
      return fetch(url.replace("http://client.test", (await server).url), init);
    },
    ...options,
  });
  const close = client.close.bind(client);
  return Object.assign(client, {
    engine,
    async close() {
      await close();
      if (server !== undefined) await (await server)[Symbol.asyncDispose]();
      await engine.close();
    },
  });
}

/** Stands for the class in its suites. */
export class ClientNamespace {
  /** Lets tests skip what needs the engine in the same process. */
  static readonly overHttp = true;

  constructor(options: DirectoryNamespaceOptions) {
    const engine = new DirectoryNamespace(options);
    const client = serve(engine);
    Object.defineProperty(client, "root", { value: engine.root });
    // biome-ignore lint/correctness/noConstructorReturn: the client has the methods
    return client as unknown as ClientNamespace;
  }
}
