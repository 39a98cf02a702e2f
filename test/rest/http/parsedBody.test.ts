/**
 * The handler gets bodies that other code has read, or refuses the request. It never takes them for empty.
 */

import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import { gzipSync } from "node:zlib";
import { tableFromIPC } from "apache-arrow";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { DirectoryNamespace } from "tiltyard";
import { createRestHandler, type RestHandler, type RestHandlerOptions, toNodeListener } from "tiltyard/rest";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { rowsOf } from "../../support/contract.js";
import { behindExpress, listen } from "../../support/frameworks.js";
import { type Answer, get, post } from "../../support/restServer.js";
import { makeTempDir } from "../../support/tempDir.js";

let namespace: DirectoryNamespace;
const servers: Server[] = [];

beforeEach(async () => {
  namespace = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
  await namespace.createTable({ id: ["t"] }, rowsOf(1, 2, 3));
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  await namespace.close();
});

const handlerOf = (options: RestHandlerOptions = {}) =>
  createRestHandler(namespace, { auth: { anonymous: true }, ...options });

async function serve(server: Server): Promise<{ readonly url: string }> {
  servers.push(server);
  return { url: await listen(server) };
}

type Middleware = (incoming: IncomingMessage & { body?: unknown; rawBody?: unknown }) => unknown;

/** Returns a server whose middleware sees each request before the listener. */
const behind = (middleware: Middleware, handler: RestHandler = handlerOf()) => {
  const listener = toNodeListener(handler);
  return serve(
    createServer((incoming, outgoing) => {
      Promise.resolve(middleware(incoming)).then(() => listener(incoming, outgoing));
    }),
  );
};

const bytesOf = async (incoming: IncomingMessage) => Buffer.concat(await incoming.toArray());
const read = ({ status, bytes, json }: Answer): unknown[] => {
  expect(status, JSON.stringify(json)).toBe(200);
  return Array.from(tableFromIPC(bytes).getChild("v") ?? []);
};
const refused = { status: 500, json: { code: 18, detail: expect.stringMatching(/express\.raw/) } };

/** Expects that the body is used. A body taken for an empty one would read all rows and insert none. */
async function expectServed(server: { readonly url: string }): Promise<void> {
  expect(read(await post(server, "/v1/table/t/query", { k: 1 }))).toEqual([1]);
  expect((await post(server, "/v1/table/t/restore", { version: 9 })).status).toBe(404);
  expect((await post(server, "/v1/table/t/exists")).status).toBe(200);
  expect((await get(server, "/v1/table/t/stats")).json).toMatchObject({ num_indices: 0 });
  expect((await post(server, "/v1/table/t/insert", rowsOf(4))).json).toMatchObject({ num_inserted_rows: 1 });
}

describe("Express", () => {
  it.each([
    ["none", []],
    ["json", [express.json()]],
    ["urlencoded and json", [express.urlencoded(), express.json()]],
    ["raw", [express.raw({ type: () => true })]],
    ["json, then raw", [express.json(), express.raw({ type: () => true })]],
    ["text for JSON", [express.text({ type: "application/json" })]],
  ])("with parsers: %s", async (_, parsers) => {
    await expectServed(await serve(await behindExpress(handlerOf(), ...parsers)));
  });

  it("a text parser of Express makes rows fail instead of damaging them", async () => {
    const server = await serve(await behindExpress(handlerOf(), express.text({ type: () => true })));
    expect(await post(server, "/v1/table/t/insert", rowsOf(4))).toMatchObject(refused);
    expect(read(await post(server, "/v1/table/t/query", { k: 1 }))).toEqual([1]);
    expect(await namespace.countTableRows({ id: ["t"] })).toBe(3);
  });

  it("inflated bodies are accepted", async () => {
    const server = await serve(
      await behindExpress(handlerOf(), express.json(), express.raw({ type: () => true })),
    );
    const send = (path: string, type: string, bytes: Uint8Array) =>
      fetch(`${server.url}/v1/table/t/${path}`, {
        method: "POST",
        headers: { "content-type": type, "content-encoding": "gzip" },
        body: gzipSync(bytes) as BodyInit,
      });
    const answer = await send("query", "application/json", Buffer.from('{"k":2}'));
    expect(tableFromIPC(new Uint8Array(await answer.arrayBuffer())).numRows).toBe(2);
    expect((await send("insert", "application/vnd.apache.arrow.stream", rowsOf(4))).status).toBe(200);
    expect(await namespace.countTableRows({ id: ["t"] })).toBe(4);
  });

  it("a parsed form is refused as a form", async () => {
    const server = await serve(await behindExpress(handlerOf(), express.urlencoded()));
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    expect((await post(server, "/v1/table/t/drop", { x: 1 }, headers)).status).toBe(415);
  });

  it("Express may mount the listener at the handler's base path, at another path, or nowhere", async () => {
    const mounted = (mount: string, basePath: string) => {
      const app = express();
      app.use(mount, express.json(), toNodeListener(handlerOf({ basePath })));
      return serve(createServer(app));
    };
    const cases: [mount: string, basePath: string, servedPath: string][] = [
      ["/lance", "", "/lance"],
      ["/lance", "/lance", "/lance"],
      ["/api", "/lance", "/api/lance"],
      ["/api", "/api/lance", "/api/lance"],
      ["/a%20b", "/a b".replace(" ", "%20"), "/a%20b"],
      ["/", "/lance", "/lance"],
      ["/", "", ""],
    ];
    for (const [mount, basePath, servedPath] of cases) {
      const server = await mounted(mount, basePath);
      const path = `${servedPath}/v1/table/t/query`;
      expect(read(await post(server, path, { k: 2 })), `${mount} ${basePath}`).toEqual([1, 2]);
      expect((await post(server, `${servedPath}${servedPath}/v1/table/t/exists`)).status).toBe(
        servedPath === "" ? 200 : 404,
      );
      const { json } = await post(server, `${servedPath}/v1/table/none/exists`);
      expect(json.instance.endsWith("/v1/table/none/exists")).toBe(true);
    }
  });
});

describe("Fastify", () => {
  const withFastify = async (handler: RestHandler, pass: (raw: IncomingMessage, body: unknown) => void) => {
    const app = fastify();
    const listener = toNodeListener(handler);
    app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
    app.all("/*", (request, reply) => {
      pass(request.raw, request.body);
      reply.hijack();
      listener(request.raw, reply.raw);
    });
    await app.ready();
    return serve(app.server);
  };

  it("the error explains how Fastify passes on its bodies", async () => {
    const server = await withFastify(handlerOf(), () => undefined);
    expect(await post(server, "/v1/table/t/query", { k: 1 })).toMatchObject(refused);
    expect(await post(server, "/v1/table/t/insert", rowsOf(4))).toMatchObject(refused);
    expect((await post(server, "/v1/table/t/exists")).status).toBe(200);
  });

  it("Fastify's passed-on bodies are accepted", async () => {
    await expectServed(await withFastify(handlerOf(), (raw, body) => Object.assign(raw, { body })));
  });
});

describe("a plain server", () => {
  it("a server may pass on bytes, and JSON as text or value", async () => {
    const middlewares: Middleware[] = [
      async (incoming) => {
        incoming.rawBody = await bytesOf(incoming);
      },
      async (incoming) => {
        incoming.body = new Uint8Array(await bytesOf(incoming));
      },
      async (incoming) => {
        const bytes = await bytesOf(incoming);
        incoming.rawBody = incoming.headers["content-type"] === "application/json" ? String(bytes) : bytes;
      },
      async (incoming) => {
        const bytes = await bytesOf(incoming);
        const isJson = incoming.headers["content-type"] === "application/json";
        incoming.body = isJson ? JSON.parse(String(bytes)) : bytes;
      },
    ];
    for (const middleware of middlewares) await expectServed(await behind(middleware));
  });

  it("the error explains a body that was read and not passed on", async () => {
    const middlewares: Middleware[] = [
      (incoming) => bytesOf(incoming),
      async (incoming) => {
        incoming.body = {};
        await bytesOf(incoming);
      },
      async (incoming) => {
        incoming.body = null;
        await bytesOf(incoming);
      },
      async (incoming) => {
        incoming.body = Buffer.alloc(0);
        await bytesOf(incoming);
      },
      // Part of the body, or another form than bytes.
      async (incoming) => {
        await new Promise((resolve) => incoming.once("readable", resolve));
        incoming.read(5);
      },
      (incoming) => void incoming.setEncoding("utf8"),
      (incoming) => void incoming.setEncoding("latin1"),
    ];
    const handler = handlerOf();
    const filler = "x".repeat(100);
    for (const [index, middleware] of middlewares.entries()) {
      const server = await behind(middleware, handler);
      const query = await post(server, "/v1/table/t/query", { k: 1, context: { filler } });
      expect(query, String(index)).toMatchObject(refused);
      expect(await post(server, "/v1/table/t/insert", rowsOf(4)), String(index)).toMatchObject(refused);
      // A caller without permission learns that first.
      const elsewhere = await post(server, "/v1/table/t/query", { k: 1 }, { origin: "http://evil.example" });
      expect(elsewhere.status).toBe(403);
    }
    expect(handler.counters.byStatus[500]).toBe(2 * middlewares.length);
    expect(await namespace.countTableRows({ id: ["t"] })).toBe(3);
  });

  it("an empty object is accepted as a body, but not in place of an unparsed body", async () => {
    const send = async (server: { readonly url: string }, body: string, headers: object) => {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const asked = httpRequest(`${server.url}/v1/table/t/query`, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
        });
        asked.once("response", resolve).once("error", reject).end(body);
      });
      await answer.toArray();
      return answer.statusCode;
    };
    const parsed = (isParsed?: boolean): Middleware => {
      return async (incoming) => {
        await bytesOf(incoming);
        Object.assign(incoming, { body: {} }, isParsed === undefined ? {} : { _body: isParsed });
      };
    };
    const chunked = { "transfer-encoding": "chunked" };
    expect(await send(await behind(parsed()), "{}", {})).toBe(200);
    expect(await send(await behind(parsed(true)), "{}", chunked)).toBe(200);
    expect(await send(await behind(parsed(false)), "{}", chunked)).toBe(500);
    expect(await send(await behind(parsed()), `{"k":1,"offset":1,"with_row_id":true}`, {})).toBe(500);
  });

  it("a value without a JSON form is refused", async () => {
    let deep: unknown[] = [];
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    const server = await behind(async (incoming) => {
      await bytesOf(incoming);
      incoming.body = { deep };
    });
    expect(await post(server, "/v1/table/t/query", { k: 1 })).toMatchObject({
      status: 400,
      json: { code: 13 },
    });
  });
});

it("the error explains a middleware that reads the body", async () => {
  const handler = handlerOf({ basePath: "/lance" });
  const app = new Hono();
  app.use(async (context, next) => {
    if (context.req.header("x-read") === "all") await context.req.text();
    if (context.req.header("x-read") === "part") await context.req.raw.body?.getReader().read();
    await next();
  });
  app.all("/lance/*", (context) => handler(context.req.raw));
  const send = async (path: string, body: BodyInit | null, headers: Readonly<Record<string, string>>) =>
    app.request(`http://localhost/lance/v1/table/t/${path}`, { method: "POST", body, headers });
  const json = { "content-type": "application/json" };
  for (const how of ["all", "part"]) {
    const query = await send("query", '{"k":1}', { ...json, "x-read": how });
    expect(query.status).toBe(500);
    expect(await query.json()).toMatchObject(refused.json);
    expect((await send("insert", rowsOf(4) as BodyInit, { "x-read": how })).status).toBe(500);
  }
  expect((await send("query", '{"k":1}', json)).status).toBe(200);
  expect((await send("exists", null, { "x-read": "all" })).status).toBe(200);
  expect(await namespace.countTableRows({ id: ["t"] })).toBe(3);
});
