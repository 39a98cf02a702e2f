/** The listener over raw sockets, with difficult clients: every request ends and releases its resources. */

import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type FetchHandler, toNodeListener } from "tiltyard/rest";
import { afterEach, expect, it } from "vitest";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const servers: Server[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

interface Client {
  readonly socket: Socket;
  text(): string;
  /** Settles when the connection has ended. */
  readonly end: Promise<void>;
}

async function serve(handler: FetchHandler) {
  const server = createServer(toNodeListener(handler));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = (keep = true): Client => {
    const socket = connect(port, "127.0.0.1");
    sockets.push(socket);
    const pieces: Buffer[] = [];
    socket.on("data", (piece) => {
      if (keep) pieces.push(piece);
    });
    socket.on("error", () => undefined);
    const end = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    return { socket, text: () => Buffer.concat(pieces).toString("latin1"), end };
  };
  const connections = () =>
    new Promise<number>((resolve, reject) =>
      server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
  return { server, client, connections };
}

const get = (path: string, ...lines: string[]) =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;
const postChunked = (path: string) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n`;
const pathOf = ({ url }: Request) => new URL(url).pathname;
const soon = () => new Promise((resolve) => setTimeout(resolve, 20));

/** Returns a body without an end, until it is cancelled. */
function endless(pieceBytes = 2 ** 16) {
  const state = { pieces: 0, released: 0 };
  let fail: (error: Error) => void = () => undefined;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        fail = (error) => controller.error(error);
      },
      async pull(controller) {
        await new Promise((resolve) => setImmediate(resolve));
        state.pieces++;
        controller.enqueue(new Uint8Array(pieceBytes));
      },
      cancel() {
        state.released++;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, state, fail: (error: Error) => fail(error) };
}

it("sent pieces of an answer are released", async () => {
  let held = Number.NaN;
  const before = () => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  const { client } = await serve(() => {
    const start = before();
    let pieces = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (++pieces <= 200) return controller.enqueue(new Uint8Array(2 ** 20));
          held = before() - start;
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(body);
  });
  const { socket, end } = client(false);
  socket.write(get("/", "connection: close"));
  await end;
  expect(held).toBeLessThan(64 * 2 ** 20);
});

it("an answer waits for a client that does not read, and ends with its source", async () => {
  const { body, state, fail } = endless();
  const { client, connections } = await serve(() => new Response(body));
  const { socket } = client();
  socket.pause();
  socket.write(get("/"));
  // The answer continues until the buffers of both sides are full.
  let seen = -1;
  await expect
    .poll(
      () => {
        const isStill = seen === state.pieces && seen > 0;
        seen = state.pieces;
        return isStill;
      },
      { interval: 100 },
    )
    .toBe(true);
  fail(new Error("the time is up"));
  await expect.poll(connections).toBe(0);
});

it("an answer is released when its client leaves, read or unread", async () => {
  for (const reads of [true, false]) {
    const { body, state } = endless();
    let aborted = 0;
    const { client, connections } = await serve(({ signal }) => {
      signal.addEventListener("abort", () => aborted++);
      return new Response(body);
    });
    const { socket } = client(false);
    if (!reads) socket.pause();
    socket.write(get("/"));
    await expect.poll(() => state.pieces).toBeGreaterThan(10);
    socket.destroy();
    await expect.poll(() => state.released).toBe(1);
    expect(aborted).toBe(1);
    await expect.poll(connections).toBe(0);
  }
});

it("an answer is released if its client left before", async () => {
  const { body, state } = endless();
  let answer: (response: Response) => void = () => undefined;
  let left = 0;
  const { client } = await serve(({ signal }) => {
    signal.addEventListener("abort", () => left++);
    return new Promise((resolve) => {
      answer = resolve;
    });
  });
  const { socket } = client();
  socket.write(get("/"));
  await soon();
  socket.destroy();
  await expect.poll(() => left).toBe(1);
  answer(new Response(body));
  await expect.poll(() => state).toEqual({ pieces: 0, released: 1 });
});

it("an answer that can't be sent is released", async () => {
  const { body, state } = endless();
  // No handler of this package returns such an answer; Headers accepts values that Node's server refuses.
  const broken = new Response(body);
  Object.defineProperty(broken, "status", { value: 42 });
  const { client } = await serve(() => broken);
  const { socket, end } = client();
  socket.write(get("/"));
  await end;
  await expect.poll(() => state.released).toBe(1);
});

it("an answer that breaks off does not look complete", async () => {
  const { client } = await serve(() => {
    const { body, fail } = endless(100);
    setTimeout(() => fail(new Error("broken")), 50);
    return new Response(body);
  });
  const { socket, text, end } = client();
  socket.write(get("/"));
  await end;
  expect(text()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(text()).not.toMatch(/\r\n0\r\n\r\n$/);
});

it("an answer over HTTP/1.0 ends with the connection", async () => {
  const { client } = await serve(() => new Response(new Blob(["all of it"]).stream()));
  const { socket, text, end } = client();
  socket.write("GET / HTTP/1.0\r\n\r\n");
  await end;
  expect(text()).toMatch(/\r\n\r\nall of it$/);
  expect(text()).not.toMatch(/transfer-encoding/i);
});

it("an answer to HEAD has no body, and none is made", async () => {
  const { body, state } = endless();
  const { client } = await serve(({ method }) => new Response(method === "HEAD" ? body : "next"));
  const { socket, text } = client();
  socket.write(`HEAD / HTTP/1.1\r\nhost: x\r\n\r\n`);
  await expect.poll(() => state.released).toBe(1);
  expect(state.pieces).toBeLessThan(3);
  socket.write(get("/"));
  await expect.poll(text).toMatch(/\r\n\r\nHTTP\/1\.1 200 OK\r\n[\s\S]*next/);
});

it("headers of an answer are sent one by one, including cookies", async () => {
  const headers = new Headers({ "x-text": "grün" });
  headers.append("set-cookie", "a=1; Path=/");
  headers.append("set-cookie", "b=2, c=3");
  headers.append("vary", "accept");
  headers.append("vary", "origin");
  const { client } = await serve(() => new Response("", { headers }));
  const { socket, text, end } = client();
  socket.write(get("/", "connection: close"));
  await end;
  const lines = text().split("\r\n");
  expect(lines.filter((line) => /^set-cookie/i.test(line))).toEqual([
    "set-cookie: a=1; Path=/",
    "set-cookie: b=2, c=3",
  ]);
  expect(lines).toContain("vary: accept, origin");
  expect(lines).toContain("x-text: grün");
});

it("a pipelined request waits for its turn", async () => {
  const order: string[] = [];
  const { client } = await serve(async (request) => {
    const name = `${pathOf(request)}${await request.text()}`;
    order.push(`begin ${name}`);
    await soon();
    order.push(`end ${name}`);
    return new Response(name);
  });
  const { socket, text } = client();
  const post = (body: string) => `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n${body}`;
  socket.write(post("1") + post("2") + get("/3") + post("4"));
  await expect.poll(text).toMatch(/\/1[\s\S]*\/2[\s\S]*\/3[\s\S]*\/4/);
  expect(order).toEqual(["/1", "/2", "/3", "/4"].flatMap((name) => [`begin ${name}`, `end ${name}`]));
});

it("pipelined requests never begin if the client leaves", async () => {
  const begun: string[] = [];
  let ended = 0;
  const { client, connections } = await serve((request) => {
    begun.push(pathOf(request));
    return new Promise((resolve) => {
      request.signal.addEventListener("abort", () => {
        ended++;
        resolve(new Response("x".repeat(2 ** 20)));
      });
    });
  });
  const { socket } = client();
  socket.write(Array.from({ length: 50 }, (_, index) => get(`/${index}`)).join(""));
  await expect.poll(() => begun.length).toBeGreaterThan(0);
  await soon();
  socket.destroy();
  await expect.poll(connections).toBe(0);
  expect(begun).toEqual(["/0"]);
  expect(ended).toBe(1);
});

it("an unread body does not block the connection", async () => {
  const { client } = await serve((request) => new Response(`<${pathOf(request)}>`));
  const { socket, text } = client();
  const body = "x".repeat(2 ** 20);
  socket.write(`${postChunked("/1")}100000\r\n${body}\r\n0\r\n\r\n`);
  socket.write(`POST /2 HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  socket.write(get("/3"));
  await expect.poll(text).toMatch(/<\/1>[\s\S]*<\/2>[\s\S]*<\/3>/);
});

it("a body whose rest arrived while the thread was busy does not close the connection", async () => {
  const { client } = await serve((request) => new Response(`<${pathOf(request)}>`));
  const { socket, text } = client();
  const body = "x".repeat(2 ** 17);
  socket.write(`POST /1 HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\nx`);
  await new Promise((resolve) => socket.once("data", resolve));
  socket.write(body.slice(1) + get("/2"));
  // Longer than the listener waits for the rest of a body.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1200);
  await expect.poll(text).toMatch(/<\/1>[\s\S]*<\/2>/);
});

it("a body that breaks off is an error for its reader", async () => {
  for (const begin of [
    "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n1234",
    `${postChunked("/")}4\r\n1234\r\n`,
    `${postChunked("/")}4\r\n1234\r\nzz\r\n`,
  ]) {
    let outcome: unknown;
    const { client } = await serve(async (request) => {
      outcome = await request.text().catch((error: unknown) => error);
      return new Response();
    });
    const { socket } = client();
    socket.write(begin);
    await soon();
    socket.destroy();
    await expect.poll(() => outcome).toBeInstanceOf(Error);
  }
});

it("a body arrives no faster than it is read", async () => {
  let read: (() => Promise<number>) | undefined;
  const { client } = await serve(async (request) => {
    const reader = request.body?.getReader();
    await new Promise<void>((resolve) => {
      read = async () => {
        const next = await reader?.read();
        if (next?.done !== false) resolve();
        return next?.value?.length ?? 0;
      };
    });
    return new Response();
  });
  const { socket } = client();
  const piece = Buffer.alloc(2 ** 16);
  let sent = 0;
  socket.write(postChunked("/"));
  const pump = () => {
    do sent += piece.length;
    while (socket.write(`10000\r\n${piece}\r\n`) && sent < 2 ** 28);
  };
  socket.on("drain", pump);
  pump();
  let seen = -1;
  await expect
    .poll(
      () => {
        const isStill = seen === socket.bytesWritten;
        seen = socket.bytesWritten;
        return isStill;
      },
      { interval: 200 },
    )
    .toBe(true);
  expect(sent).toBeLessThan(2 ** 26);
  let taken = 0;
  while (taken < seen) taken += (await read?.()) ?? 0;
  expect(socket.bytesWritten).toBeGreaterThan(seen);
});

it("a body in small pieces is complete and stays in the socket until it is read", async () => {
  let read: () => void = () => undefined;
  const { client } = await serve(async (request) => {
    await new Promise<void>((resolve) => {
      read = resolve;
    });
    return new Response(`${(await request.text()).length} bytes`);
  });
  const { socket, text } = client();
  const crumbs = "1\r\nx\r\n".repeat(100_000);
  collect();
  const before = process.memoryUsage().heapUsed;
  socket.write(`${postChunked("/")}${crumbs}0\r\n\r\n`);
  for (let round = 0; round < 10; round++) await soon();
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(2 ** 23);
  read();
  await expect.poll(text).toMatch(/100000 bytes/);
});

it("a client that expects 100-continue may continue", async () => {
  const { client } = await serve(async (request) => new Response(`got ${await request.text()}`));
  const { socket, text } = client();
  socket.write("POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n");
  await expect.poll(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  socket.write("body");
  await expect.poll(text).toMatch(/got body/);
});

it("a target without a path, and a method unknown to fetch, get an answer", async () => {
  const { client } = await serve((request) => new Response(request.url));
  for (const head of [
    "OPTIONS * HTTP/1.1",
    "GET http://[broken/ HTTP/1.1",
    "GET http://u:p@x/ HTTP/1.1",
    "TRACE / HTTP/1.1",
  ]) {
    const { socket, text, end } = client();
    socket.write(`${head}\r\nhost: x\r\nconnection: close\r\n\r\n`);
    await end;
    expect(text(), head).toMatch(/^HTTP\/1\.1 400 [\s\S]*content-type: application\/json/i);
    expect(text(), head).toContain(`"instance":"${head.split(" ")[1]}"`);
    expect(text(), head).toContain('"code":13');
  }
});

it("a connection with too many pipelined requests is cut", async () => {
  const begun: string[] = [];
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const { client } = await serve(async (request) => {
    begun.push(new URL(request.url).pathname);
    await held;
    return new Response("done");
  });
  const patient = client();
  patient.socket.write(Array.from({ length: 17 }, (_, index) => get(`/${index}`)).join(""));
  await expect.poll(() => begun).toEqual(["/0"]);
  const greedy = client();
  greedy.socket.write(Array.from({ length: 18 }, (_, index) => get(`/greedy-${index}`)).join(""));
  await greedy.end;
  expect(greedy.text()).toBe("");
  letGo();
  await expect.poll(() => patient.text().split("done").length - 1).toBe(17);
  expect(begun.filter((path) => path.startsWith("/greedy"))).toEqual(["/greedy-0"]);
  // Answered requests make room for others.
  patient.socket.write(Array.from({ length: 17 }, (_, index) => get(`/more-${index}`)).join(""));
  await expect.poll(() => patient.text().split("done").length - 1).toBe(34);
});

it("no request of a cut connection begins, however quick the answers", async () => {
  const begun: string[] = [];
  const { client } = await serve((request) => {
    begun.push(pathOf(request));
    return new Response("done");
  });
  const greedy = client();
  greedy.socket.write(Array.from({ length: 40 }, (_, index) => get(`/${index}`)).join(""));
  await greedy.end;
  await soon();
  // The first request began before the others arrived.
  expect(begun).toEqual(["/0"]);
});

it("the parser drops requests that arrived together with the one too many", async () => {
  const { server, client } = await serve(() => new Promise<Response>(() => undefined));
  let parsed = 0;
  server.on("request", () => {
    parsed++;
  });
  const greedy = client();
  greedy.socket.write(Array.from({ length: 400 }, (_, index) => get(`/${index}`)).join(""));
  await greedy.end;
  await soon();
  // The request in progress, those that may wait, and the one too many.
  expect(parsed).toBe(1 + 16 + 1);
});

it("pipelined requests leave the thread to other connections", async () => {
  const begun: string[] = [];
  let sentAfter = 0;
  const { client } = await serve((request) => {
    const path = pathOf(request);
    begun.push(path);
    if (path === "/greedy-1" && sentAfter === 0) {
      sentAfter = begun.length;
      secondClient.socket.write(get("/other"));
    }
    const until = performance.now() + 2;
    while (performance.now() < until);
    return new Response("done");
  });
  const secondClient = client();
  secondClient.socket.write(get("/first"));
  await expect.poll(secondClient.text).toContain("done");
  const greedy = Array.from({ length: 60 }, () => client());
  for (const { socket } of greedy) {
    socket.write(Array.from({ length: 3 }, (_, index) => get(`/greedy-${index}`)).join(""));
  }
  await expect.poll(() => begun.length).toBe(2 + 60 * 3);
  // Without taking turns, sixty would have begun.
  expect(begun.indexOf("/other") - sentAfter).toBeLessThan(30);
});
