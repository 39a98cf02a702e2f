/** Storage options that the program adds to answers, for clients that open the files of tables themselves. */

import { Int32, Table, tableToIPC, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace, PermissionDeniedError, ServiceUnavailableError } from "tiltyard";
import {
  createRestHandler,
  type RequestLogEntry,
  type RestLimits,
  type StorageIdentity,
  type StorageTable,
} from "tiltyard/rest";
import { connectNamespace } from "tiltyard-reference/session.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { post, type RestServer, startRestServer } from "../support/restServer.js";
import { makeTempDir } from "../support/tempDir.js";

const KEY = "secret-key";
const SECRET = "AKIA-never-shown";
const OPTIONS = { aws_access_key_id: SECRET, expires_at_millis: "1790000000000" };
const rows = tableToIPC(new Table({ v: vectorFromArray([1, 2], new Int32()) }), "stream");

let namespace: DirectoryNamespace;
let server: RestServer;
let asked: [StorageTable, StorageIdentity][];
let log: RequestLogEntry[];
/** The program's function; tests replace it. */
let hook: (table: StorageTable, identity: StorageIdentity, signal: AbortSignal) => unknown;
/** Operations that are denied for tables whose names begin with "closed". */
let denied: string[];

const serve = (limits: RestLimits = {}): Promise<RestServer> =>
  startRestServer(namespace, {
    auth: { apiKeys: [KEY] },
    limits,
    log: (entry) => log.push(entry),
    storageOptions: (table, identity, signal) => {
      asked.push([table, identity]);
      return hook(table, identity, signal) as Record<string, string>;
    },
  });

beforeEach(async () => {
  asked = [];
  log = [];
  hook = () => OPTIONS;
  denied = [];
  namespace = new DirectoryNamespace({
    root: await makeTempDir(),
    durability: "none",
    authorize: ({ id, operation }) => {
      if (id?.[0] === "denied") throw new Error("no");
      if (id?.[0]?.startsWith("closed") && denied.includes(operation)) throw new Error("no");
    },
  });
  server = await serve();
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await namespace.close();
});

const call = (path: string, body: object | null = {}, headers: Record<string, string> = {}) =>
  post(server, path, body, { "x-api-key": KEY, ...headers });

describe("storage options", () => {
  it("answers with a location have storage options, and the hook gets the table and the caller", async () => {
    await namespace.createNamespace({ id: ["n"] });
    const declared = await call("/v1/table/n$d/declare");
    const created = await call("/v1/table/n$t/create", rows);
    const described = await call("/v1/table/n$t/describe");
    const operations = [{ declare_table: { id: ["n", "b"] } }, { deregister_table: { id: ["n", "d"] } }];
    const batch = await call("/v1/table/batch-commit", { operations });
    for (const { status, json, headers } of [declared, created, described]) {
      expect([status, json.storage_options]).toEqual([200, OPTIONS]);
      expect(headers.get("cache-control")).toBe("no-store");
    }
    const [{ declare_table: inBatch }, { deregister_table: gone }] = batch.json.results;
    expect([inBatch.storage_options, gone.storage_options]).toEqual([OPTIONS, undefined]);
    const identity = { apiKey: KEY, principal: { subject: "api-key-0", method: "apiKey" } };
    expect(asked).toEqual([
      [{ id: ["n", "d"], location: declared.json.location, operation: "declareTable" }, identity],
      [{ id: ["n", "t"], location: created.json.location, operation: "createTable" }, identity],
      [{ id: ["n", "t"], location: described.json.location, operation: "describeTable" }, identity],
      [{ id: ["n", "b"], location: inBatch.location, operation: "batchCommitTables" }, identity],
    ]);
    expect(described.json.location).toBe(created.json.location);
  });

  it("storage options are those of the described branch", async () => {
    await call("/v1/table/t/create", rows);
    await namespace.createTableBranch({ id: ["t"], name: "dev" });
    const { json } = await call("/v1/table/t/describe", { branch: "dev" });
    expect(json.storage_options).toEqual(OPTIONS);
    expect(asked.at(-1)?.[0].location).toBe(json.location);
    expect(json.location).toMatch(/dev$/);
  });

  it("vend_credentials: false omits the storage options, and the hook is not called", async () => {
    const none = { vend_credentials: false };
    const answers = [
      await call("/v1/table/d/declare", none),
      await call("/v1/table/t/create?vend_credentials=false", rows),
      await call("/v1/table/t/describe", none),
      await call("/v1/table/t/stats"),
      await call("/v1/table/t/exists"),
    ];
    const operations = [{ declare_table: { id: ["b"], ...none } }];
    const { json } = await call("/v1/table/batch-commit", { operations });
    for (const { status, bytes } of answers) {
      expect(status).toBe(200);
      expect(new TextDecoder().decode(bytes)).not.toContain("storage_options");
    }
    expect(json.results[0].declare_table.storage_options).toBeUndefined();
    expect(asked).toEqual([]);
    for (const wanted of [true, null]) {
      const answer = await call("/v1/table/t/describe", { vend_credentials: wanted });
      expect(answer.json.storage_options).toEqual(OPTIONS);
    }
  });

  it("the hook may be async, or return nothing", async () => {
    await call("/v1/table/t/create", rows);
    hook = async () => ({ a: "1" });
    expect((await call("/v1/table/t/describe")).json.storage_options).toEqual({ a: "1" });
    for (const nothing of [undefined, null]) {
      hook = async () => nothing;
      expect((await call("/v1/table/t/describe")).json.storage_options).toBeUndefined();
    }
    hook = () => JSON.parse('{"__proto__":"p","constructor":""}');
    const { bytes } = await call("/v1/table/t/describe");
    expect(new TextDecoder().decode(bytes)).toContain('"storage_options":{"__proto__":"p","constructor":""}');
  });

  it("the hook is called after the call was allowed and carried out", async () => {
    expect((await call("/v1/table/denied/describe")).status).toBe(403);
    expect((await call("/v1/table/none/describe")).status).toBe(404);
    expect((await post(server, "/v1/table/denied/describe", {})).status).toBe(401);
    const again = await call("/v1/table/denied/create", rows);
    expect(again.status).toBe(403);
    expect(asked).toEqual([]);
  });

  it("only callers that may describe a table get its storage options", async () => {
    denied = ["describeTable", "queryTable"];
    const answers = [
      await call("/v1/table/closed/create", rows),
      await call("/v1/table/closed/create?mode=exist_ok", rows),
      await call("/v1/table/closed/create?mode=overwrite", rows),
      await call("/v1/table/closed_too/declare"),
    ];
    const operations = [{ declare_table: { id: ["closed_batch"] } }, { declare_table: { id: ["open"] } }];
    const batch = await call("/v1/table/batch-commit", { operations });
    for (const { status, bytes, headers } of answers) {
      expect(status).toBe(200);
      expect(new TextDecoder().decode(bytes)).not.toContain("storage_options");
      expect(headers.get("cache-control")).toBeNull();
    }
    const [{ declare_table: closed }, { declare_table: open }] = batch.json.results;
    expect([closed.storage_options, open.storage_options]).toEqual([undefined, OPTIONS]);
    expect(asked.map(([{ id }]) => id)).toEqual([["open"]]);
    denied = ["createTable"];
    expect((await call("/v1/table/closed/describe")).json.storage_options).toEqual(OPTIONS);
  });

  it("a slow hook is awaited no longer than the request may take, and its signal aborts", async () => {
    await call("/v1/table/t/create", rows);
    let signal: AbortSignal | undefined;
    let answerLate: (options: object) => void = () => undefined;
    hook = (_table, _identity, hookSignal) => {
      signal = hookSignal;
      return new Promise((resolve) => {
        answerLate = resolve;
      });
    };
    await using hasty = await serve({ requestTimeoutMs: 1000 });
    const { json, bytes } = await post(hasty, "/v1/table/t/describe", {}, { "x-api-key": KEY });
    expect(json).toMatchObject({ status: 503, code: 17 });
    expect(json.detail).toContain("longer than 1000 ms");
    expect(signal?.aborted).toBe(true);
    answerLate(OPTIONS);
    expect(new TextDecoder().decode(bytes)).not.toContain(SECRET);
    expect(hasty.handler.counters.inFlight).toBe(0);
    hook = () => OPTIONS;
    expect((await call("/v1/table/t/describe")).json.storage_options).toEqual(OPTIONS);
  });

  it("the hook is not awaited after the client leaves, and its error is dropped", async () => {
    await call("/v1/table/t/create", rows);
    const rejections: unknown[] = [];
    const onRejection = (reason: unknown) => void rejections.push(reason);
    process.on("unhandledRejection", onRejection);
    try {
      const client = new AbortController();
      let seen: AbortSignal | undefined;
      hook = (_table, _identity, signal) => {
        seen = signal;
        client.abort();
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => setTimeout(() => reject(new Error(SECRET)), 5));
        });
      };
      const request = new Request(`${server.url}/v1/table/t/describe`, {
        method: "POST",
        body: "{}",
        headers: { "x-api-key": KEY, "content-type": "application/json" },
        signal: client.signal,
      });
      const answer = await server.handler(request);
      expect(answer.status).toBe(503);
      expect(await answer.text()).not.toContain(SECRET);
      expect(seen?.aborted).toBe(true);
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(rejections).toEqual([]);
      expect(JSON.stringify(log)).not.toContain(SECRET);
    } finally {
      process.off("unhandledRejection", onRejection);
    }
  });

  it("errors never show storage options, whatever the hook does", async () => {
    await call("/v1/table/t/create", rows);
    const wrong: [answer: () => unknown, status: number, code: number][] = [
      [() => Promise.reject(new Error(SECRET)), 500, 18],
      [
        () => {
          throw new PermissionDeniedError(SECRET);
        },
        ...([500, 18] as const),
      ],
      [() => Promise.reject(new ServiceUnavailableError(SECRET)), 503, 17],
      [() => Promise.reject(undefined), 500, 18],
      [() => SECRET, 500, 18],
      [() => [SECRET], 500, 18],
      [() => 5, 500, 18],
      [() => ({ a: SECRET, b: 5 }), 500, 18],
      [() => ({ a: { b: SECRET } }), 500, 18],
      [() => ({ [SECRET]: null }), 500, 18],
      [() => new Map([["a", SECRET]]), 500, 18],
      [() => new Headers({ a: SECRET }), 500, 18],
      [() => new URLSearchParams({ a: SECRET }), 500, 18],
      [
        () => ({
          get a() {
            throw new Error(SECRET);
          },
        }),
        ...([500, 18] as const),
      ],
    ];
    for (const [answer, status, code] of wrong) {
      hook = answer;
      for (const path of ["describe", "create?mode=overwrite"]) {
        const body = path === "describe" ? {} : rows;
        const { json, bytes } = await call(`/v1/table/t/${path}`, body);
        expect(json, String(answer)).toMatchObject({ status, code });
        expect(new TextDecoder().decode(bytes)).not.toContain(SECRET);
        const error = log.at(-1)?.error as Error;
        expect(error.message).not.toContain(SECRET);
      }
    }
    // The log has the program's error as cause, and never the returned values.
    expect(log.filter(({ error }) => error instanceof Error && error.cause instanceof Error)).toHaveLength(8);
  });

  it("logs, plans and statistics contain no storage options", async () => {
    await call("/v1/table/t/create", rows);
    await call("/v1/table/t/describe");
    const plan = await call("/v1/table/t/explain_plan", { query: { filter: "v > 1" } });
    const told = JSON.stringify([log, plan.json, server.handler.counters]);
    expect(told).toContain("describeTable");
    expect(told).not.toContain(SECRET);
  });

  it("LanceDB's remote client gets no storage options, because it opens no files", async () => {
    await call("/v1/table/t/create", rows);
    asked.length = 0;
    const remote = { "x-lancedb-database": "db", "user-agent": "LanceDB-Node-Client/0.39.0" };
    const { status, json } = await call("/v1/table/t/describe", {}, remote);
    expect([status, json.storage_options, asked]).toEqual([200, undefined, []]);
  });

  it("LanceDB's client of the namespace spec opens tables with storage options", async () => {
    hook = () => ({ new_table_enable_stable_row_ids: "true", expires_at_millis: `${Date.now() + 1e6}` });
    const connection = await connectNamespace("rest", { uri: server.url, "headers.x-api-key": KEY });
    const table = await connection.createTable("t", [{ v: 1 }, { v: 2 }]);
    await table.add([{ v: 3 }]);
    expect(await (await connection.openTable("t")).countRows()).toBe(3);
    expect(asked.map(([{ operation }]) => operation)).toContain("declareTable");
    connection.close();
  });
});

describe("parameters of createTable", () => {
  const create = (name: string, query: Record<string, string>) =>
    call(`/v1/table/${name}/create?${new URLSearchParams(query)}`, rows);

  it("properties and storage options of createTable are JSON objects of strings", async () => {
    const properties = { owner: "me" };
    const query = {
      properties: JSON.stringify(properties),
      storage_options: JSON.stringify({ aws_secret_access_key: SECRET, timeout: "30s" }),
    };
    const { status, json } = await create("t", query);
    expect([status, json.properties, json.storage_options]).toEqual([200, properties, OPTIONS]);
    expect((await call("/v1/table/t/describe")).json.properties).toEqual(properties);
    expect((await create("u", { storage_options: "{}", properties: "{}" })).json.properties).toEqual({});
    expect(JSON.stringify(log)).not.toContain(SECRET);
  });

  it.each([
    "storage_options",
    "properties",
  ])("createTable refuses %s that are not a JSON object of strings", async (member) => {
    for (const value of [SECRET, `"${SECRET}"`, `["${SECRET}"]`, `{"${SECRET}":1}`, "null", "", "{"]) {
      const { status, json } = await create("t", { [member]: value });
      expect([status, json.code, json.detail]).toEqual([
        400,
        13,
        `${member}: must be a JSON object of strings`,
      ]);
    }
    const twice = await call(`/v1/table/t/create?${member}={}&${member}={}`, rows);
    expect(twice.json).toMatchObject({ status: 400, detail: `${member}: occurs 2 times` });
    await expect(namespace.tableExists({ id: ["t"] })).rejects.toThrow(/does not exist/);
    expect(asked).toEqual([]);
  });
});

it("the option storageOptions is a function or absent", () => {
  for (const storageOptions of [OPTIONS, "x", 1, null]) {
    const options = { storageOptions } as unknown as Parameters<typeof createRestHandler>[1];
    expect(() => createRestHandler(namespace, options)).toThrow(/storageOptions: must be a function, not/);
    try {
      createRestHandler(namespace, options);
    } catch (error) {
      expect((error as Error).message).not.toContain(SECRET);
    }
  }
});
