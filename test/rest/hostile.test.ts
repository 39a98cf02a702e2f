/**
 * Hostile requests, generated from a printed seed: each gets a typed answer, none changes a byte on disk, and
 * memory stays bounded.
 */

import { Agent, request as httpRequest } from "node:http";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Binary, Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import fc from "fast-check";
import { createRestHandler } from "tiltyard/rest";
import { z } from "zod";
import { Refusal } from "../../src/rest/wire/problem.js";
import type { Route } from "../../src/rest/wire/route.js";
import { innerPath, RouteFinder } from "../../src/rest/wire/routeFinder.js";
import { ROUTES } from "../../src/rest/wire/routes.js";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { RUN_SEED, runsOf } from "../support/effort.js";
import { afterAll, beforeAll, expect, it, sharedNamespace } from "../support/fixtures.js";
import { get, post, type RestServer, startRestServer } from "../support/restServer.js";

const { compress } = createRequire(import.meta.url)("lz4js") as { compress(bytes: Uint8Array): Uint8Array };

const REQUESTS = runsOf("HOSTILE_REQUESTS", 5000);
const PARALLEL = 16;
/** Allowed difference in bytes of the heap and its buffers before and after. */
const MEMORY_SLACK = 24 * 2 ** 20;
const LIMITS = { maxJsonBytes: 2 ** 16, maxBodyBytes: 2 ** 22, maxBatchBytes: 2 ** 20, bodyIdleMs: 250 };

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const namespace = sharedNamespace();
const { root } = namespace;
let server: RestServer;
const agent = new Agent({ keepAlive: true, maxSockets: PARALLEL });
const rows = tableToIPC(new Table({ v: vectorFromArray([1, 2, 3], new Int32()) }));

beforeAll(async () => {
  server = await startRestServer(namespace, { limits: LIMITS });
  // Avoids connections that close during a request, which this test does not cover.
  server.server.keepAliveTimeout = 120_000;
  await namespace.createNamespace({ id: ["n"] });
  await namespace.createTable({ id: ["t"] }, rows);
  await namespace.createTable({ id: ["n", "t"] }, rows);
  await namespace.createTableTag({ id: ["t"], tag: "tag", version: 1 });
  await namespace.createTableBranch({ id: ["t"], name: "branch" });
});
afterAll(async () => {
  agent.destroy();
  await server[Symbol.asyncDispose]();
});

interface Hostile {
  readonly kind: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

const mutating = ROUTES.filter(({ path }) => path.includes("{id}"));
const withJson = ROUTES.filter(
  (route): route is Route & { body: z.ZodObject } => route.body instanceof z.ZodObject,
);

const route = fc.constantFrom(...mutating.filter(({ object }) => object !== "transaction"));
const fill = (path: string, id: string) =>
  path
    .replace("{id}", () => id)
    .replace("{index_name}", "some_index")
    .replaceAll(/\{\w+\}/g, "x");

/** Ids that no object can have. */
const badId = fc.oneof(
  fc.constantFrom(
    ...[
      "..%2f..%2fetc%2fpasswd",
      "%2e%2e",
      "%2e%2e%2f",
      "..%5c..%5cwindows",
      "%00",
      "t%00",
      "%",
      "%zz",
      "%ff%fe",
    ],
    ...[
      "%c0%ae%c0%ae",
      "$$",
      "$t",
      "t$",
      "n$$t",
      "n$..",
      "n$%2e%2e",
      "n$..%2f..%2ft",
      "%2fetc%2fpasswd",
      "t%2f..%2ft",
    ],
    ...[
      "t%0d%0aset-cookie:%20x",
      "n$t%0a",
      "n$%1b%5b31m",
      "%ed%a0%80",
      "n$%7f",
      "n$",
      "n$a%5cb",
      "t.lance%2f",
    ],
  ),
  fc.integer({ min: 201, max: 6000 }).map((length) => "x".repeat(length)),
  fc.integer({ min: 201, max: 1000 }).map((length) => `n$${"%C3%A9".repeat(length)}`),
);

const badPath = fc.tuple(route, badId).map(([{ methods, path }, id]): Hostile => {
  // An id such as t$ is impossible for a namespace as well.
  const sent = methods[0] === "GET" ? {} : { headers: JSON_TYPE, body: "{}" };
  return { kind: "id", method: methods[0], path: fill(path, id), ...sent };
});

const finder = new RouteFinder(ROUTES);
const noPath = fc
  .tuple(
    fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"),
    fc.array(fc.constantFrom("v1", "table", "t", "..", ".", "%2e%2e", "", "insert", "%2f", "~", "$"), {
      maxLength: 8,
    }),
  )
  .map(([method, parts]): Hostile => ({ kind: "path", method, path: `/x/${parts.join("/")}` }))
  // Dots may lead back to a route.
  .filter(({ method, path }) => {
    const { pathname } = new URL(`http://localhost${path}`);
    return finder.find(method, innerPath(pathname, "")) instanceof Refusal;
  });

const JSON_TYPE = { "content-type": "application/json" };

/** A body that is valid except for the type of one member. */
const badMember = fc
  .tuple(fc.constantFrom(...withJson), fc.nat(), fc.integer({ min: 0, max: 7 }))
  .map(([{ path, body }, which, how]): Hostile | null => {
    const members = Object.entries(body.shape as Record<string, z.ZodType>);
    const [name, type] = members[which % members.length];
    const wrong = [-1, 1.5, "text", true, {}, [], [[[]]], { a: { b: 1 } }].find(
      (value, index) => index >= how && !type.safeParse(value).success,
    );
    if (wrong === undefined) return null;
    const required = Object.fromEntries(
      members
        .filter(([member, { def }]) => member !== name && def.type !== "optional" && def.type !== "nullable")
        .map(([member]) => [member, "x"]),
    );
    const sent = JSON.stringify({ ...required, [name]: wrong });
    return { kind: "member", method: "POST", path: fill(path, "t"), headers: JSON_TYPE, body: sent };
  })
  .filter((hostile): hostile is Hostile => hostile !== null);

const deep = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);

const badJson = fc
  .tuple(
    fc.constantFrom(...withJson),
    fc.oneof(
      fc.constantFrom(
        ...["{", "[1,2]", '"text"', "1", "{}}", "{'a':1}", "nul", "\u0000", '{"id":["t"]', "NaN"],
        ...[
          '{"__proto__":{"polluted":1}}',
          '{"id":["t"],"context":{"__proto__":"x"}}',
          '{"a":{"b":{"__proto__":[]}}}',
        ],
      ),
      fc.integer({ min: 65, max: 20_000 }).map((depth) => deep(depth, "[", "]")),
      fc.integer({ min: 65, max: 10_000 }).map((depth) => `{"id":${deep(depth, '{"a":[', "]}")}}`),
      fc.integer({ min: 1, max: 20 }).map((n) => `{"a":"${"x".repeat(LIMITS.maxJsonBytes * n)}"}`),
      fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Uint8Array.of(0x7b, 0xff, ...bytes)),
    ),
  )
  .map(
    ([{ path }, body]): Hostile => ({
      kind: "json",
      method: "POST",
      path: fill(path, "t"),
      headers: JSON_TYPE,
      body,
    }),
  );

const badHeaders = fc
  .tuple(
    fc.constantFrom(...withJson),
    fc.constantFrom<Record<string, string>>(
      { "content-type": "text/plain" },
      { "content-type": "application/x-www-form-urlencoded" },
      { "content-type": "application/json", "content-encoding": "gzip" },
      { "content-type": "application/json", "content-encoding": "deflate, br" },
      { "content-type": "multipart/form-data; boundary=x" },
    ),
  )
  .map(
    ([{ path }, headers]): Hostile => ({
      kind: "headers",
      method: "POST",
      path: fill(path, "t"),
      headers,
      body: "{ }",
    }),
  );

const badQuery = fc
  .tuple(
    fc.constantFrom(
      "/v1/namespace/$/list",
      "/v1/namespace/n/table/list",
      "/v1/table",
      "/v1/table/t/version/list",
    ),
    fc.constantFrom(
      ...[
        "limit=0",
        "limit=-1",
        "limit=1e3",
        "limit=99999999999999999999",
        "limit=",
        "limit=%00",
        "limit=1&limit=2",
      ],
      ...["limit=0x10", "limit=NaN", "limit=1.5", "limit=%F0%9F%98%80", "limit[]=1&limit=a"],
    ),
  )
  .map(([path, query]): Hostile => ({ kind: "query", method: "GET", path: `${path}?${query}` }));

const badIdQuery = fc
  .tuple(
    fc.constantFrom("describe", "exists", "stats", "restore", "branches/list", "version/describe"),
    fc.constantFrom("delimiter=", "delimiter=t", "delimiter=a&delimiter=b", "delimiter=%00x"),
  )
  .map(([tail, query]): Hostile => {
    return {
      kind: "query",
      method: "POST",
      path: `/v1/table/n$nowhere/${tail}?${query}`,
      headers: JSON_TYPE,
    };
  });

const ARROW_TYPE = { "content-type": "application/vnd.apache.arrow.stream" };
/** Schema and rows of table t without the end marker. */
const openStream = rows.subarray(0, rows.length - 8);
/** 4 MiB of zeros in a few thousand bytes. */
const zeros = compress(new Uint8Array(2 ** 22));

const message = (metadataLength: number, rest: Uint8Array) => {
  const head = new Uint8Array(8 + rest.length);
  const view = new DataView(head.buffer);
  view.setUint32(0, 0xffffffff, true);
  view.setInt32(4, metadataLength, true);
  head.set(rest, 8);
  return head;
};
const join = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));

/** Bytes after a valid start, or alone. */
const badTail = fc.oneof(
  fc
    .tuple(fc.integer({ min: 1, max: 2 ** 31 - 1 }), fc.uint8Array({ maxLength: 200 }))
    .map(([length, rest]) => message(length, rest)),
  fc.uint8Array({ minLength: 9, maxLength: 400 }).map((bytes) => Uint8Array.of(1, ...bytes)),
  fc.constant(join(message(16, zeros))),
);

/** A valid message with changed bytes and an invalid end. */
const changed = fc
  .tuple(fc.array(fc.tuple(fc.nat(rows.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }), badTail)
  .map(([changes, tail]) => {
    const copy = openStream.slice();
    for (const [offset, value] of changes) copy[offset % copy.length] = value;
    return join(copy, tail);
  });

const badRows = fc
  .tuple(
    fc.constantFrom("/v1/table/t/insert", "/v1/table/t/insert?mode=overwrite", "/v1/table/n$new/create"),
    fc.oneof(
      fc.constant(new Uint8Array(0)),
      fc.uint8Array({ minLength: 1, maxLength: 2000 }),
      badTail,
      changed,
      fc.tuple(badTail).map(([tail]) => join(openStream, tail)),
      // Never at the end of a message, where a stream may end.
      fc.integer({ min: 1, max: 100 }).map((missing) => openStream.subarray(0, openStream.length - missing)),
      fc.constant(largeBatch()),
      fc.constant(compressedBomb()),
    ),
  )
  .map(([path, body]): Hostile => ({ kind: "rows", method: "POST", path, headers: ARROW_TYPE, body }));

function largeBatch(): Uint8Array {
  const values = vectorFromArray([new Uint8Array(LIMITS.maxBatchBytes + 1)], new Binary());
  return tableToIPC(new Table({ v: values }));
}

function compressedBomb(): Uint8Array {
  const plain = tableToIPC(
    new Table({ v: vectorFromArray([new Uint8Array(zeros.length + 8)], new Binary()) }),
  );
  const copy = plain.slice();
  // The bytes are a frame without the mark of compression, so the rows are only unusual.
  copy.set(zeros, copy.length - 16 - zeros.length);
  return join(copy.subarray(0, copy.length - 8), message(2 ** 30, zeros));
}

const hostile = fc.oneof(
  { weight: 3, arbitrary: badPath },
  { weight: 1, arbitrary: noPath },
  { weight: 4, arbitrary: badMember },
  { weight: 2, arbitrary: badJson },
  { weight: 1, arbitrary: badHeaders },
  { weight: 1, arbitrary: badQuery },
  { weight: 1, arbitrary: badIdQuery },
  { weight: 4, arbitrary: badRows },
);

interface Got {
  readonly status: number;
  readonly body: string;
}

function send({ method, path, headers = {}, body }: Hostile): Promise<Got> {
  const { port } = server.server.address() as { port: number };
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ host: "127.0.0.1", port, agent, method, path, headers }, (incoming) => {
      const pieces: Buffer[] = [];
      incoming.on("data", (piece) => pieces.push(piece));
      incoming.on("end", () =>
        resolve({ status: incoming.statusCode ?? 0, body: Buffer.concat(pieces).toString() }),
      );
      incoming.on("error", reject);
    });
    outgoing.on("error", (error) =>
      reject(new Error(`${method} ${path.slice(0, 200)}: no answer`, { cause: error })),
    );
    outgoing.end(body);
  });
}

function memoryInUse(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const shown = ({ kind, method, path, body }: Hostile) =>
  `${kind}: ${method} ${path.slice(0, 200)} ${String(body).slice(0, 200)}`;

it(`${REQUESTS} hostile requests get typed errors and change nothing`, async () => {
  const seed = RUN_SEED;
  console.log(`hostile requests: FC_SEED=${seed}`);
  const requests = fc.sample(hostile, { numRuns: REQUESTS, seed });
  const before = await directorySnapshot(root);
  const kinds: Record<string, number> = {};
  const check = async (one: Hostile) => {
    const got = await send(one);
    const label = shown(one);
    expect(got.status, `${label}: ${got.body.slice(0, 300)}`).toBeGreaterThanOrEqual(400);
    // A request may be invalid or name a missing object, but the server must not fail.
    expect(got.status, `${label}: ${got.body}`).toBeLessThan(500);
    expect(got.body, label).not.toContain(root);
    const group = `${one.kind} ${got.status}`;
    kinds[group] = (kinds[group] ?? 0) + 1;
    if (one.method === "HEAD") return;
    expect(got.body, label).not.toBe("");
    const problem = JSON.parse(got.body);
    expect(problem, label).toMatchObject({ status: got.status, title: expect.any(String) });
    expect(problem.code, label).toBeTypeOf("number");
    expect(problem.detail, label).toBeTypeOf("string");
  };
  // Releases the sent requests, because strings grow when they are written.
  requests.reverse();
  const checkUntil = (left: number) => {
    const worker = async () => {
      while (requests.length > left) await check(requests.pop() as Hostile);
    };
    return Promise.all(Array.from({ length: PARALLEL }, worker));
  };
  await checkUntil(Math.floor((REQUESTS * 3) / 4));
  const memory = memoryInUse();
  await checkUntil(0);
  console.log(kinds);
  expect(memoryInUse() - memory).toBeLessThan(MEMORY_SLACK);
  expect(await directorySnapshot(root)).toEqual(before);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect((await post(server, "/v1/table/t/count_rows")).json).toBe(3);
  expect(server.handler.counters.inFlight).toBe(0);
});

/** Sends raw bytes and returns the answer until the connection closes. */
function sendRaw(pieces: readonly (string | Uint8Array)[], pauseMs = 0): Promise<string> {
  const { port } = server.server.address() as { port: number };
  return new Promise((resolve) => {
    let back = "";
    const socket = connect(port, "127.0.0.1", async () => {
      for (const piece of pieces) {
        if (socket.destroyed) return;
        socket.write(piece);
        if (pauseMs > 0) await new Promise((wake) => setTimeout(wake, pauseMs));
      }
    });
    socket.on("data", (piece) => {
      back += piece;
    });
    socket.on("error", () => resolve(back));
    socket.on("close", () => resolve(back));
  });
}

const head = (path: string, ...lines: string[]) =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${lines.join("\r\n")}\r\n\r\n`;

it("the server answers text that is not HTTP, and continues", async () => {
  const raw = [
    "GARBAGE\r\n\r\n",
    "POST /v1/table/t/exists HTTP/9.9\r\n\r\n",
    head("/v1/table/t/exists", "content-length: -1"),
    head("/v1/table/t/exists", "content-length: 2", "content-length: 3"),
    head("/v1/table/t/exists", "transfer-encoding: chunked", "content-length: 2"),
    `${head("/v1/table/t/insert", "transfer-encoding: chunked")}zz\r\n`,
    head("/v1/table/t/exists", `x-long: ${"x".repeat(40_000)}`),
    head("/v1/table/t/exists", "bad header: x"),
    `POST /v1/table/${"x".repeat(60_000)}/exists HTTP/1.1\r\nhost: localhost\r\n\r\n`,
    "CONNECT x:80 HTTP/1.1\r\nhost: localhost\r\n\r\n",
    "TRACE /v1/table HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    "POST * HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    "POST http://[broken/v1/table HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
  ];
  const before = await directorySnapshot(root);
  for (const bytes of raw) {
    const back = await sendRaw([bytes]);
    if (back !== "") expect(back, bytes.slice(0, 100)).toMatch(/^HTTP\/1\.1 (4|5)\d\d /);
  }
  expect(await directorySnapshot(root)).toEqual(before);
  expect((await get(server, "/v1/table")).json.tables).toEqual(["n$t", "t"]);
});

it("the server cuts off bodies that are slow, break off, or never end", async () => {
  const before = await directorySnapshot(root);
  const length = rows.length + 100;
  const slow = await sendRaw([
    head(
      "/v1/table/t/insert",
      "content-type: application/vnd.apache.arrow.stream",
      `content-length: ${length}`,
    ),
    rows.subarray(0, 40),
  ]);
  expect(slow).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":13/);
  const slowJson = await sendRaw([
    head("/v1/table/t/exists", "content-type: application/json", "content-length: 9"),
    "{",
  ]);
  expect(slowJson).toMatch(/^HTTP\/1\.1 408 /);
  const endless = (piece: Uint8Array) => [
    head(
      "/v1/table/t/insert",
      "content-type: application/vnd.apache.arrow.stream",
      "transfer-encoding: chunked",
    ),
    ...Array.from({ length: 200 }, () => join(Buffer.from("10000\r\n"), piece, Buffer.from("\r\n"))),
  ];
  // Endless rows, and an endless message.
  const filler = new Uint8Array(2 ** 16);
  expect(await sendRaw(endless(filler), 1)).toMatch(/^HTTP\/1\.1 4\d\d /);
  filler.set(message(2 ** 24, new Uint8Array(8)));
  expect(await sendRaw(endless(filler), 1)).toMatch(/^HTTP\/1\.1 4\d\d /);
  // The client leaves in the middle of a body.
  const { port } = server.server.address() as { port: number };
  for (let round = 0; round < 20; round++) {
    await new Promise<void>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.write(head("/v1/table/t/insert", `content-length: ${length}`));
        socket.write(rows.subarray(0, 10 + round * 10), () => {
          socket.destroy();
          resolve();
        });
      });
    });
  }
  await expect.poll(() => server.handler.counters.inFlight).toBe(0);
  expect(await directorySnapshot(root)).toEqual(before);
});

it("the server refuses too many concurrent requests, and ends slow ones", async () => {
  const handler = createRestHandler(namespace, {
    auth: { anonymous: true },
    limits: { maxInFlight: 2, requestTimeoutMs: 200 },
  });
  const stuck = () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(rows.subarray(0, 50)),
    });
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    return handler(new Request("http://localhost/v1/table/t/insert", init));
  };
  const waiting = [stuck(), stuck()];
  await expect.poll(() => handler.counters.inFlight).toBe(2);
  const refused = await handler(new Request("http://localhost/v1/table/t/exists", { method: "POST" }));
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("1");
  for (const response of await Promise.all(waiting)) expect(response.status).toBe(503);
  expect((await handler(new Request("http://localhost/v1/table/t/exists", { method: "POST" }))).status).toBe(
    200,
  );
});
