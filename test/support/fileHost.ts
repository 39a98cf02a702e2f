/** A host of files on `node:http`, which counts requests, and may misbehave like real ones. */

import { open, readFile, stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

/** A request that the host has answered. */
export interface SeenRequest {
  readonly method: string;
  /** Path below the root, decoded. */
  readonly path: string;
  readonly range: string | null;
  readonly status: number;
  /** Bytes of the body. */
  readonly byteLength: number;
}

/** Answers a request in place of the host. Returns false to let the host answer. */
export type Misbehaviour = (
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
) => boolean | Promise<boolean>;

export interface FileHost extends AsyncDisposable {
  /** URL of the directory, with a slash at the end. */
  readonly url: string;
  readonly requests: SeenRequest[];
  /** Sum of the bodies' bytes. */
  readonly byteLength: number;
  misbehave: Misbehaviour | null;
  /** Headers of each answer, such as those that let pages of other origins read. */
  headers: Readonly<Record<string, string>>;
  reset(): void;
}

const TYPES: Readonly<Record<string, string>> = { html: "text/html", js: "text/javascript" };

const typeOf = (path: string): string => TYPES[path.split(".").at(-1) ?? ""] ?? "application/octet-stream";

/** Serves a directory. @param latencyMs wait before each answer */
export async function startFileHost(directory: string, latencyMs = 0): Promise<FileHost> {
  const requests: SeenRequest[] = [];
  const note = (request: IncomingMessage, path: string, status: number, byteLength: number): void => {
    const range = request.headers.range ?? null;
    requests.push({ method: request.method ?? "", path, range, status, byteLength });
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs));
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://host").pathname).slice(1);
    for (const [name, value] of Object.entries(host.headers)) response.setHeader(name, value);
    if (request.method === "OPTIONS") {
      note(request, path, 204, 0);
      response.writeHead(204).end();
      return;
    }
    if (host.misbehave !== null && (await host.misbehave(request, response, path))) {
      note(request, path, response.statusCode, 0);
      return;
    }
    const file = join(directory, path);
    const found = await stat(file).catch(() => null);
    if (found === null || !found.isFile()) {
      note(request, path, 404, 0);
      response.writeHead(404).end();
      return;
    }
    const etag = `"${found.size.toString(16)}-${found.mtimeMs.toString(16)}"`;
    const headers = { etag, "accept-ranges": "bytes", "content-type": typeOf(path) };
    const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
    if (first === undefined || request.method === "HEAD") {
      const bytes = request.method === "HEAD" ? Buffer.alloc(0) : await readFile(file);
      note(request, path, 200, bytes.length);
      response.writeHead(200, { ...headers, "content-length": found.size }).end(bytes);
      return;
    }
    const start = first === "" ? Math.max(0, found.size - Number(last)) : Number(first);
    const end = first === "" || last === "" ? found.size : Math.min(found.size, Number(last) + 1);
    if (start >= end) {
      note(request, path, 416, 0);
      response.writeHead(416, { "content-range": `bytes */${found.size}` }).end();
      return;
    }
    const bytes = Buffer.alloc(end - start);
    const handle = await open(file);
    await handle.read(bytes, 0, bytes.length, start);
    await handle.close();
    note(request, path, 206, bytes.length);
    response
      .writeHead(206, {
        ...headers,
        "content-length": bytes.length,
        "content-range": `bytes ${start}-${end - 1}/${found.size}`,
      })
      .end(bytes);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch((error) => response.destroy(error));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host: FileHost = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests,
    misbehave: null,
    headers: {},
    get byteLength() {
      return requests.reduce((sum, { byteLength }) => sum + byteLength, 0);
    },
    reset: () => void requests.splice(0),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return host;
}
