/** Resources and states of the interface document: one test on the wire for each sentence. */

import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { afterAll, beforeAll, describe, expect } from "vitest";
import {
  type Contract,
  nestedRows,
  openContract,
  rowsOf,
  sentencesOf,
  tableRootOf,
} from "../../support/contract.js";
import { stageDoubled } from "../../support/stageVersion.js";

const sentence = sentencesOf("resources and states");
let wire: Contract;
beforeAll(async () => {
  wire = await openContract();
  for (const path of ["a", "a$b"]) await wire.done(`/v1/namespace/${path}/create`, {});
});
afterAll(() => wire[Symbol.asyncDispose]());

async function asked(path: string, body?: object | null, headers?: Record<string, string>) {
  wire.calls.length = 0;
  const answer = await wire.post(path, body, headers);
  return { answer, call: wire.calls[0] };
}
const describeVersion = async (table: string, more: object = {}) =>
  (await wire.done(`/v1/table/${table}/version/describe`, more)).version;
const mismatch = { status: 400, json: { code: 13, detail: expect.stringMatching(/^id\b/) } };

describe("Table identifier", () => {
  sentence("id has its parts joined by a delimiter; when that is absent, it is $", async () => {
    expect((await asked("/v1/table/a$b$t/exists")).call.id).toEqual(["a", "b", "t"]);
    expect((await asked("/v1/table/a%24b%24t/exists")).call.id).toEqual(["a", "b", "t"]);
    expect((await asked("/v1/table/a.b/exists")).call.id).toEqual(["a.b"]);
  });
  sentence("query parameter delimiter: the delimiter of id", async () => {
    for (const [delimiter, id] of [
      [".", "a.b.t"],
      ["::", "a::b::t"],
      ["%2F", "a%2Fb%2Ft"],
      ["%20", "a%20b%20t"],
    ]) {
      expect((await asked(`/v1/table/${id}/exists?delimiter=${delimiter}`)).call.id).toEqual(["a", "b", "t"]);
    }
    expect((await asked("/v1/table/a$b/exists?delimiter=.")).call.id).toEqual(["a$b"]);
    const empty = { status: 400, json: { code: 13, detail: expect.stringContaining("delimiter") } };
    expect(await wire.post("/v1/table/t/exists?delimiter=")).toMatchObject(empty);
    expect(await wire.post("/v1/table/t/exists?delimiter=.&delimiter=$")).toMatchObject(empty);
  });
  sentence("when the value equals the delimiter, it denotes the root namespace", async () => {
    await wire.done("/v1/namespace/$/exists", {});
    await wire.done("/v1/namespace/%24/describe", { id: [] });
    expect((await wire.get("/v1/namespace/::/list?delimiter=::")).json).toEqual({ namespaces: ["a"] });
    expect(await wire.post("/v1/table/$/exists")).toMatchObject(mismatch);
  });
  sentence("body field id: the same identifier as an array of strings", async () => {
    expect((await asked("/v1/table/a$b$t/exists", { id: ["a", "b", "t"] })).call.id).toEqual(["a", "b", "t"]);
    const otherIds = [["b", "a", "t"], ["a$b$t"], ["a", "b"], [], ["a", "b", "t", "u"]];
    for (const id of otherIds)
      expect(await wire.post("/v1/table/a$b$t/exists", { id })).toMatchObject(mismatch);
    for (const id of ["a$b$t", [1], {}, 1]) {
      expect(await wire.post("/v1/table/a$b$t/exists", { id })).toMatchObject(mismatch);
    }
  });
});

describe("Identity and context", () => {
  sentence("identity is optional, with api_key and auth_token", async () => {
    const identity = { api_key: "k", auth_token: "t" };
    const { call } = await asked("/v1/table/t/exists", { identity });
    expect(call.identity).toEqual({ apiKey: "k", authToken: "t" });
    expect((await asked("/v1/table/t/exists", {})).call.identity).toBeUndefined();
    for (const wrong of ["k", { api_key: 1 }]) {
      const answer = await wire.post("/v1/table/t/exists", { identity: wrong });
      expect(answer).toMatchObject({ status: 400, json: { detail: expect.stringMatching(/^identity\b/) } });
    }
  });
  sentence("context is an optional map of key to value pairs", async () => {
    const context = { Some_Key: "a", other: "" };
    expect((await asked("/v1/table/t/exists", { context })).call.context).toEqual(context);
    expect((await asked("/v1/table/t/exists", {})).call.context).toBeUndefined();
    for (const wrong of ["k", { k: 1 }, { k: null }]) {
      const answer = await wire.post("/v1/table/t/exists", { context: wrong });
      expect(answer).toMatchObject({ status: 400, json: { detail: expect.stringMatching(/^context\b/) } });
    }
  });
  sentence("entries of the context are also passed as headers named x-ns-ctx-<key>", async () => {
    const headers = { "x-ns-ctx-tenant": "acme", "X-Lance-Ctx-Trace": "7", "x-ns-ctx-": "no key" };
    const { call } = await asked("/v1/table/t/exists", { context: { tenant: "body", more: "x" } }, headers);
    expect(call.context).toEqual({ tenant: "acme", trace: "7", more: "x" });
    expect((await asked("/v1/table/t/insert", rowsOf(1), headers)).call.context).toEqual({
      tenant: "acme",
      trace: "7",
    });
  });
});

describe("Table version record", () => {
  sentence("version, an integer >= 0", async () => {
    const table = await wire.table();
    expect((await describeVersion(table)).version).toBe(1);
  });
  sentence("manifest_path, the path of the manifest file, and manifest_size, its bytes", async () => {
    const { manifest_path, manifest_size } = await describeVersion(await wire.table());
    expect(isAbsolute(manifest_path)).toBe(true);
    expect((await stat(manifest_path)).size).toBe(manifest_size);
  });
  sentence("e_tag and metadata are optional", async () => {
    const version = await describeVersion(await wire.table());
    expect(version).not.toHaveProperty("e_tag");
    expect(version).not.toHaveProperty("metadata");
  });
  sentence("timestamp_millis, a timestamp in milliseconds", async () => {
    const before = Date.now() - 1;
    const { timestamp_millis } = await describeVersion(await wire.table());
    expect(Number.isInteger(timestamp_millis)).toBe(true);
    expect(timestamp_millis).toBeGreaterThanOrEqual(before);
    expect(timestamp_millis).toBeLessThanOrEqual(Date.now());
  });
});

describe("Table statistics record", () => {
  const stats = async (table: string) => wire.done(`/v1/table/${table}/stats`, {});

  sentence("total_bytes, num_rows, num_indices are integers >= 0", async () => {
    for (const table of [await wire.table(), await wire.table(rowsOf())]) {
      const { total_bytes, num_rows, num_indices } = await stats(table);
      for (const count of [total_bytes, num_rows, num_indices])
        expect(Number.isInteger(count) && count >= 0).toBe(true);
    }
  });
  sentence("fragment_stats: num_fragments, num_small_fragments, and lengths with min to p99", async () => {
    const table = await wire.table();
    for (let more = 1; more < 4; more++) {
      await wire.done(`/v1/table/${table}/insert`, rowsOf(...Array<number>(10 * more).fill(0)));
    }
    const { fragment_stats } = await stats(table);
    const { lengths, ...counts } = fragment_stats;
    expect(counts).toEqual({ num_fragments: 4, num_small_fragments: 4 });
    expect(Object.keys(lengths).sort()).toEqual(["max", "mean", "min", "p25", "p50", "p75", "p99"]);
    expect(lengths).toMatchObject({ min: 3, max: 30, mean: 15 });
    expect([lengths.p25, lengths.p50, lengths.p75, lengths.p99].every(Number.isInteger)).toBe(true);
  });
});

describe("Branch", () => {
  sentence("a named line of a table's versions", async () => {
    const table = await wire.table();
    await wire.done(`/v1/table/${table}/branches/create`, { name: "line/of-versions_1.0" });
    await wire.done(`/v1/table/${table}/insert?branch=line/of-versions_1.0`, rowsOf(4));
    expect(await wire.read(table, { branch: "line/of-versions_1.0" })).toEqual([1, 2, 3, 4]);
    expect(await wire.read(table)).toEqual([1, 2, 3]);
  });
  sentence("operations take an optional branch; when it is absent the main branch is used", async () => {
    const table = await wire.table();
    await wire.done(`/v1/table/${table}/branches/create`, { name: "b" });
    await wire.done(`/v1/table/${table}/insert`, rowsOf(4));
    for (const branch of [undefined, null, "", "main"]) {
      expect((await describeVersion(table, { branch })).version).toBe(2);
      expect((await wire.done(`/v1/table/${table}/stats`, { branch })).num_rows).toBe(4);
    }
    const operations: [string, object][] = [
      ["version/describe", {}],
      ["stats", {}],
      ["restore", { version: 1 }],
      ["update_field_metadata", { updates: [] }],
      ["create_index", { column: "v", index_type: "BTREE" }],
      ["index/i/stats", {}],
      ["backfill_column", { column: "v" }],
    ];
    for (const [tail, body] of operations) {
      const answer = await wire.post(`/v1/table/${table}/${tail}`, { ...body, branch: "none" });
      expect(answer, tail).toMatchObject({ status: 404, json: { code: 22 } });
    }
    expect(await wire.post(`/v1/table/${table}/insert?branch=none`, rowsOf(1))).toMatchObject({
      json: { code: 22 },
    });
  });
});

describe("Field path", () => {
  let table: string;
  beforeAll(async () => {
    table = await wire.table(nestedRows());
  });
  const update = (path: string) =>
    wire.post(`/v1/table/${table}/update_field_metadata`, { updates: [{ path, metadata: { k: path } }] });
  const fieldOf = async (path: string) => Object.keys((await update(path)).json.fields ?? {})[0];
  const index = (column: string) =>
    wire.post(`/v1/table/${table}/create_index`, { column, index_type: "BTREE" });

  sentence("nested fields use dot-separated segments", async () => {
    expect(await fieldOf("a.b")).toBe("a.b");
    expect((await index("a.b")).status).toBe(200);
  });
  sentence("a segment containing a literal dot is wrapped in backticks", async () => {
    expect(await fieldOf("a.`c.d`")).toBe("a.`c.d`");
    expect(await update("a.c.d")).toMatchObject({ status: 404, json: { code: 12 } });
    expect((await index("a.`c.d`")).status).toBe(200);
  });
  sentence("a backtick inside a quoted segment is written as two backticks", async () => {
    expect(await fieldOf("a.`e``f`")).toBe("a.`e``f`");
    for (const path of ["a.e`f", "a.`e`f`"])
      expect(await update(path)).toMatchObject({ status: 400, json: { code: 13 } });
  });
  sentence("a bare leaf name identifies only a top-level field", async () => {
    expect(await fieldOf("v")).toBe("v");
    for (const path of ["b", "c.d", "`c.d`"])
      expect(await update(path)).toMatchObject({ status: 404, json: { code: 12 } });
  });
  sentence("canonical full paths are used in display and errors", async () => {
    expect(await fieldOf("`a`.`b`")).toBe("a.b");
    expect((await update("`a`.`none`")).json.detail).toContain(" a.none ");
    expect((await update("`a`.`no.ne`")).json.detail).toContain(" a.`no.ne` ");
    expect((await index("`a`.`none`")).json.detail).toContain(" a.none ");
  });
});

describe("Transaction identifier", () => {
  sentence("mutating responses carry an optional string transaction_id", async () => {
    const table = await wire.table();
    const { manifest_path } = await describeVersion(table);
    const staged = await stageDoubled(tableRootOf(manifest_path), 2);
    await wire.done(`/v1/table/${table}/branches/create`, { name: "b" });
    const answers = [
      await wire.done(`/v1/table/${table}/version/create`, { version: 2, manifest_path: staged }),
      await wire.done(`/v1/table/${table}/insert`, rowsOf(1)),
      await wire.done(`/v1/table/${table}/restore`, { version: 1 }),
      await wire.done(`/v1/table/${table}/branches/delete`, { name: "b" }),
    ];
    const ids = answers.map(({ transaction_id }) => transaction_id ?? "");
    for (const id of ids) expect(id).toBeTypeOf("string");
    expect(new Set(ids.slice(0, 3)).size).toBe(3);
  });
});

describe("States and transitions", () => {
  const isDeclared = async (table: string) =>
    (await wire.done(`/v1/table/${table}/describe?check_declared=true`, {})).is_only_declared;

  sentence("a table is either declared only or created", async () => {
    await wire.done("/v1/table/a$b$states/declare", {});
    expect(await isDeclared("a$b$states")).toBe(true);
    expect(await isDeclared(await wire.table())).toBe(false);
  });
  sentence("declared only, on insert with data: created, with the data", async () => {
    await wire.done("/v1/table/a$b$made/declare", {});
    await wire.done("/v1/table/a$b$made/insert", rowsOf(7));
    expect(await isDeclared("a$b$made")).toBe(false);
    expect(await wire.read("a$b$made")).toEqual([7]);
  });
  sentence(
    "version/create of a version that does not exist: a new entry, its record and transaction_id",
    async () => {
      const table = await wire.table();
      const { manifest_path } = await describeVersion(table);
      const staged = await stageDoubled(tableRootOf(manifest_path), 5);
      const body = { version: 5, manifest_path: staged };
      const { version, transaction_id } = await wire.done(`/v1/table/${table}/version/create`, body);
      expect(transaction_id).toBeTypeOf("string");
      expect(await describeVersion(table)).toMatchObject(version);
    },
  );
  sentence("version/create of a version that exists: unchanged, 409 Conflict", async () => {
    const table = await wire.table();
    const before = await describeVersion(table);
    const staged = await stageDoubled(tableRootOf(before.manifest_path), 1);
    const answer = await wire.post(`/v1/table/${table}/version/create`, {
      version: 1,
      manifest_path: staged,
    });
    expect(answer).toMatchObject({ status: 409, json: { title: expect.any(String), code: 14 } });
    expect(await describeVersion(table)).toEqual(before);
  });
});
