/** The handler behind the servers that programs embed it in, as the README shows it. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import express, { type RequestHandler } from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { type RestHandler, toNodeListener } from "tiltyard/rest";

export type Framework = keyof typeof FRAMEWORKS;

/** Larger than any body of the tests: Express refuses those above 100 kB itself. */
const LIMIT = "1gb";

export const FRAMEWORKS = {
  "node:http": async (handler: RestHandler) => createServer(toNodeListener(handler)),
  Express: async (handler: RestHandler) => behindExpress(handler),
  "Express with express.json": async (handler: RestHandler) =>
    behindExpress(handler, express.json({ limit: LIMIT })),
  "Express with express.raw": async (handler: RestHandler) =>
    behindExpress(handler, express.raw({ type: () => true, limit: LIMIT })),
  async Fastify(handler: RestHandler) {
    const app = fastify();
    const listener = toNodeListener(handler);
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, _payload, done) => done(null));
    app.all("/*", (request, reply) => {
      reply.hijack();
      listener(request.raw, reply.raw);
    });
    await app.ready();
    return app.server;
  },
  async Hono(handler: RestHandler) {
    const app = new Hono();
    app.all("/*", (context) => handler(context.req.raw));
    return createAdaptorServer(app) as Server;
  },
} as const;

export function behindExpress(handler: RestHandler, ...parsers: readonly RequestHandler[]): Server {
  const app = express();
  for (const parser of parsers) app.use(parser);
  app.use(toNodeListener(handler));
  return createServer(app);
}

/** Listens on the loopback; without a slash at the end. */
export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
