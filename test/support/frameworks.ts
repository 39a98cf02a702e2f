/** The handler within the servers of frameworks, as in the README. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { RequestHandler } from "express";
import { type RestHandler, toNodeListener } from "tiltyard/rest";

export const FRAMEWORKS = [
  ...["node:http", "Express", "Express with express.json", "Express with express.raw", "Fastify", "Hono"],
] as const;
export type Framework = (typeof FRAMEWORKS)[number];

/** Larger than any test body: Express refuses bodies above 100 kB. */
const LIMIT = "1gb";

/** Loads a framework on demand: most tests need none. */
export async function serverBehind(framework: Framework, handler: RestHandler): Promise<Server> {
  if (framework === "node:http") return createServer(toNodeListener(handler));
  if (framework === "Fastify") return behindFastify(handler);
  if (framework === "Hono") return behindHono(handler);
  const { default: express } = await import("express");
  if (framework === "Express") return behindExpress(handler);
  return framework === "Express with express.json"
    ? behindExpress(handler, express.json({ limit: LIMIT }))
    : behindExpress(handler, express.raw({ type: () => true, limit: LIMIT }));
}

export async function behindExpress(
  handler: RestHandler,
  ...parsers: readonly RequestHandler[]
): Promise<Server> {
  const { default: express } = await import("express");
  const app = express();
  for (const parser of parsers) app.use(parser);
  app.use(toNodeListener(handler));
  return createServer(app);
}

async function behindFastify(handler: RestHandler): Promise<Server> {
  const { default: fastify } = await import("fastify");
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
}

async function behindHono(handler: RestHandler): Promise<Server> {
  const { Hono } = await import("hono");
  const { createAdaptorServer } = await import("@hono/node-server");
  const app = new Hono();
  app.all("/*", (context) => handler(context.req.raw));
  return createAdaptorServer(app) as Server;
}

/** Listens on the loopback; returns the URL without a trailing slash. */
export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
