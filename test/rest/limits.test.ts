/** Limits and ends of requests: sizes, time limits, clients that leave, and a stopping server. */

import { request as httpRequest } from "node:http";
import * as arrow from "apache-arrow";
import { type DirectoryNamespace, InvalidInputError } from "tiltyard";
import {
  createRestHandler,
  type RequestLogEntry,
  type RestHandlerOptions,
  type RestLimits,
} from "tiltyard/rest";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { directorySnapshot } from "../support/directorySnapshot.js";
import { makeHeldNamespace } from "../support/heldNamespace.js";
import { get, post, type RestServer, startRestServer } from "../support/restServer.js";

const STREAM = "application/vnd.apache.arrow.stream";
const rows = arrow.tableToIPC(
  new arrow.Table({ v: arrow.vectorFromArray([1, 2, 3], new arrow.Int32()) }),
  "stream",
);

let namespace: DirectoryNamespace;
const HELD = { context: { hold: "yes" } };
let letGo: () => void;
const servers: RestServer[] = [];
const entries: RequestLogEntry[] = [];

beforeEach(async () => {
  ({ namespace, letGo } = await makeHeldNamespace());
  await namespace.createTable({ id: ["t"] }, rows);
  entries.length = 0;
});
afterEach(async () => {
  letGo();
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
  await namespace.close();
});

async function serve(limits: RestLimits = {}): Promise<RestServer> {
  const server = await startRestServer(namespace, { limits, log: (entry) => entries.push(entry) });
  servers.push(server);
  return server;
}

const versions = async () => (await namespace.listTableVersions({ id: ["t"] })).versions.length;

/** Returns a body that sends a part of the rows and then nothing, until it is cancelled. */
function stalling(bytes: Uint8Array, sent: { cancelled?: boolean } = {}): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(bytes),
    cancel: () => {
      sent.cancelled = true;
    },
  });
}

function manyRows(): Uint8Array {
  const text = arrow.vectorFromArray(
    Array.from({ length: 4096 }, (_, index) => `${index}`.repeat(60)),
    new arrow.Utf8(),
  );
  const [batch] = new arrow.Table({ s: text }).batches;
  return arrow.tableToIPC(new arrow.Table(Array<arrow.RecordBatch>(16).fill(batch)), "stream");
}

/** Answer to a completely read body with a member `more`. */
const READ = { status: 400, json: { detail: expect.stringMatching(/^more: there is no such member/) } };

describe("limits", () => {
  it("a JSON body that declares or has too many bytes gets 413", async () => {
    const server = await serve({ maxJsonBytes: 1000 });
    const body = (bytes: number) => JSON.stringify({ context: { more: "x".repeat(bytes - 23) } });
    const statusesOf = async (text: string) => {
      const [declared, streamed] = await Promise.all(
        [text, new Blob([text]).stream()].map((body) =>
          fetch(`${server.url}/v1/table/t/exists`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: body,
            duplex: "half",
          } as RequestInit),
        ),
      );
      expect(declared.status).toBe(streamed.status);
      return declared;
    };
    expect((await statusesOf(body(1000))).status).toBe(200);
    const refused = await statusesOf(body(1001));
    expect(refused.status).toBe(413);
    expect(await refused.json()).toMatchObject({ code: 13, type: "/errors/content-too-large" });
  });

  it("JSON with too many objects and arrays gets 413 before any is created", async () => {
    const server = await serve();
    // The body itself is one more object.
    const send = (count: number) => post(server, "/v1/table/t/exists", { more: Array(count - 2).fill([]) });
    expect(await send(65_536)).toMatchObject(READ);
    const refused = await send(65_537);
    expect(refused.status).toBe(413);
    expect(refused.json).toMatchObject({ detail: expect.stringMatching(/65536 objects and arrays/) });
  });

  it("JSON with too many members and elements gets 413, but arrays of numbers may be long", async () => {
    const server = await serve();
    const send = (more: unknown) => post(server, "/v1/table/t/exists", { more });
    const members = (count: number) =>
      Object.fromEntries(Array.from({ length: count - 1 }, (_, index) => [index.toString(36), ""]));
    expect(await send(members(262_144))).toMatchObject(READ);
    expect(await send(Array(2 ** 18 + 1).fill(1))).toMatchObject(READ);
    for (const [more, reason] of [
      [members(262_145), /262144 members/],
      [Array(2 ** 18 + 2).fill(1), /262144 commas/],
    ] as const) {
      expect(await send(more)).toMatchObject({
        status: 413,
        json: { detail: expect.stringMatching(reason) },
      });
    }
  });

  it("a batch with too many parts gets 400, and no id is compared twice", async () => {
    const server = await serve();
    const part = (id: number) => ({ deregister_table: { id: ["none", `${id}`] } });
    const commit = (ids: readonly number[]) =>
      post(server, "/v1/table/batch-commit", { operations: ids.map(part) });
    const detail = async (ids: readonly number[]) => (await commit(ids)).json.detail;
    expect(await detail([...Array(10_001).keys()])).toMatch(/10001 parts; a batch has at most 10000/);
    expect(await detail([1, 2, 3, 2])).toMatch(/none\$2 is in more than one of them/);
    const ranges = Array(10_001).fill({ start_version: 1, end_version: 2 });
    expect(await post(server, "/v1/table/t/version/delete", { ranges })).toMatchObject({
      status: 400,
      json: { detail: expect.stringMatching(/at most 10000/) },
    });
  });

  it("dictionaries that would become too large get 400 before they are created", async () => {
    const server = await serve({ maxBatchBytes: 2 ** 20 });
    const table = (length: number) => {
      const dictionary = arrow.vectorFromArray(["x".repeat(50_000)], new arrow.Utf8());
      const type = new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8(), 7);
      const data = new Int8Array(length);
      return arrow.tableToIPC(
        new arrow.Table({ s: arrow.makeVector({ type, data, length, nullCount: 0, dictionary }) }),
        "stream",
      );
    };
    const plain = arrow.tableToIPC(
      new arrow.Table({ s: arrow.vectorFromArray(["a"], new arrow.Utf8()) }),
      "stream",
    );
    expect((await post(server, "/v1/table/d/create", plain)).status).toBe(200);
    expect((await post(server, "/v1/table/d/insert", table(20))).status).toBe(200);
    expect(await post(server, "/v1/table/d/insert", table(22))).toMatchObject({
      status: 400,
      json: { detail: expect.stringMatching(/values of its dictionary come to more than 1048576 bytes/) },
    });
  });

  it("a body with too many rows gets 413 and inserts nothing", async () => {
    const server = await serve({ maxBodyBytes: rows.length });
    expect((await post(server, "/v1/table/t/insert", rows)).status).toBe(200);
    const before = await directorySnapshot(namespace.root);
    const longer = arrow.tableToIPC(
      new arrow.Table({ v: arrow.vectorFromArray(new Array(100).fill(1), new arrow.Int32()) }),
      "stream",
    );
    expect(await post(server, "/v1/table/t/insert", longer)).toMatchObject({
      status: 413,
      json: { code: 13 },
    });
    const streamed = await fetch(`${server.url}/v1/table/t/insert`, {
      method: "POST",
      headers: { "content-type": STREAM },
      body: new Blob([longer as BlobPart]).stream(),
      duplex: "half",
    } as RequestInit);
    expect(streamed.status).toBe(413);
    expect(await directorySnapshot(namespace.root)).toEqual(before);
    // Limits of rows do not apply to JSON, and vice versa.
    const context = { more: "x".repeat(rows.length) };
    expect((await post(server, "/v1/table/t/exists", { context })).status).toBe(200);
  });

  it("too large headers get 431", async () => {
    const server = await serve({ maxHeaderBytes: 2000 });
    expect((await get(server, "/v1/table", { "x-long": "x".repeat(1000) })).status).toBe(200);
    for (const answer of [
      await get(server, "/v1/table", { "x-long": "x".repeat(2000) }),
      await get(server, `/v1/table?x=${"x".repeat(2000)}`),
    ]) {
      expect(answer).toMatchObject({
        status: 431,
        json: { code: 13, type: "/errors/header-fields-too-large" },
      });
    }
  });

  it("queries and aggregations have at most the allowed columns", async () => {
    const server = await serve({ maxColumns: 2 });
    const names = ["a", "b", "c"];
    const columns = { column_aliases: Object.fromEntries(names.map((name) => [name, "v + 1"])) };
    const values = Object.fromEntries(names.map((name) => [name, "sum(v)"]));
    for (const [call, body] of [
      ["query", { columns }],
      ["aggregate", { values }],
      ["aggregate", { values: { a: "sum(v)", b: "min(v)" }, group_by: ["v"] }],
    ] as const) {
      expect(await post(server, `/v1/table/t/${call}`, body)).toMatchObject({
        status: 400,
        json: { detail: expect.stringContaining("at most 2 are returned") },
      });
    }
    const few = { values: { a: "sum(v)", b: "min(v)" } };
    expect((await post(server, "/v1/table/t/aggregate", few)).status).toBe(200);
  });

  it("batches of groups are of about a megabyte", async () => {
    await namespace.createTable({ id: ["texts"] }, arrow.tableFromIPC(manyRows()));
    const server = await serve();
    const answer = await fetch(`${server.url}/v1/table/texts/aggregate`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ group_by: ["concat(s, cast(_rowoffset as string))"], values: {} }),
    });
    expect(answer.status).toBe(200);
    const { batches } = arrow.tableFromIPC(new Uint8Array(await answer.arrayBuffer()));
    expect(batches.reduce((sum, { numRows }) => sum + numRows, 0)).toBe(65_536);
    expect(Math.max(...batches.map(({ data }) => data.byteLength))).toBeLessThan(2 ** 21);
  });

  it("unknown limits are refused", () => {
    const options = { limit: {} } as RestHandlerOptions;
    expect(() => createRestHandler(namespace, options)).toThrow(/limit: there is no such option/);
  });

  it("invalid limits are refused", () => {
    const wrong = [{ maxBodyBytes: 0 }, { maxInFlight: 1.5 }, { requestTimeoutMs: 2 ** 31 }, { maxJson: 1 }];
    for (const limits of wrong as RestLimits[]) {
      expect(() => createRestHandler(namespace, { limits })).toThrow(InvalidInputError);
    }
  });
});

describe("time", () => {
  it("a body that arrives too slowly gets 408 and is released", async () => {
    const handler = createRestHandler(namespace, { auth: { anonymous: true }, limits: { bodyIdleMs: 30 } });
    for (const [tail, type, bytes] of [
      ["exists", "application/json", new TextEncoder().encode("{")],
      ["insert", STREAM, rows.subarray(0, 100)],
    ] as const) {
      const sent: { cancelled?: boolean } = {};
      const init = {
        method: "POST",
        headers: { "content-type": type },
        body: stalling(bytes, sent),
        duplex: "half",
      };
      const answer = await handler(new Request(`http://localhost/v1/table/t/${tail}`, init as RequestInit));
      expect(answer.status, tail).toBe(408);
      expect(await answer.json()).toMatchObject({ code: 13, type: "/errors/request-timeout" });
      await expect.poll(() => sent.cancelled).toBe(true);
    }
    expect(await versions()).toBe(1);
  });

  it("a slow but steady body is accepted", async () => {
    const server = await serve({ bodyIdleMs: 1000 });
    let offset = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        if (offset >= rows.length) controller.close();
        else controller.enqueue(rows.subarray(offset, (offset += 40)));
      },
    });
    const init = { method: "POST", headers: { "content-type": STREAM }, body, duplex: "half" } as RequestInit;
    expect((await fetch(`${server.url}/v1/table/t/insert`, init)).status).toBe(200);
  });

  it("a request that takes too long gets 503, and its work ends", async () => {
    const handler = createRestHandler(namespace, {
      auth: { anonymous: true },
      limits: { requestTimeoutMs: 60 },
    });
    await namespace.declareTable({ id: ["s"] });
    const before = await directorySnapshot(namespace.root);
    const sent: { cancelled?: boolean } = {};
    const headers = { "content-type": STREAM };
    const body = stalling(manyRows().subarray(0, 2 ** 20), sent);
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    const answer = await handler(new Request("http://localhost/v1/table/s/insert", init));
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ code: 17, type: "/errors/service-unavailable" });
    await expect.poll(() => sent.cancelled).toBe(true);
    expect(handler.counters.inFlight).toBe(0);
    expect(await directorySnapshot(namespace.root)).toEqual(before);
  });

  it("a request that waits too long for authorize gets 503", async () => {
    const server = await serve({ requestTimeoutMs: 60 });
    expect(await post(server, "/v1/table/t/exists", HELD)).toMatchObject({ status: 503, json: { code: 17 } });
    expect(server.handler.counters.inFlight).toBe(0);
  });

  it("an answer that nobody takes ends with its work", async () => {
    await namespace.createTable({ id: ["s"] }, manyRows());
    const ask = async (requestTimeoutMs: number) => {
      const handler = createRestHandler(namespace, {
        auth: { anonymous: true },
        limits: { requestTimeoutMs },
        log: (entry) => entries.push(entry),
      });
      const headers = { "content-type": "application/json" };
      const request = new Request("http://localhost/v1/table/s/query", {
        method: "POST",
        headers,
        body: "{}",
      });
      return { handler, answer: await handler(request) };
    };
    // A busy machine answers after the first time limits.
    let asked = await ask(200);
    for (let requestTimeoutMs = 800; asked.answer.status === 503; requestTimeoutMs *= 4) {
      entries.length = 0;
      asked = await ask(requestTimeoutMs);
    }
    const { handler, answer } = asked;
    expect(answer.status).toBe(200);
    expect(handler.counters.inFlight).toBe(1);
    await expect.poll(() => handler.counters.inFlight, { timeout: 60_000 }).toBe(0);
    await expect(answer.arrayBuffer()).rejects.toMatchObject({ code: 17 });
    expect(entries).toMatchObject([{ operation: "queryTable", status: 200, error: { code: 17 } }]);
  });
});

describe("clients that leave", () => {
  it("a client that leaves during an insert leaves no version, file or request", async () => {
    const server = await serve();
    await namespace.declareTable({ id: ["s"] });
    const before = await directorySnapshot(namespace.root);
    const many = manyRows();
    for (const part of [0, 10, 1000, many.length >> 1, many.length - 1]) {
      for (const table of ["t", "s"]) {
        const bytes =
          table === "t" ? rows.subarray(0, Math.min(part, rows.length - 1)) : many.subarray(0, part);
        await new Promise<void>((resolve) => {
          const headers = { "content-type": STREAM, "content-length": String(many.length) };
          const client = httpRequest(`${server.url}/v1/table/${table}/insert`, { method: "POST", headers });
          client.once("error", () => resolve());
          client.write(bytes, () => setTimeout(() => client.destroy(new Error("gone")), 10));
          if (bytes.length === 0) client.flushHeaders();
        });
      }
    }
    await expect.poll(() => server.handler.counters.requests).toBe(10);
    expect(server.handler.counters.inFlight).toBe(0);
    for (const { status, error } of entries) {
      expect(status).not.toBe(200);
      expect(error).toBeDefined();
    }
    expect(await versions()).toBe(1);
    expect(await directorySnapshot(namespace.root)).toEqual(before);
  });

  it("a client that leaves during an answer ends its work", async () => {
    await namespace.createTable({ id: ["s"] }, manyRows());
    const server = await serve();
    const client = new AbortController();
    const answer = await fetch(`${server.url}/v1/table/s/query`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
      signal: client.signal,
    });
    await answer.body?.getReader().read();
    client.abort();
    await expect.poll(() => server.handler.counters.inFlight).toBe(0);
    expect(server.handler.counters.requests).toBe(1);
  });

  it("a client that leaves during authorize ends the wait", async () => {
    const server = await serve();
    const client = new AbortController();
    const asked = fetch(`${server.url}/v1/table/t/restore`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ version: 1, ...HELD }),
      signal: client.signal,
    });
    await expect.poll(() => server.handler.counters.inFlight).toBe(1);
    client.abort();
    await expect(asked).rejects.toThrow();
    await expect.poll(() => server.handler.counters.inFlight).toBe(0);
    letGo();
    expect(await versions()).toBe(1);
  });
});

describe("too many requests", () => {
  it("requests above the limit get 503 with retry-after, and earlier ones continue", async () => {
    const server = await serve({ maxInFlight: 3 });
    const held = Array.from({ length: 3 }, () => post(server, "/v1/table/t/exists", HELD));
    await expect.poll(() => server.handler.counters.inFlight).toBe(3);
    const refused = await post(server, "/v1/table/t/exists");
    expect(refused).toMatchObject({ status: 503, json: { code: 17, type: "/errors/service-unavailable" } });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    letGo();
    for (const answer of await Promise.all(held)) expect(answer.status).toBe(200);
    expect((await post(server, "/v1/table/t/exists")).status).toBe(200);
    expect(server.handler.counters.byStatus).toEqual({ 200: 4, 503: 1 });
  });
});

describe("a stopping server", () => {
  it("the server finishes running requests and accepts no new ones", async () => {
    const server = await serve();
    const held = post(server, "/v1/table/t/restore", { version: 1, ...HELD });
    await expect.poll(() => server.handler.counters.inFlight).toBe(1);
    let closed = false;
    const closing = server.handler.close().then(() => {
      closed = true;
    });
    const refused = await post(server, "/v1/table/t/exists");
    expect(refused).toMatchObject({ status: 503, json: { code: 17 } });
    expect(refused.headers.get("retry-after")).not.toBeNull();
    expect(closed).toBe(false);
    letGo();
    expect((await held).status).toBe(200);
    await closing;
    expect(await versions()).toBe(2);
    expect((await post(server, "/v1/table/t/exists")).status).toBe(503);
    await server.handler.close();
    // The handler does not close the namespace.
    await namespace.tableExists({ id: ["t"] });
  });

  it("the server ends running requests after the grace period", async () => {
    const server = await serve();
    const asked = [
      post(server, "/v1/table/t/restore", { version: 1, ...HELD }),
      fetch(`${server.url}/v1/table/t/insert`, {
        method: "POST",
        headers: { "content-type": STREAM },
        body: stalling(rows.subarray(0, 100)),
        duplex: "half",
      } as RequestInit),
    ];
    await expect.poll(() => server.handler.counters.inFlight).toBe(2);
    await server.handler.close({ graceMs: 20 });
    for (const answer of await Promise.all(asked)) expect(answer.status).toBe(503);
    expect(await versions()).toBe(1);
  });
});
