/** Requests of unidentified callers: their costs, and that identified callers do not wait for them. */

import { Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { createRestHandler, type RestHandler, type RestHandlerOptions } from "tiltyard/rest";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeHeldNamespace } from "../support/heldNamespace.js";

const KEY = "the key";
const STREAM = "application/vnd.apache.arrow.stream";
const rows = tableToIPC(new Table({ v: vectorFromArray([1, 2, 3], new Int32()) }), "stream");
const utf8 = new TextEncoder();

let namespace: DirectoryNamespace;
let letGo: () => void;
const clients: AbortController[] = [];

beforeEach(async () => {
  ({ namespace, letGo } = await makeHeldNamespace());
  await namespace.createTable({ id: ["t"] }, rows);
});
afterEach(async () => {
  letGo();
  for (const client of clients.splice(0)) client.abort();
  await namespace.close();
});

const keyed = (options: RestHandlerOptions = {}): RestHandler =>
  createRestHandler(namespace, { auth: { apiKeys: [KEY] }, ...options });

interface Sent {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | ReadableStream<Uint8Array>;
}

function send(handler: RestHandler, { path = "/v1/table/t/exists", headers = {}, body }: Sent) {
  const client = new AbortController();
  clients.push(client);
  const init = {
    method: "POST",
    headers: { "content-type": path.endsWith("insert") ? STREAM : "application/json", ...headers },
    body,
    duplex: "half",
    signal: client.signal,
  };
  return handler(new Request(`http://localhost${path}`, init as RequestInit));
}

const ofIdentity = (members: object = {}) => JSON.stringify({ identity: { api_key: KEY }, ...members });
const byKey = { "x-api-key": KEY };

/** Returns a body that reports when somebody reads it. */
function watched(text: string | Uint8Array, read: () => void): ReadableStream<Uint8Array> {
  const bytes = typeof text === "string" ? utf8.encode(text) : text;
  return new ReadableStream(
    {
      pull(controller) {
        read();
        controller.enqueue(bytes);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/** Returns a body of single bytes that never ends. */
function dribbling(start: string | Uint8Array): ReadableStream<Uint8Array> {
  const bytes = typeof start === "string" ? utf8.encode(start) : start;
  let begun = false;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (begun) await new Promise((resolve) => setTimeout(resolve, 5));
        controller.enqueue(begun ? Uint8Array.of(0x20) : bytes);
        begun = true;
      },
    },
    { highWaterMark: 0 },
  );
}

/** Returns a body that sends something and then nothing. */
const stalling = (start: string | Uint8Array) =>
  new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(typeof start === "string" ? utf8.encode(start) : start),
  });

describe("credentials in headers", () => {
  it("headers are checked before the body is read, on any path", async () => {
    const handler = keyed();
    let read = 0;
    for (const path of [
      "/v1/table/t/exists",
      "/v1/table/t/insert",
      "/v1/table/t/nothing",
      "/nowhere",
      "/v1/table/t/exists?delimiter=.",
    ]) {
      for (const body of [ofIdentity(), "{", rows]) {
        const answer = await send(handler, {
          path,
          headers: { "x-api-key": "wrong" },
          body: watched(body, () => read++),
        });
        expect(answer.status, path).toBe(401);
      }
    }
    expect(read).toBe(0);
  });

  it("rows require credentials in headers", async () => {
    let read = 0;
    const answer = await send(keyed(), { path: "/v1/table/t/insert", body: watched(rows, () => read++) });
    expect(answer.status).toBe(401);
    expect(read).toBe(0);
  });
});

describe("a body that identifies the caller", () => {
  it("the body may have fewer bytes than others (413)", async () => {
    const handler = keyed({ limits: { maxUnauthenticatedJsonBytes: 1000 } });
    const ofLength = (bytes: number) =>
      ofIdentity({ context: { more: "x".repeat(bytes - ofIdentity({ context: { more: "" } }).length) } });
    expect((await send(handler, { body: ofLength(1000) })).status).toBe(200);
    expect((await send(handler, { body: ofLength(1001) })).status).toBe(413);
    expect((await send(handler, { body: ofLength(1001), headers: byKey })).status).toBe(200);
    // The default is 64 KiB.
    expect((await send(keyed(), { body: ofLength(2 ** 16) })).status).toBe(200);
    expect((await send(keyed(), { body: ofLength(2 ** 16 + 1) })).status).toBe(413);
  });

  it("the body must arrive soon, however steadily (408)", async () => {
    const handler = keyed({ limits: { unauthenticatedBodyMs: 60 } });
    const answer = await send(handler, { body: dribbling("{") });
    expect(answer.status).toBe(408);
    expect(await answer.json()).toMatchObject({ type: "/errors/request-timeout" });
    expect(handler.counters.inFlight).toBe(0);
  });

  it("the body has slots of its own (503), and callers with a key in a header get in", async () => {
    const handler = keyed({ limits: { maxInFlight: 8, maxUnauthenticated: 2 } });
    const held = [0, 1].map(() => send(handler, { body: stalling("{") }));
    await expect.poll(() => handler.counters.inFlight).toBe(2);
    for (const body of [stalling("{"), ofIdentity()]) {
      const refused = await send(handler, { body });
      expect(refused.status).toBe(503);
      expect(refused.headers.get("retry-after")).not.toBeNull();
    }
    expect((await send(handler, { body: "{}", headers: byKey })).status).toBe(200);
    expect((await send(handler, { path: "/v1/table/t/insert", body: rows, headers: byKey })).status).toBe(
      200,
    );
    for (const client of clients.splice(0)) client.abort();
    await Promise.all(held);
    expect((await send(handler, { body: ofIdentity() })).status).toBe(200);
  });

  it("the body frees its slot once it is read", async () => {
    const handler = keyed({ limits: { maxInFlight: 8, maxUnauthenticated: 1 } });
    const held: Promise<Response>[] = [];
    for (let count = 1; count <= 3; count++) {
      held.push(send(handler, { body: ofIdentity({ context: { hold: "yes" } }) }));
      await expect.poll(async () => (await send(handler, { body: ofIdentity() })).status).toBe(200);
      expect(handler.counters.inFlight).toBe(count);
    }
    letGo();
    for (const answer of await Promise.all(held)) expect(answer.status).toBe(200);
  });
});

describe("callers without credentials", () => {
  it("unauthenticated callers get a part of the slots if others have credentials", async () => {
    const handler = createRestHandler(namespace, {
      auth: { apiKeys: [KEY], anonymous: true },
      limits: { maxInFlight: 8 },
    });
    const path = "/v1/table/t/insert";
    const held = [0, 1].map(() => send(handler, { path, body: stalling(rows.subarray(0, 100)) }));
    await expect.poll(() => handler.counters.inFlight).toBe(2);
    expect((await send(handler, { path, body: rows })).status).toBe(503);
    expect((await send(handler, { path, body: rows, headers: byKey })).status).toBe(200);
    for (const client of clients.splice(0)) client.abort();
    for (const answer of await Promise.all(held)) expect(answer.status).not.toBe(200);
    expect((await send(handler, { path, body: rows })).status).toBe(200);
  });

  it("unauthenticated callers start four queries at once, and callers with a key do not wait for them", async () => {
    const handler = createRestHandler(namespace, { auth: { apiKeys: [KEY], anonymous: true } });
    const queryTable = namespace.queryTable.bind(namespace);
    let begun = 0;
    namespace.queryTable = (request) => {
      begun++;
      return queryTable(request);
    };
    const path = "/v1/table/t/query";
    const body = JSON.stringify({ k: 1, context: { hold: "yes" } });
    const held = Array.from({ length: 7 }, () => send(handler, { path, body }));
    await expect.poll(() => handler.counters.inFlight).toBe(7);
    await expect.poll(() => begun).toBe(4);
    expect((await send(handler, { path, body: '{"k":1}', headers: byKey })).status).toBe(200);
    expect((await send(handler, { body: "{}" })).status).toBe(200);
    expect(begun).toBe(5);
    letGo();
    for (const answer of await Promise.all(held)) expect(answer.status).toBe(200);
    expect(begun).toBe(8);
  });

  it("unauthenticated callers get all slots if nobody has credentials", async () => {
    const handler = createRestHandler(namespace, {
      auth: { anonymous: true },
      limits: {
        maxInFlight: 3,
        maxUnauthenticated: 1,
        maxUnauthenticatedJsonBytes: 10,
        unauthenticatedBodyMs: 1,
      },
    });
    const held = [0, 1].map(() => send(handler, { body: stalling("{") }));
    await expect.poll(() => handler.counters.inFlight).toBe(2);
    expect(
      (await send(handler, { body: JSON.stringify({ context: { more: "x".repeat(100) } }) })).status,
    ).toBe(200);
    for (const client of clients.splice(0)) client.abort();
    await Promise.all(held);
  });
});

it("a body with too few bytes per second gets 408", async () => {
  const limits = { bodyIdleMs: 60, minBodyBytesPerSecond: 2 ** 20 };
  for (const path of ["/v1/table/t/exists", "/v1/table/t/insert"]) {
    const body = path.endsWith("insert") ? rows.subarray(0, 100) : "{";
    const answer = await send(keyed({ limits }), { path, body: dribbling(body), headers: byKey });
    expect(answer.status, path).toBe(408);
  }
  expect((await namespace.listTableVersions({ id: ["t"] })).versions).toHaveLength(1);
});

it("hanging credential checks leave slots for callers with quick checks", async () => {
  const limits = { maxInFlight: 16, maxUnauthenticated: 4 };
  const letGo: (() => void)[] = [];
  const hang = () => new Promise<null>((resolve) => letGo.push(() => resolve(null)));
  const handler = createRestHandler(namespace, {
    limits,
    allowedHosts: ["*"],
    auth: {
      bearer: hang,
      apiKeys: async (key) => (key === "k" ? { subject: "ada", method: "apiKey" } : hang()),
    },
  });
  const ask = (headers: Record<string, string>) =>
    send(handler, { path: "/v1/table/t/count_rows", headers, body: "{}" });
  const flood = Array.from({ length: 40 }, (_, index) =>
    ask(index % 2 === 0 ? { authorization: `Bearer ${index}` } : { "x-api-key": `forged ${index}` }),
  );
  await new Promise((resolve) => setImmediate(resolve));
  const proven = await ask({ "x-api-key": "k" });
  expect(proven.status).toBe(200);
  const late = Promise.all(flood);
  for (let wait = letGo.splice(0); wait.length > 0; wait = letGo.splice(0)) {
    expect(handler.counters.inFlight).toBeLessThanOrEqual(limits.maxInFlight);
    for (const go of wait) go();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const statuses = (await late).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([401, 503]));
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(
    limits.maxUnauthenticated + 6,
  );
  expect((await ask({ "x-api-key": "k" })).status).toBe(200);
});
