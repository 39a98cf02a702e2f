/** Answers of Node's server in the handler's place are problems, unless another listener answers. */

import { createServer, type Server, type ServerOptions } from "node:http";
import { type AddressInfo, connect } from "node:net";
import express from "express";
import { attachProblemAnswers, toNodeListener } from "tiltyard/rest";
import { afterEach, expect, it } from "vitest";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const echo = toNodeListener(async (request) => new Response(await request.text()));

async function listen(server: Server): Promise<Server> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function send(server: Server, ...pieces: string[]): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const received: Buffer[] = [];
  socket.on("data", (piece) => received.push(piece)).on("error", () => undefined);
  for (const piece of pieces) socket.write(piece);
  return new Promise((resolve) => socket.once("close", () => resolve(Buffer.concat(received).toString())));
}

function expectProblem(answer: string, status: number, type: string, instance = ""): void {
  const [head, body, ...rest] = answer.split("\r\n\r\n");
  expect(rest).toEqual([]);
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [A-Z]`));
  expect(head).toMatch(/\r\ncontent-type: application\/json(\r\n|$)/i);
  expect(head).toMatch(/\r\nx-content-type-options: nosniff(\r\n|$)/i);
  expect(head).toMatch(new RegExp(`\r\ncontent-length: ${body.length}(\r\n|$)`, "i"));
  expect(JSON.parse(body)).toEqual({
    ...{ type: `/errors/${type}`, title: expect.any(String), status, code: 13, instance },
    ...{ detail: expect.stringMatching(/^\w/), error: expect.stringMatching(/^\w/) },
  });
}

const LONG = `GET / HTTP/1.1\r\nhost: x\r\nx-long: ${"x".repeat(20_000)}\r\n\r\n`;
const EXPECTING =
  "POST /p HTTP/1.1\r\nhost: x\r\nexpect: much\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const WARM_UP = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

async function expectProblems(server: Server): Promise<void> {
  expectProblem(await send(server, "no HTTP at all\r\n\r\n"), 400, "bad-request");
  expectProblem(await send(server, "GET / HTTP/1.1\r\nhost x\r\n\r\n"), 400, "bad-request");
  expectProblem(await send(server, LONG), 431, "header-fields-too-large");
  expectProblem(await send(server, EXPECTING), 417, "expectation-failed", "/p");
}

const serverOf = (options: ServerOptions = {}) => createServer(options, echo);

it("an attached server answers with problems from the first connection on", async () => {
  await expectProblems(await listen(attachProblemAnswers(serverOf())));
});

it("a server with only this listener answers with problems from the first request on", async () => {
  const server = await listen(serverOf());
  expect(await send(server, WARM_UP)).toMatch(/^HTTP\/1\.1 200 /);
  await expectProblems(server);
  // The listener also attaches to its second server.
  const secondPort = await listen(serverOf());
  expect(await send(secondPort, WARM_UP)).toMatch(/^HTTP\/1\.1 200 /);
  await expectProblems(secondPort);
  for (const one of [server, secondPort]) {
    expect(one.listenerCount("clientError")).toBe(1);
    expect(one.listenerCount("checkExpectation")).toBe(1);
  }
});

it("a slow request gets a problem", async () => {
  const options = { requestTimeout: 50, headersTimeout: 50, connectionsCheckingInterval: 10 };
  const server = await listen(attachProblemAnswers(serverOf(options)));
  expectProblem(await send(server, "GET / HTTP/1.1\r\nhost: x\r\n"), 408, "request-timeout");
});

it("a body that stops being HTTP gets a problem if there is no answer yet", async () => {
  const server = await listen(attachProblemAnswers(serverOf()));
  const chunked = "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
  expectProblem(await send(server, chunked, "zz\r\n"), 400, "bad-request");
  expectProblem(await send(server, chunked, `1;${"x".repeat(20_000)}\r\n`), 413, "content-too-large");
});

it("a problem is not inserted into an answer, and not sent twice", async () => {
  const server = createServer(
    toNodeListener(async ({ body }) => {
      const answer = new TransformStream<Uint8Array, Uint8Array>();
      const writer = answer.writable.getWriter();
      writer.write(new TextEncoder().encode("begun")).catch(() => undefined);
      body?.pipeTo(new WritableStream()).catch(() => undefined);
      return new Response(answer.readable);
    }),
  );
  await listen(attachProblemAnswers(server));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  let received = "";
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.on("error", () => undefined);
  socket.on("data", (piece) => {
    if (received === "") socket.write("zz\r\n");
    received += String(piece);
  });
  socket.write("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n");
  await closed;
  expect(received).toMatch(/begun/);
  expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
  expect(received).not.toMatch(/malformed/);
  const garbage = "x".repeat(1000);
  const twice = await send(server, garbage, garbage, garbage);
  expect(twice.match(/HTTP\/1\.1/g)).toHaveLength(1);
});

it("other listeners keep answering, whenever they were added", async () => {
  const listenTo = (server: Server) =>
    server
      .on("clientError", (_error, socket) => socket.end("HTTP/1.1 499 Own\r\n\r\n"))
      .on("checkExpectation", (_request, response) => response.writeHead(498).end());
  for (const server of [
    attachProblemAnswers(listenTo(serverOf())),
    listenTo(attachProblemAnswers(serverOf())),
  ]) {
    await listen(server);
    expect(await send(server, WARM_UP)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await send(server, LONG)).toBe("HTTP/1.1 499 Own\r\n\r\n");
    expect(await send(server, EXPECTING)).toMatch(/^HTTP\/1\.1 498 /);
  }
});

it("a framework's server is left alone unless it is attached", async () => {
  const app = express();
  app.use("/lance", echo);
  const server = await listen(createServer(app));
  expect(await send(server, WARM_UP.replace("/", "/lance"))).toMatch(/^HTTP\/1\.1 200 /);
  expect(server.listenerCount("clientError")).toBe(0);
  expect(await send(server, LONG)).toMatch(/^HTTP\/1\.1 431 [\s\S]*\r\n\r\n$/);
  await expectProblems(await listen(attachProblemAnswers(createServer(app))));
});
