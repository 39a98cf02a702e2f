/** Forms of requests that the interface document does not describe: ids, queries, bodies and answers. */

import * as arrow from "apache-arrow";
import { createRestHandler, type RequestLogEntry } from "tiltyard/rest";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ENCODERS, writeCompressed } from "../support/compressedIpc.js";
import { type Contract, openContract, rowsOf } from "../support/contract.js";

const STREAM = "application/vnd.apache.arrow.stream";
const FILE = "application/vnd.apache.arrow.file";

let wire: Contract;
const entries: RequestLogEntry[] = [];
beforeAll(async () => {
  wire = await openContract({ log: (entry) => entries.push(entry) });
});
afterAll(() => wire[Symbol.asyncDispose]());

/** Returns the id that reached the engine, or the status of a refusal. */
async function idOf(path: string, body?: object | null): Promise<unknown> {
  wire.calls.length = 0;
  const { status } = await wire.post(path, body);
  return wire.calls[0]?.id ?? status;
}

function streamed(bytes: Uint8Array, pieceBytes: number): ReadableStream<Uint8Array> {
  let offset = 0;
  return new ReadableStream({
    pull(controller) {
      if (offset >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(offset, (offset += pieceBytes)));
    },
  });
}

async function send(path: string, body: BodyInit | null, type?: string, method = "POST") {
  const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
  const answer = await fetch(wire.url + path, { method, headers, body, duplex: "half" } as RequestInit);
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, json: text === "" ? undefined : JSON.parse(text) };
}

describe("ids in paths", () => {
  it("percent escapes are decoded once", async () => {
    expect(await idOf("/v1/table/a%24b$c%2B%C3%A4/exists")).toEqual(["a", "b", "c+ä"]);
    expect(await idOf("/v1/table/a$%2524/exists")).toEqual(["a", "%24"]);
    expect(await idOf("/v1/table/a$b%2Fc/exists")).toEqual(["a", "b/c"]);
    expect(await idOf("/v1/table/a$%2e%2e%2fc/exists")).toEqual(["a", "../c"]);
    for (const id of ["%", "%4", "%zz", "a%ff", "%c3%28", "%C0%AF"]) {
      expect(await idOf(`/v1/table/${id}/exists`), id).toBe(400);
    }
  });

  it("a plus sign is itself unless the body says that it is a space", async () => {
    expect(await idOf("/v1/table/a$b+c/exists")).toEqual(["a", "b+c"]);
    expect(await idOf("/v1/table/a$b+c/exists", { id: ["a", "b c"] })).toEqual(["a", "b c"]);
    expect(await idOf("/v1/table/a$b+c/exists", { id: ["a", "b+c"] })).toEqual(["a", "b+c"]);
    expect(await idOf("/v1/table/a$b%2Bc/exists")).toEqual(["a", "b+c"]);
    expect(await idOf("/v1/table/a$b%20c/exists")).toEqual(["a", "b c"]);
    const remote = { "x-lancedb-database": "db", "user-agent": "LanceDB-Node-Client/0.39.0" };
    wire.calls.length = 0;
    await wire.post("/v1/table/a$b+c/exists", { id: ["a", "b c"] }, remote);
    await wire.post("/v1/table/a$b+c/exists", {}, remote);
    expect(wire.calls.map(({ id }) => id)).toEqual([
      ["a", "b c"],
      ["a", "b+c"],
    ]);
  });

  it("plus signs decide which table gets the rows", async () => {
    await wire.done("/v1/namespace/plus/create", {});
    for (const name of ["a b", "a+b"]) await wire.namespace.declareTable({ id: ["plus", name] });
    expect((await wire.post("/v1/table/plus$a+b/insert?delimiter=$", rowsOf(1, 2))).status).toBe(200);
    const rows = (name: string) => wire.namespace.countTableRows({ id: ["plus", name] }).catch(() => 0);
    expect([await rows("a b"), await rows("a+b")]).toEqual([0, 2]);
    await wire.done("/v1/namespace/plus/drop", { behavior: "Cascade" });
  });

  it("empty parts of ids are refused", async () => {
    for (const id of ["$$", "a$", "$a", "a$$b"]) expect(await idOf(`/v1/table/${id}/exists`), id).toBe(400);
    expect(await idOf("/v1/table//exists")).toBe(404);
  });

  it("an id may equal a fixed name of another path", async () => {
    for (const id of ["version", "batch-commit", "list", "v1", "table", "constructor", "__proto__"]) {
      expect(await idOf(`/v1/table/${id}/exists`)).toEqual([id]);
    }
  });

  it("extra slashes at the start and one at the end are accepted", async () => {
    const table = await wire.table();
    for (const path of [
      `//v1/table/${table}/exists`,
      `/v1/table/${table}/exists/`,
      `///v1/table/${table}/exists/`,
    ]) {
      expect(await idOf(path), path).toEqual([table]);
    }
    expect(await idOf(`/v1/table/${table}/exists//`)).toBe(404);
    expect(await idOf(`/v1//table/${table}/exists`)).toBe(404);
    expect((await wire.get("/v1/table/")).json.tables).toContain(table);
  });

  it("the root may be a dot, which URLs drop", async () => {
    const table = await wire.table();
    expect((await wire.get("/v1/namespace/./table/list?delimiter=.")).json.tables).toContain(table);
    expect((await wire.get("/v1/namespace/./list?delimiter=.")).json).toEqual({ namespaces: [] });
    expect((await wire.post("/v1/namespace/%2e/exists?delimiter=.")).status).toBe(200);
    expect((await wire.get("/v1/namespace/list")).status).toBe(404);
  });

  it("the root in place of a table is not a table", async () => {
    for (const [path, method] of [
      ["table/./exists", "POST"],
      ["table/%2e/exists", "POST"],
      ["table/./describe/", "POST"],
      ["table/./query", "POST"],
      ["table/./stats", "GET"],
      ["table/./tags/list", "POST"],
      ["table/./version/list", "POST"],
      ["table/./index/i/stats", "POST"],
      ["table/./schema_metadata/update", "POST"],
      ["transaction/./describe", "POST"],
    ]) {
      const body = method === "GET" ? null : "{}";
      const answer = await send(`/v1/${path}?delimiter=.`, body, "application/json", method);
      expect(answer, path).toMatchObject({ status: 400, json: { code: 13 } });
    }
    expect((await send("/v1/table/./exists?delimiter=.", null, undefined, "GET")).status).toBe(405);
    expect((await wire.post("/v1/table/./exists")).status).toBe(404);
    expect((await wire.post("/v1/table/./nothing?delimiter=.")).status).toBe(404);
    // Tables and operations with such names keep their meaning.
    expect(await idOf("/v1/table/version/describe?delimiter=.")).toEqual(["version"]);
    expect((await wire.post("/v1/table/batch-commit?delimiter=.", {})).json.detail).toMatch(/^operations/);
  });

  it("names of indexes are used as they are", async () => {
    const table = await wire.table();
    const answer = await wire.post(`/v1/table/${table}/index/a+b%20%C3%A4%2F/stats`);
    expect(answer).toMatchObject({
      status: 404,
      json: { code: 6, detail: expect.stringContaining("a+b ä/") },
    });
    expect(await idOf(`/v1/table/${table}/index/%zz/stats`)).toBe(400);
  });
});

describe("queries", () => {
  it("each parameter occurs once and has its type", async () => {
    const table = await wire.table();
    const wrong: [string, string][] = [
      ["branches/list?limit=1&limit=2", "limit"],
      ["branches/list?limit=1e3", "limit"],
      ["branches/list?limit=99999999999999999999", "limit"],
      ["version/list?descending=yes", "descending"],
      ["version/list?descending", "descending"],
      ["describe?with_table_uri=1", "with_table_uri"],
    ];
    for (const [tail, member] of wrong) {
      const answer = await wire.post(`/v1/table/${table}/${tail}`, {});
      expect(answer, tail).toMatchObject({
        status: 400,
        json: { detail: expect.stringMatching(`^${member}:`) },
      });
    }
    expect((await wire.post(`/v1/table/${table}/version/list?descending=TRUE`)).status).toBe(200);
  });

  it("unknown parameters and members of the body are refused in the query", async () => {
    const table = await wire.table();
    const merge = "merge_insert?on=v&when_matched_update_all=true";
    const misspelt: [tail: string, body: object | Uint8Array, detail: string][] = [
      [
        `${merge}&when_matched_update_all_filter=target.v%3D1`,
        rowsOf(1),
        "when_matched_update_all_filter: there is no such parameter; did you mean when_matched_update_all_filt?",
      ],
      ["version/list?Limit=1", {}, "Limit: there is no such parameter; did you mean limit?"],
      [
        "count_rows?predicate=v%3D1",
        {},
        "predicate: there is no such parameter; predicate is a member of the body",
      ],
      ["count_rows?filter=v%3D1", {}, "filter: there is no such parameter; filter is a member of the body"],
      [
        "version/list?trace=7",
        {},
        "trace: there is no such parameter; there are branch, page_token, limit, descending",
      ],
      ["query?x=1", {}, "x: there is no such parameter; there are non_finite"],
      ["describe?version=1", {}, "version: there is no such parameter; version is a member of the body"],
    ];
    for (const [tail, body, detail] of misspelt) {
      const answer = await wire.post(`/v1/table/${table}/${tail}`, body);
      expect(answer, tail).toMatchObject({ status: 400, json: { code: 13, detail } });
    }
    expect(await wire.read(table)).toEqual([1, 2, 3]);
    for (const tail of ["count_rows?delimiter=.&predicate=v%3D1", "stats?use_lsm=false"]) {
      expect((await wire.get(`/v1/table/${table}/${tail}`)).status, tail).toBe(200);
    }
    expect(await wire.get("/openapi.json?x=1")).toMatchObject({ status: 400, json: { code: 13 } });
  });

  it("page tokens may be any text", async () => {
    const table = await wire.table();
    const names = ["a.b", "a_b", "ä", "日本/x"];
    for (const name of names) await wire.done(`/v1/table/${table}/branches/create`, { name });
    const listed: string[] = [];
    for (let token: string | undefined = ""; token !== undefined; ) {
      const query = new URLSearchParams({ limit: "1", page_token: token });
      const { branches, page_token } = await wire.done(`/v1/table/${table}/branches/list?${query}`);
      listed.push(...Object.keys(branches));
      token = page_token;
    }
    expect(listed).toEqual(names);
    const strange = `page_token=${encodeURIComponent("\u0000%$\ud83d\ude00")}`;
    expect((await wire.post(`/v1/table/${table}/branches/list?${strange}`)).status).toBe(200);
  });

  it("GET requests of reading operations have the body's members in the query", async () => {
    const table = await wire.table();
    await wire.done(`/v1/table/${table}/branches/create`, { name: "b" });
    await wire.done(`/v1/table/${table}/insert?branch=b`, rowsOf(4));
    const both = async (tail: string, query = "", body: object = {}) => {
      const got = await wire.get(`/v1/table/${table}/${tail}${query}`);
      const posted = await wire.post(`/v1/table/${table}/${tail}`, body);
      expect([got.status, got.json], tail).toEqual([posted.status, posted.json]);
      return got.json;
    };
    expect(await both("stats", "?branch=b", { branch: "b" })).toMatchObject({ num_rows: 4 });
    expect(await both("stats")).toMatchObject({ num_rows: 3 });
    expect(await both("count_rows", "?branch=b&version=1", { branch: "b", version: 1 })).toBe(3);
    expect(await both("index/i/stats", "?version=1", { version: 1 })).toMatchObject({ code: 6 });
    expect(await both("index/i/stats", "?version=-1", { version: -1 })).toMatchObject({ code: 13 });
    expect(Object.keys((await both("branches/list")).branches)).toEqual(["b"]);
    expect(await both("tags/list")).toEqual({ tags: {} });
    expect((await both("version/list")).versions).toHaveLength(1);
  });
});

describe("queries of rows", () => {
  const rows = async (body: object) => {
    const answer = await wire.post(`/v1/table/${name}/query`, body);
    return answer.status === 200
      ? arrow
          .tableFromIPC(answer.bytes)
          .toArray()
          .map((row) => ({ ...row }))
      : [answer.status, answer.json.code, answer.json.detail.split(":")[0]];
  };
  let name: string;
  beforeAll(async () => {
    name = await wire.table();
  });

  it("columns are a list of names, or aliases", async () => {
    expect(await rows({ columns: ["v"], k: 1 })).toEqual([{ v: 1 }]);
    expect(await rows({ columns: { column_names: ["v"] }, k: 1 })).toEqual([{ v: 1 }]);
    expect(await rows({ columns: { column_aliases: { column_names: "v" } }, k: 1 })).toEqual([
      { column_names: 1 },
    ]);
    expect(await rows({ columns: null, k: 2, offset: 1 })).toEqual([{ v: 2 }, { v: 3 }]);
    expect(await rows({ columns: { column_names: ["w"] } })).toEqual([404, 12, expect.any(String)]);
    expect(await rows({ columns: { column_names: "v" } })).toEqual([400, 13, "columns"]);
  });

  it("filters select rows, with parameter values", async () => {
    expect(await rows({ filter: "v > 1" })).toEqual([{ v: 2 }, { v: 3 }]);
    const params = { at_least: 2, names: ["x"] };
    expect(await rows({ filter: "v >= $at_least", params, k: 1 })).toEqual([{ v: 2 }]);
    expect(await rows({ filter: "v >" })).toEqual([400, 13, "filter"]);
    expect(await rows({ filter: "v > 1; drop table t" })).toEqual([400, 13, "filter"]);
    expect(await rows({ filter: "w > 1" })).toEqual([404, 12, "filter"]);
  });

  it("a limit of zero returns no rows", async () => {
    expect(await rows({ k: 0 })).toEqual([]);
    expect(await rows({ limit: 0 })).toEqual([400, 13, "limit"]);
  });

  it("queries sort rows and compute columns", async () => {
    const order_by = [{ column_name: "v", ascending: false }];
    expect(await rows({ order_by, k: 2 })).toEqual([{ v: 3 }, { v: 2 }]);
    const columns = { column_aliases: { x: "v * 10", at: "_rowoffset" } };
    expect(await rows({ order_by, columns, filter: "v > $least", params: { least: 1 } })).toEqual([
      { x: 30, at: 2n },
      { x: 20, at: 1n },
    ]);
    expect(await rows({ order_by: [{ column_name: "none" }] })).toEqual([404, 12, expect.any(String)]);
    expect(await rows({ columns: { column_aliases: { x: "v +" } } })).toEqual([400, 13, expect.any(String)]);
  });

  it("queries show their plans", async () => {
    const told = async (tail: string, body: object) =>
      (await wire.post(`/v1/table/${name}/${tail}`, body)) as { status: number; json: unknown };
    const explained = await told("explain_plan", { query: { filter: "v > 1", k: 1 } });
    expect(explained).toMatchObject({
      status: 200,
      json: expect.stringMatching(/^Project.*\n +Filter.*\n +Scan/),
    });
    const analyzed = await told("analyze_plan", { filter: "v > 1", format: "json" });
    expect(JSON.parse(String(analyzed.json)).inputs[0]).toMatchObject({
      operator: "Filter",
      metrics: { rows: 2 },
    });
  });

  it.each([
    {},
    { single_vector: [] },
    { multi_vector: [] },
    { single_vector: null, multi_vector: null },
  ])("search no vector where `vector` is %j, as clients of the spec send it", async (vector) => {
    const query = { vector, k: 10, filter: "v > 1" };
    const bytesOf = async (body: object) => {
      const answer = await wire.post(`/v1/table/${name}/query`, body);
      expect(answer.status).toBe(200);
      return Buffer.from(answer.bytes).toString("hex");
    };
    expect(await bytesOf(query)).toBe(await bytesOf({ k: 10, filter: "v > 1" }));
    const plan = async (body: object) =>
      (await wire.post(`/v1/table/${name}/explain_plan`, { query: body })).json;
    expect(await plan(query)).toEqual(expect.stringMatching(/^Project/));
    expect(await plan(query)).toBe(await plan({ k: 10, filter: "v > 1" }));
    const one = { ...vector, single_vector: [1], multi_vector: [] };
    expect(await wire.post(`/v1/table/${name}/query`, { vector: one })).toMatchObject({
      status: 400,
      json: { detail: expect.stringMatching(/column/) },
    });
  });

  it("invalid values are reported before unsupported ones", async () => {
    const more = {
      vector: { single_vector: [1] },
    };
    for (const [member, value] of Object.entries(more)) {
      // The query has a vector, but the table has no vector column.
      expect(await rows({ [member]: value })).toEqual(
        member === "vector" ? [400, 13, member] : [406, 0, member],
      );
      expect(await rows({ [member]: value, version: 9 })).toEqual([404, 11, expect.any(String)]);
      expect(await rows({ [member]: value, branch: "none" })).toEqual([404, 22, expect.any(String)]);
      const nowhere = await wire.post("/v1/table/none/query", { [member]: value });
      expect(nowhere).toMatchObject({ status: 404, json: { code: 4 } });
    }
    const count = (table: string, body: object) => wire.post(`/v1/table/${table}/count_rows`, body);
    expect(await count(name, { predicate: "v > 1" })).toMatchObject({ status: 200, json: 2 });
    expect((await count("none", { predicate: "v > 1" })).json.code).toBe(4);
    expect((await count(name, { predicate: "v > 1", branch: "none" })).json.code).toBe(22);
  });
});

describe("deletes and updates", () => {
  it("deletes and updates change the rows of a predicate", async () => {
    const name = await wire.table();
    const change = (tail: string, body: object) => wire.done(`/v1/table/${name}/${tail}`, body);
    const { transaction_id, ...deleted } = await change("delete", {
      predicate: "v > $least",
      params: { least: 2 },
    });
    expect([typeof transaction_id, deleted]).toEqual(["string", { version: 2, num_deleted_rows: 1 }]);
    expect(await change("update", { updates: [["v", "v * 10"]], predicate: "v = 2" })).toMatchObject({
      ...{ version: 3, updated_rows: 1 },
    });
    const properties = { by: "test" };
    expect(await change("update", { values: { v: 7 }, predicate: null, properties })).toMatchObject({
      ...{ version: 4, updated_rows: 2, properties },
    });
    expect(await change("count_rows", { predicate: "v = 7" })).toBe(2);
  });

  it("invalid deletes and updates are refused", async () => {
    const name = await wire.table();
    const told = async (tail: string, body: object) => {
      const { status, json } = await wire.post(`/v1/table/${name}/${tail}`, body);
      return [status, json.code];
    };
    expect(await told("delete", {})).toEqual([400, 13]);
    expect(await told("delete", { predicate: "" })).toEqual([400, 13]);
    expect(await told("delete", { predicate: "w > 1" })).toEqual([404, 12]);
    expect(await told("delete", { predicate: "v > 1", branch: "none" })).toEqual([404, 22]);
    expect(await told("update", {})).toEqual([400, 13]);
    expect(await told("update", { updates: [["w", "1"]] })).toEqual([404, 12]);
    expect(await told("update", { updates: [["v", "w"]] })).toEqual([404, 12]);
    expect(await told("update", { updates: [["v"]] })).toEqual([400, 13]);
    expect(await told("update", { updates: [["v", "'x'"]] })).toEqual([400, 13]);
    expect(await wire.done(`/v1/table/${name}/version/list`, {})).toMatchObject({
      versions: [{ version: 1 }],
    });
    await wire.namespace.declareTable({ id: ["reserved"] });
    expect((await wire.post("/v1/table/reserved/delete", { predicate: "true" })).json.code).toBe(19);
  });
});

describe("merges", () => {
  it("merges update, insert and delete rows by key", async () => {
    const name = await wire.table();
    const merge = (query: string, ...values: number[]) =>
      wire.done(`/v1/table/${name}/merge_insert?on=v&${query}`, rowsOf(...values));
    const upsert = "when_matched_update_all=true&when_not_matched_insert_all=true";
    const { transaction_id, ...merged } = await merge(`${upsert}&timeout=30s&use_index=true`, 1, 2, 3, 4);
    expect([typeof transaction_id, merged]).toEqual([
      "string",
      { version: 2, num_updated_rows: 3, num_inserted_rows: 1, num_deleted_rows: 0 },
    ]);
    const filtered = "when_matched_update_all=true&when_matched_update_all_filt=source.v%20%3E%20target.v";
    expect(await merge(filtered, 1, 4)).toMatchObject({ version: 3, num_updated_rows: 0 });
    const condition = "when_not_matched_by_source_delete_filt=v%20%3E%203";
    expect(await merge(`when_not_matched_by_source_delete=true&${condition}`, 1)).toMatchObject({
      ...{ version: 4, num_updated_rows: 0, num_inserted_rows: 0, num_deleted_rows: 1 },
    });
    expect(await wire.read(name, {})).toEqual([1, 2, 3]);
    await wire.namespace.declareTable({ id: ["reserved_for_merge"] });
    expect(
      await wire.done(`/v1/table/reserved_for_merge/merge_insert?on=v&${upsert}`, rowsOf(2, 2)),
    ).toMatchObject({
      ...{ version: 1, num_updated_rows: 0, num_inserted_rows: 2, num_deleted_rows: 0 },
    });
  });

  it("invalid merges are refused", async () => {
    const name = await wire.table();
    const told = async (query: string, table = name) => {
      const { status, json } = await wire.post(`/v1/table/${table}/merge_insert?${query}`, rowsOf(1));
      return [status, json.code];
    };
    const update = "when_matched_update_all=true";
    expect(await told(update)).toEqual([400, 13]);
    expect(await told("on=v")).toEqual([400, 13]);
    expect(await told(`on=v&on=w&${update}`)).toEqual([404, 12]);
    expect(await told(`on=v&${update}&when_matched_update_all_filt=v%20%3E%201`)).toEqual([404, 12]);
    expect(await told("on=v&when_matched_update_all_filt=true")).toEqual([400, 13]);
    expect(await told(`on=v&${update}&timeout=soon`)).toEqual([400, 13]);
    expect(await told(`on=v&${update}&branch=none`)).toEqual([404, 22]);
    expect(await told(`on=v&${update}`, "none")).toEqual([404, 4]);
    await wire.namespace.declareTable({ id: ["declared"] });
    expect(await told(`on=v&${update}`, "declared")).toEqual([409, 19]);
    expect(await told("on=w&when_not_matched_insert_all=true", "declared")).toEqual([404, 12]);
    expect(await wire.done(`/v1/table/${name}/version/list`, {})).toMatchObject({
      versions: [{ version: 1 }],
    });
  });
});

describe("JSON bodies", () => {
  it("unknown members of bodies are refused, and unknown headers are accepted", async () => {
    const table = await wire.table();
    const before = await wire.read(table);
    const refusals: [tail: string, body: object, detail: string][] = [
      [
        "update",
        { updates: [["v", "9"]], wher: "v = 1" },
        "wher: there is no such member; did you mean where?",
      ],
      [
        "update",
        { updates: [["v", "9"]], Predicate: "v = 1" },
        "Predicate: there is no such member; did you mean predicate?",
      ],
      [
        "delete",
        { predicate: "v = 1", Branch: "b" },
        "Branch: there is no such member; did you mean branch?",
      ],
      ["delete", { filters: "v = 1" }, "filters: there is no such member; did you mean filter?"],
      ["count_rows", { condition: "v = 1" }, "condition: there is no such member; did you mean filter?"],
      ["query", { Where: "v = 1" }, "Where: there is no such member; did you mean where?"],
      ["query", { orderBy: [] }, "orderBy: there is no such member; did you mean order_by?"],
      [
        "query",
        { order_by: [{ column: "v" }] },
        "order_by.0.column: there is no such member; did you mean column_name?",
      ],
      ["query", { columns: { aliases: { a: "v" } } }, "columns.aliases: there is no such member"],
      [
        "query",
        { vector: { single: [1] } },
        "vector.single: there is no such member; there are single_vector, multi_vector",
      ],
      [
        "explain_plan",
        { query: { wher: "v = 1" } },
        "query.wher: there is no such member; did you mean where?",
      ],
      [
        "exists",
        { future: null, "": 0 },
        ": there is no such member; there are branch, version, as_of, tag, id, identity, context",
      ],
      [
        "exists",
        { toString: "x" },
        "toString: there is no such member; there are branch, version, as_of, tag, id, identity, context",
      ],
      [
        "exists",
        { identity: { key: "x" } },
        "identity.key: there is no such member; there are api_key, auth_token",
      ],
      ["drop", { behavior: "Fail" }, "behavior: there is no such member; there are id, identity, context"],
      [
        "version/delete",
        { ranges: [{ start: 1, end: 2 }] },
        "ranges.0.start: there is no such member; there are start_version, end_version",
      ],
      [
        "add_columns",
        { new_columns: [{ name: "w", sql: "1" }] },
        "new_columns.0.sql: there is no such member; did you mean expression?",
      ],
      [
        "alter_columns",
        { alterations: [{ path: "v", name: "w" }] },
        "alterations.0.name: there is no such member",
      ],
      [
        "update_field_metadata",
        { updates: [{ path: "v", metadata: {}, clear: true }] },
        "updates.0.clear: there is no such member",
      ],
      [
        "create_index",
        { column: "v", index_type: "BTREE", overwrite: true },
        "overwrite: there is no such member",
      ],
    ];
    for (const [tail, body, detail] of refusals) {
      const answer = await wire.post(`/v1/table/${table}/${tail}`, body);
      expect(answer, detail).toMatchObject({
        status: 400,
        json: { code: 13, detail: expect.stringContaining(detail) },
      });
    }
    expect(await wire.read(table)).toEqual(before);
    const { versions } = await wire.done(`/v1/table/${table}/version/list`);
    expect(versions).toHaveLength(1);
    const parts = { operations: [{ deregister_table: { id: [table], force: true } }] };
    expect(await wire.post("/v1/table/batch-commit", parts)).toMatchObject({
      status: 400,
      json: { detail: "operations.0.deregister_table.force: there is no such member; there are id" },
    });
    const headers = { "x-future": "1" };
    expect((await wire.post(`/v1/table/${table}/exists`, {}, headers)).status).toBe(200);
    expect((await wire.post(`/v1/table/${table}/exists?future=1`, {}, headers)).status).toBe(400);
  });

  it("members of the namespace spec without an effect are accepted", async () => {
    const table = await wire.table();
    const common = { id: [table], identity: { api_key: "x" }, context: { a: "b" } };
    const answers = [
      await wire.post(`/v1/table/${table}/explain_plan`, { ...common, query: { ...common, k: 1 } }),
      await wire.post(`/v1/table/${table}/describe`, {
        ...common,
        vend_credentials: true,
        with_table_uri: true,
      }),
      await wire.post("/v1/table/batch-commit", {
        operations: [{ declare_table: { ...common, id: ["declared_with_more"], vend_credentials: false } }],
      }),
      await wire.post(`/v1/table/${table}/version/list`, { ...common, limit: 1, descending: true }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(answers[3].json.versions).toHaveLength(1);
    const virtual_column = {
      udf_name: "none",
      image: "x",
      udf: "y",
      udf_backend: "z",
      manifest: "m",
      outputs: [],
    };
    const added = await wire.post(`/v1/table/${table}/add_columns`, {
      new_columns: [{ name: "w", virtual_column }],
    });
    expect(added.json.detail).not.toMatch(/there is no such member/);
  });

  it("unknown members may be null", async () => {
    const table = await wire.table();
    const answer = await wire.post(`/v1/table/${table}/exists`, { future: null, context: null });
    expect(answer.status).toBe(200);
  });

  it("every optional member may be null", async () => {
    const table = await wire.table();
    const nulls = (...members: string[]) => Object.fromEntries(members.map((member) => [member, null]));
    const common = nulls("id", "identity", "context", "branch");
    await wire.done(`/v1/table/${table}/exists`, { ...common, ...nulls("version", "tag") });
    await wire.done(`/v1/table/${table}/version/describe`, { ...common, version: null });
    await wire.done(`/v1/table/${table}/stats`, { ...common, version: null });
    await wire.done(`/v1/table/${table}/restore`, { ...common, version: 1 });
    await wire.done(`/v1/table/${table}/update_field_metadata`, {
      ...common,
      updates: [{ path: "v", metadata: {}, replace: null }],
    });
    await wire.done(`/v1/table/${table}/branches/create`, {
      ...common,
      name: "b",
      ...nulls("from_branch", "from_version"),
    });
    await wire.done(`/v1/table/${table}/branches/delete`, { ...common, name: "b" });
    await wire.done(`/v1/table/null_members/declare`, { ...common, ...nulls("location", "properties") });
    await wire.done("/v1/namespace/nulls/create", { ...common, ...nulls("mode", "properties") });
    await wire.done("/v1/namespace/nulls/drop", { ...common, ...nulls("mode", "behavior") });
    const identity = nulls("api_key", "auth_token");
    await wire.done(`/v1/table/${table}/exists`, { identity });
  });

  it("operations without members accept only id, identity and context", async () => {
    const table = await wire.table();
    for (const body of [null, {}, { id: [table] }, { limit: null, page_token: null }]) {
      expect((await wire.post(`/v1/table/${table}/branches/list`, body)).status).toBe(200);
      expect((await wire.post(`/v1/table/${table}/version/list`, body)).status).toBe(200);
    }
    expect((await wire.post(`/v1/table/${table}/branches/list`, { limit: 1 })).status).toBe(400);
    expect(await idOf(`/v1/table/${table}/branches/list`, { id: ["another"] })).toBe(400);
  });

  it("rows of a log can't be requested, because they would be missing", async () => {
    const table = await wire.table();
    const refused = { status: 406, json: { code: 0, detail: expect.stringMatching(/^use_lsm: /) } };
    for (const [tail, body] of [
      ["query", { use_lsm: true }],
      ["explain_plan", { query: { use_lsm: true } }],
      ["count_rows?use_lsm=true", {}],
      ["merge_insert?on=v&use_lsm=True", rowsOf(1)],
    ] as const) {
      expect(await wire.post(`/v1/table/${table}/${tail}`, body), tail).toMatchObject(refused);
    }
    for (const use_lsm of [false, null]) expect(await wire.read(table, { use_lsm })).toEqual([1, 2, 3]);
  });

  it("errors name the wrong member in the wire's spelling", async () => {
    const table = await wire.table();
    const wrong: [string, object, string][] = [
      ["branches/create", { name: "b", from_version: "1" }, "from_version"],
      ["branches/create", { name: "b", from_tag: "t", from_version: 1 }, "from_tag"],
      ["version/create", { version: 2, manifest_path: "x", naming_scheme: "V9" }, "naming_scheme"],
      ["tags/create", { tag: "t", version: -1 }, "version"],
      ["rename", { new_table_name: "" }, "new_table_name"],
      ["create_index", { column: "v", index_type: "BTREE", num_partitions: 0 }, "num_partitions"],
    ];
    for (const [tail, body, member] of wrong) {
      const answer = await wire.post(`/v1/table/${table}/${tail}`, body);
      expect(answer, tail).toMatchObject({
        status: 400,
        json: { code: 13, detail: expect.stringMatching(`^${member}:`) },
      });
    }
  });

  it("a body that is a map is required, because an absent one would remove everything", async () => {
    const path = `/v1/table/${await wire.table()}/schema_metadata/update`;
    expect(await wire.done(path, { a: "1" })).toEqual({ a: "1" });
    for (const body of [undefined, null, []]) {
      expect(await wire.post(path, body)).toMatchObject({ status: 400, json: { code: 13 } });
    }
    expect(await wire.done(path, {})).toEqual({});
  });

  it("keys of maps stay unchanged, whatever their names", async () => {
    const properties = JSON.parse('{"Some_Key":"1","someKey":"2","some_key":"3","":"4","constructor":"5"}');
    await wire.done("/v1/namespace/keys/create", { properties });
    expect((await wire.done("/v1/namespace/keys/describe", {})).properties).toEqual(properties);
    const refused = await send(
      "/v1/namespace/proto/create",
      '{"properties":{"__proto__":"1"}}',
      "application/json",
    );
    expect(refused).toMatchObject({ status: 400, json: { code: 13 } });
  });

  it("JSON bodies have their declared type, are UTF-8 and uncompressed", async () => {
    const path = `/v1/table/${await wire.table()}/exists`;
    expect((await send(path, "{}")).status).toBe(415);
    expect((await send(path, streamed(new TextEncoder().encode("{}"), 1), "application/json")).status).toBe(
      200,
    );
    expect((await send(path, streamed(new TextEncoder().encode("{}"), 1))).status).toBe(200);
    expect((await send(path, new Uint8Array([0x7b, 0xff, 0x7d]), "application/json")).status).toBe(400);
    for (const coding of ["gzip", "br"]) {
      const answer = await wire.post(path, {}, { "content-encoding": coding });
      expect(answer).toMatchObject({ status: 415, json: { code: 13 } });
    }
    expect((await wire.post(path, {}, { "content-encoding": "identity" })).status).toBe(200);
  });
});

describe("bodies of rows", () => {
  const values = Array.from({ length: 5000 }, (_, index) => index % 7);
  const table = new arrow.Table({ v: arrow.vectorFromArray(values, new arrow.Int32()) });
  const insertInto = async (body: BodyInit, type?: string) => {
    const name = await wire.table(rowsOf());
    const answer = await send(`/v1/table/${name}/insert`, body, type);
    expect(answer.status, JSON.stringify(answer.json)).toBe(200);
    return wire.read(name);
  };

  it("rows arrive as a stream in pieces of any size, or as a file", async () => {
    const [stream, file] = [arrow.tableToIPC(table, "stream"), arrow.tableToIPC(table, "file")];
    for (const pieceBytes of [997, stream.length]) {
      expect(await insertInto(streamed(stream, pieceBytes), STREAM)).toEqual(values);
      expect(await insertInto(streamed(file, pieceBytes), FILE)).toEqual(values);
    }
    expect(await insertInto(file as BodyInit, STREAM)).toEqual(values);
    expect(await insertInto(stream as BodyInit, "application/octet-stream")).toEqual(values);
    expect(await insertInto(stream as BodyInit)).toEqual(values);
  });

  it("rows may be compressed with LZ4 or ZSTD", async () => {
    for (const [type, encode] of ENCODERS) {
      const { corrected } = writeCompressed(table, type, encode);
      expect(await insertInto(streamed(corrected, 1000), STREAM)).toEqual(values);
    }
  });

  it("a body may have no rows, or several batches", async () => {
    expect(await insertInto(rowsOf() as BodyInit, STREAM)).toEqual([]);
    const [batch] = table.batches;
    const cuts = [0, 1, 2, 1000, 5000];
    const batches = cuts.slice(1).map((end, index) => batch.slice(cuts[index], end) as arrow.RecordBatch);
    expect(
      await insertInto(arrow.tableToIPC(new arrow.Table(batches), "stream") as BodyInit, STREAM),
    ).toEqual(values);
  });

  it("other bodies are refused", async () => {
    const name = await wire.table();
    for (const type of ["text/plain", "text/csv", "application/vnd.apache.parquet"]) {
      const refused = await send(`/v1/table/${name}/insert`, rowsOf(1) as BodyInit, type);
      expect(refused).toMatchObject({
        status: 415,
        json: { code: 13, type: "/errors/unsupported-media-type" },
      });
    }
    expect(await wire.read(name)).toEqual([1, 2, 3]);
  });

  it("rows are cast to the table's types without loss, and the error names a column that does not match", async () => {
    const name = await wire.table();
    const wider = new arrow.Table({ v: arrow.vectorFromArray([0.5], new arrow.Float64()) });
    const answer = await wire.post(`/v1/table/${name}/insert`, arrow.tableToIPC(wider, "stream"));
    expect(answer).toMatchObject({ status: 400, json: { code: 20, detail: expect.stringMatching(/\bv\b/) } });
  });
});

describe("answers", () => {
  it("rows are returned as a file, or as a stream on request", async () => {
    const name = await wire.table();
    for (const [accept, type] of [
      ["*/*", FILE],
      [FILE, FILE],
      [STREAM, STREAM],
      ["text/html", FILE],
      ["application/*", FILE],
      [`${FILE}, ${STREAM}`, STREAM],
      [`${STREAM}, */*`, STREAM],
      [`*/*, ${FILE}`, FILE],
      [`${STREAM};q=0`, FILE],
      [`${STREAM};q=0, */*`, FILE],
      [`${STREAM}; q=0.0 , ${FILE};q=0.1`, FILE],
      [`${STREAM.toUpperCase()}; Q=0`, FILE],
      [`${FILE};q=0.2, ${STREAM};q=0.1`, FILE],
      [`${FILE};q=0.1, ${STREAM};q=0.2`, STREAM],
      [`*/*;q=0.9, ${STREAM};q=0.1`, FILE],
      [`${FILE};q=0`, STREAM],
      [`${FILE};q=0, */*`, STREAM],
      [`text/html, ${FILE};q=0`, STREAM],
    ]) {
      const { headers, bytes } = await wire.post(`/v1/table/${name}/query`, {}, { accept });
      expect(headers.get("content-type"), accept).toBe(type);
      expect(headers.get("vary")).toBe("accept");
      expect(arrow.tableFromIPC(bytes).numRows).toBe(3);
    }
    for (const accept of [
      `${STREAM};q=0, ${FILE};q=0`,
      "*/*;q=0",
      "application/*;q=0",
      "text/html, */*;q=0",
    ]) {
      const refused = await wire.post(`/v1/table/${name}/query`, {}, { accept });
      expect(refused, accept).toMatchObject({
        status: 406,
        json: { code: 0, detail: expect.stringMatching(/^accept: /) },
      });
    }
  });

  it("rows with dictionaries are returned as a stream, which a client may refuse", async () => {
    const values = arrow.vectorFromArray(
      ["a", "b"],
      new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
    );
    const name = await wire.table(arrow.tableToIPC(new arrow.Table({ v: values }), "stream"));
    for (const accept of ["*/*", FILE, `${FILE}, */*;q=0.1`]) {
      const { headers } = await wire.post(`/v1/table/${name}/query`, {}, { accept });
      expect(headers.get("content-type"), accept).toBe(STREAM);
    }
    for (const accept of [`${STREAM};q=0`, `${FILE}, */*;q=0`]) {
      expect((await wire.post(`/v1/table/${name}/query`, {}, { accept })).status, accept).toBe(406);
    }
  });

  it("large JSON answers are compressed if the client accepts it", async () => {
    const handler = createRestHandler(wire.namespace, { auth: { anonymous: true } });
    const codingOf = async (path: string, coding?: string) => {
      const headers: Record<string, string> = coding === undefined ? {} : { "accept-encoding": coding };
      const answer = await handler(new Request(`http://localhost${path}`, { headers }));
      expect(answer.headers.get("vary")).toBe("accept-encoding");
      const body = answer.headers.has("content-encoding")
        ? answer.body?.pipeThrough(new DecompressionStream("gzip"))
        : answer.body;
      expect(await new Response(body).json()).toBeTypeOf("object");
      return answer.headers.get("content-encoding");
    };
    for (const coding of ["gzip", "br, GZIP;q=0.5", "*", "*;q=0, gzip", "gzip;q=0.5, identity;q=0.5"])
      expect(await codingOf("/openapi.json", coding)).toBe("gzip");
    for (const coding of [
      ...[undefined, "br", "gzip;q=0", "identity", "*, gzip;q=0", "*;q=0", "gzip; Q=0.000"],
      ...["gzip;q=0.5, identity", "gzip;q=0.5, identity;q=0.6"],
    ])
      expect(await codingOf("/openapi.json", coding)).toBeNull();
    expect(await codingOf("/v1/namespace/$/list", "gzip")).toBeNull();
    // Over HTTP, where the client decompresses it.
    const { headers, json } = await wire.get("/openapi.json");
    expect(headers.get("content-encoding")).toBe("gzip");
    expect(json.openapi).toBe("3.1.1");
  });

  it("answers have the request's id, or a new one", async () => {
    const answer = await wire.post("/v1/table/none/exists", {}, { "x-request-id": "my-request" });
    expect(answer.headers.get("x-request-id")).toBe("my-request");
    const made = (await wire.get("/v1/table")).headers.get("x-request-id");
    expect(made).toMatch(/^[0-9a-f-]{36}$/);
    expect(
      (await wire.get("/v1/table", { "x-request-id": "x".repeat(500) })).headers.get("x-request-id"),
    ).toHaveLength(100);
    // Ids that hosts would encode differently are not sent back.
    for (const odd of ["für", "¡hola"]) {
      const sentBack = (await wire.get("/v1/table", { "x-request-id": odd })).headers.get("x-request-id");
      expect(sentBack).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it("answers to an unsupported method list the supported ones", async () => {
    for (const method of ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      const answer = await send("/v1/table/t/restore", null, undefined, method);
      expect([answer.status, answer.headers.get("allow")], method).toEqual([405, "POST"]);
    }
    const list = await send("/v1/namespace/$/list", null);
    expect([list.status, list.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await send("/v1/table/t/stats", null, undefined, "PUT")).headers.get("allow")).toBe(
      "GET, POST, HEAD",
    );
  });
});

describe("HEAD", () => {
  it("HEAD works like GET, with the same headers and without a body", async () => {
    const table = await wire.table();
    await wire.namespace.createTableTag({ id: [table], tag: "tag", version: 1 });
    const paths = [
      ...["/openapi.json", "/v1/table", "/v1/namespace/$/list", "/v1/namespace/$/table/list", "/v1/nothing"],
      ...["stats", "count_rows", "version/list", "branches/list", "tags/list", "index/i/stats"].map(
        (tail) => `/v1/table/${table}/${tail}`,
      ),
      ...["/v1/table/none/stats", "/v1/table?limit=x", `/v1/table/${table}/restore`],
    ];
    for (const path of paths) {
      const [whole, head] = await Promise.all(
        ["GET", "HEAD"].map(async (method) => {
          const answer = await fetch(wire.url + path, { method, headers: { "x-request-id": "same" } });
          const headers = new Headers(answer.headers);
          for (const name of ["date", "connection", "keep-alive", "transfer-encoding"]) headers.delete(name);
          const { byteLength: bytes } = await answer.arrayBuffer();
          return { status: answer.status, headers: Object.fromEntries(headers), bytes };
        }),
      );
      expect(whole.bytes).toBeGreaterThan(0);
      expect(head, path).toEqual({ ...whole, bytes: 0 });
    }
  });
});

describe("the log", () => {
  it("the log gets each finished request once, with the full error", async () => {
    const name = await wire.table();
    const headers = { "x-request-id": "logged" };
    entries.length = 0;
    await wire.post(`/v1/table/${name}/stats?use_lsm=secret`, {}, headers);
    await wire.post("/v1/table/none/restore", { version: 1 }, headers);
    await wire.post("/v1/table/none/restore", { version: "x" }, headers);
    await wire.post("/v1/no/route", {}, headers);
    const common = { requestId: "logged", method: "POST", durationMs: expect.any(Number) };
    const principal = { subject: "anonymous", method: "anonymous" };
    expect(entries).toEqual([
      { ...common, path: `/v1/table/${name}/stats`, operation: "getTableStats", status: 200, principal },
      {
        ...{ ...common, path: "/v1/table/none/restore", operation: "restoreTable", status: 404, principal },
        error: expect.objectContaining({ code: 4, operation: "restoreTable" }),
      },
      {
        ...{ ...common, path: "/v1/table/none/restore", operation: "restoreTable", status: 400, principal },
        error: expect.objectContaining({ code: 13 }),
      },
      { ...common, path: "/v1/no/route", status: 404, principal, error: expect.any(Error) },
    ]);
  });

  it("a failing log has no effect, and the counters count", async () => {
    const handler = createRestHandler(wire.namespace, {
      auth: { anonymous: true },
      log: () => {
        throw new Error("the log is full");
      },
    });
    const ask = (path: string, method = "POST") =>
      handler(new Request(`http://localhost${path}`, { method }));
    const name = await wire.table();
    for (let count = 0; count < 3; count++) expect((await ask(`/v1/table/${name}/exists`)).status).toBe(200);
    expect((await ask("/v1/table/none/exists")).status).toBe(404);
    expect((await ask("/v1/none")).status).toBe(404);
    const { requests, inFlight, byStatus, byOperation, totalMs } = handler.counters;
    expect({ requests, inFlight, byStatus, byOperation }).toEqual({
      requests: 5,
      inFlight: 0,
      byStatus: { 200: 3, 404: 2 },
      byOperation: { tableExists: 4 },
    });
    expect(totalMs).toBeGreaterThan(0);
  });
});
