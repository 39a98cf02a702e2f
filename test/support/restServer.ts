/** A handler in a server on the loopback, for tests that speak HTTP. */

import type { Server } from "node:http";
import type { DirectoryNamespace } from "tiltyard";
import { createRestHandler, type RestHandler, type RestHandlerOptions } from "tiltyard/rest";
import { type Framework, listen, serverBehind } from "./frameworks.js";

export interface RestServer extends AsyncDisposable {
  /** Without a trailing slash. */
  readonly url: string;
  readonly handler: RestHandler;
  readonly server: Server;
}

/** Everybody may call, unless the options say otherwise. */
export async function startRestServer(
  namespace: DirectoryNamespace,
  options: RestHandlerOptions = {},
  framework: Framework = "node:http",
): Promise<RestServer> {
  const handler = createRestHandler(namespace, { auth: { anonymous: true }, ...options });
  const server = await serverBehind(framework, handler);
  // A busy machine could close an idle connection just as the next request uses it.
  server.keepAliveTimeout = 0;
  return {
    url: await listen(server),
    handler,
    server,
    async [Symbol.asyncDispose]() {
      await handler.close({ graceMs: 1000 });
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Status, headers, and the body as JSON if possible, else as bytes. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever is there
  readonly json: any;
  readonly bytes: Uint8Array;
}

/** Posts JSON, or rows as Arrow IPC bytes. */
export async function post(
  { url }: Pick<RestServer, "url">,
  path: string,
  body?: object | null,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const isRows = body instanceof Uint8Array;
  const type = isRows ? "application/vnd.apache.arrow.stream" : "application/json";
  return answerOf(
    await fetch(url + path, {
      method: "POST",
      body: body === undefined ? null : isRows ? (body as BodyInit) : JSON.stringify(body),
      headers: { ...(body === undefined ? {} : { "content-type": type }), ...headers },
    }),
  );
}

export async function get(
  { url }: Pick<RestServer, "url">,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return answerOf(await fetch(url + path, { headers }));
}

async function answerOf(response: Response): Promise<Answer> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  const json = isJson ? JSON.parse(new TextDecoder().decode(bytes)) : undefined;
  return { status: response.status, headers: response.headers, json, bytes };
}
