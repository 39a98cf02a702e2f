/** General rules, errors and limits of the interface document: one test for each sentence. */

import { basename } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ERROR_TABLE, NamespaceError } from "../../../src/errors.js";
import { type Contract, openContract, rowsOf, sentencesOf, tableRootOf } from "../../support/contract.js";
import { type Answer, post, startRestServer } from "../../support/restServer.js";
import { stageDoubled } from "../../support/stageVersion.js";
import { makeTempDir } from "../../support/tempDir.js";

const sentence = sentencesOf("general rules");
let wire: Contract;
let table: string;
beforeAll(async () => {
  wire = await openContract();
  table = await wire.table();
});
afterAll(() => wire[Symbol.asyncDispose]());

/** The twelve operations: end of the path, name, and a minimal body. */
const OPERATIONS: readonly (readonly [tail: string, operation: string, body: object])[] = [
  ["version/create", "createTableVersion", { version: 9, manifest_path: "x" }],
  ["version/describe", "describeTableVersion", {}],
  ["index/i/stats", "describeTableIndexStats", {}],
  ["stats", "getTableStats", {}],
  ["create_index", "createTableIndex", { column: "v", index_type: "BTREE" }],
  ["update_field_metadata", "updateFieldMetadata", { updates: [] }],
  ["backfill_column", "alterTableBackfillColumns", { column: "v" }],
  ["exists", "tableExists", {}],
  ["restore", "restoreTable", { version: 1 }],
  ["branches/list", "listTableBranches", {}],
  ["branches/delete", "deleteTableBranch", { name: "none" }],
  ["insert", "insertIntoTable", rowsOf(1)],
];
const JSON_OPERATIONS = OPERATIONS.filter(([tail]) => tail !== "insert");
/** Read operations that existing clients also call with GET. */
const READS = ["index/i/stats", "stats", "branches/list"];

async function operationOf(path: string, body?: object | null, headers?: Record<string, string>) {
  wire.calls.length = 0;
  const answer = await wire.post(path, body, headers);
  return { answer, operation: wire.calls[0]?.operation, id: wire.calls[0]?.id };
}

describe("Paths and bodies", () => {
  sentence("every path is appended to the base address", async () => {
    await using server = await startRestServer(wire.namespace, { basePath: "/some/base" });
    expect((await post(server, `/some/base/v1/table/${table}/exists`)).status).toBe(200);
    for (const path of [`/v1/table/${table}/exists`, `/some/basev1/table/${table}/exists`, "/some/base"]) {
      expect((await post(server, path)).status, path).toBe(404);
    }
  });
  sentence("all operations use HTTP POST", async () => {
    for (const [tail, name, body] of OPERATIONS) {
      expect((await operationOf(`/v1/table/${table}/${tail}`, body)).operation).toBe(name);
      if (READS.includes(tail)) continue;
      for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
        const answer = await fetch(`${wire.url}/v1/table/${table}/${tail}`, { method });
        expect(answer.status, `${method} ${tail}`).toBe(405);
        expect(answer.headers.get("allow")).toBe("POST");
      }
    }
  });
  sentence("requests and responses are JSON", async () => {
    for (const [tail, , body] of OPERATIONS) {
      const { status, headers, json } = await wire.post(`/v1/table/${table}/${tail}`, body);
      if (status === 200 && tail === "exists") continue;
      expect(headers.get("content-type"), tail).toBe("application/json");
      expect(json).toBeTypeOf("object");
    }
    for (const text of ["{", "x", "{}{}", '{"a":1,}', "[]", '"text"', "1", "\u0000"]) {
      const answer = await sendText(text, "application/json");
      expect(answer, text).toMatchObject({ status: 400, json: { code: 13 } });
    }
  });
  sentence("every path contains id and accepts the query parameter delimiter", async () => {
    for (const [tail, name, body] of OPERATIONS) {
      const { operation, id } = await operationOf(`/v1/table/n:${table}/${tail}?delimiter=:`, body);
      expect({ operation, id }).toEqual({ operation: name, id: ["n", table] });
    }
  });
  sentence("JSON bodies use Content-Type: application/json", async () => {
    for (const type of ["application/json", "Application/JSON; charset=utf-8"]) {
      expect((await sendText("{}", type)).status).toBe(200);
    }
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/json2"]) {
      expect(await sendText("{}", type)).toMatchObject({ status: 415, json: { code: 13 } });
    }
  });
  sentence("optional body fields may be omitted; so may the body where all of it is optional", async () => {
    for (const tail of ["version/describe", "stats", "exists", "branches/list"]) {
      for (const body of [undefined, null, {}]) {
        expect((await wire.post(`/v1/table/${table}/${tail}`, body)).status, tail).toBe(200);
      }
      expect((await sendText("", "application/json", tail)).status, tail).toBe(200);
    }
  });
  sentence("operations with a JSON body carry branch in it, those without in the query", async () => {
    for (const [tail, , body] of JSON_OPERATIONS) {
      if (["exists", "branches/list", "branches/delete"].includes(tail)) continue;
      const answer = await wire.post(`/v1/table/${table}/${tail}`, { ...body, branch: "none" });
      expect(answer, tail).toMatchObject({ status: 404, json: { code: 22 } });
    }
    expect((await wire.post(`/v1/table/${table}/insert?branch=none`, rowsOf(1))).json.code).toBe(22);
  });

  async function sendText(
    body: string,
    type: string,
    tail = "exists",
  ): Promise<Pick<Answer, "status" | "json">> {
    const url = `${wire.url}/v1/table/${table}/${tail}`;
    const answer = await fetch(url, { method: "POST", body, headers: { "content-type": type } });
    const text = await answer.text();
    return { status: answer.status, json: text === "" ? undefined : JSON.parse(text) };
  }
});

describe("Authentication", () => {
  const KEY = "the-key-of-this-test";

  sentence("every operation requires authentication, by Authorization: Bearer", async () => {
    const bearer = (token: string) => (token === KEY ? { subject: "s", method: "m" } : null);
    await using server = await startRestServer(wire.namespace, { auth: { bearer } });
    for (const [tail, name, body] of OPERATIONS) {
      const path = `/v1/table/${table}/${tail}`;
      wire.calls.length = 0;
      for (const authorization of ["", "Bearer wrong", KEY]) {
        expect(await post(server, path, body, { authorization })).toMatchObject({
          status: 401,
          json: { code: 16 },
        });
      }
      expect(wire.calls).toEqual([]);
      await post(server, path, body, { authorization: `Bearer ${KEY}` });
      expect(wire.calls).toMatchObject([{ operation: name, principal: { subject: "s" } }]);
    }
  });
  sentence("two security schemes are named: OAuth2Bearer and ApiKeyAuth", async () => {
    const { json } = await wire.get("/openapi.json");
    expect(Object.keys(json.components.securitySchemes)).toEqual(["OAuth2Bearer", "ApiKeyAuth"]);
    expect(json.security).toEqual([{ OAuth2Bearer: [] }, { ApiKeyAuth: [] }]);
  });
  sentence("JSON request bodies may carry identity with api_key and auth_token", async () => {
    const auth = {
      apiKeys: [KEY],
      bearer: (token: string) => (token === KEY ? { subject: "s", method: "m" } : null),
    };
    await using server = await startRestServer(wire.namespace, { auth });
    for (const [tail, name, body] of JSON_OPERATIONS) {
      for (const member of ["api_key", "auth_token"]) {
        wire.calls.length = 0;
        const path = `/v1/table/${table}/${tail}`;
        expect((await post(server, path, { ...body, identity: { [member]: "wrong" } })).status).toBe(401);
        await post(server, path, { ...body, identity: { [member]: KEY } });
        expect(wire.calls).toMatchObject([{ operation: name }]);
      }
    }
  });
});

describe("Errors", () => {
  const PROBLEM = {
    type: expect.stringMatching(/^\/errors\/[a-z-]+$/),
    title: expect.any(String),
    status: expect.any(Number),
    detail: expect.any(String),
    instance: expect.any(String),
    error: expect.any(String),
    code: expect.any(Number),
  };

  sentence("error responses are JSON objects with type, title, status, detail and instance", async () => {
    const pathOf = (tail: string) => `/v1/table/${table}/${tail}`;
    const context = { deny: "yes" };
    const answers: [number, string, object?][] = [
      [400, pathOf("exists"), { version: "x" }],
      [403, pathOf("exists"), { context }],
      [404, "/v1/table/none/exists"],
      [404, "/v1/none"],
      [406, pathOf("query"), { use_lsm: true }],
      [409, pathOf("version/create"), { version: 1, manifest_path: "x" }],
      [415, pathOf("exists"), new Uint8Array(8)],
      [431, `/v1/table/${"x".repeat(40_000)}/exists`],
    ];
    for (const [status, path, body] of answers) {
      // Node's server refuses long headers earlier, so the handler is called directly.
      const answer =
        status === 431 ? await askDirectly(path) : await wire.post(`${path}?use_lsm=false`, body);
      expect(answer.status).toBe(status);
      expect(answer.headers.get("content-type")).toBe("application/json");
      expect(answer.json).toEqual({ ...PROBLEM, status, instance: path });
      expect(answer.json.error).toBe(answer.json.detail);
      expect(URL.canParse(answer.json.type, wire.url)).toBe(true);
    }
  });
  sentence("a malformed request yields status 400", async () => {
    const malformed: [string, object?][] = [
      ["/v1/table/%zz/exists"],
      ["/v1/table/a$$b/exists"],
      [`/v1/table/${table}/restore`],
      [`/v1/table/${table}/restore`, { version: -1 }],
      [`/v1/table/${table}/insert?mode=x`, rowsOf(1)],
      [`/v1/table/${table}/branches/list?limit=x`],
    ];
    for (const [path, body] of malformed) {
      expect(await wire.post(path, body), path).toMatchObject({
        status: 400,
        json: { code: 13, type: "/errors/bad-request" },
      });
    }
  });
  sentence("creating a version that already exists yields 409 Conflict", async () => {
    const body = { version: 1, manifest_path: "x" };
    expect(await wire.post(`/v1/table/${table}/version/create`, body)).toMatchObject({
      status: 409,
      json: { code: 14 },
    });
  });
  sentence("an invalid or unresolved field path yields InvalidInput or TableColumnNotFound", async () => {
    for (const tail of ["create_index", "backfill_column"]) {
      const ask = (column: string) =>
        wire.post(`/v1/table/${table}/${tail}`, {
          column,
          ...(tail === "create_index" && { index_type: "BTREE" }),
        });
      expect(await ask("a..b")).toMatchObject({ status: 400, json: { code: 13 } });
      expect(await ask("none")).toMatchObject({ status: 404, json: { code: 12 } });
    }
  });
  sentence("the exists operation returns a success response with no content", async () => {
    const { status, bytes } = await wire.post(`/v1/table/${table}/exists`);
    expect([status, bytes.length]).toEqual([200, 0]);
  });

  it("every code of the engine has its HTTP status on the wire", async () => {
    for (const [type, { code, status }] of Object.entries(ERROR_TABLE)) {
      const error = new NamespaceError(type as keyof typeof ERROR_TABLE, `of ${type}`);
      await using failing = await openContract(
        {},
        { root: await makeTempDir(), authorize: () => Promise.reject(error) },
      );
      const answer = await failing.post("/v1/table/t/exists");
      expect(answer).toMatchObject({ status, json: { code, status, instance: "/v1/table/t/exists" } });
      const told = type === "Internal" ? "the request failed inside the server" : `of ${type}`;
      expect(answer.json.detail).toBe(told);
    }
  });

  it("an unknown error is an internal error without details", async () => {
    const directory = wire.namespace.root;
    await using failing = await openContract({
      log: () => {
        throw new Error("a log that fails");
      },
    });
    Object.defineProperty(failing.namespace, "tableExists", {
      value: () => Promise.reject(new TypeError(`cannot read ${directory}/secret`)),
    });
    const answer = await failing.post("/v1/table/t/exists");
    expect(answer).toMatchObject({ status: 500, json: { code: 18, type: "/errors/server-error" } });
    expect(JSON.stringify(answer.json)).not.toContain("secret");
  });

  async function askDirectly(path: string) {
    const { createRestHandler } = await import("tiltyard/rest");
    const handler = createRestHandler(wire.namespace, { auth: { anonymous: true } });
    const response = await handler(new Request(`http://localhost${path}`, { method: "POST" }));
    return { status: response.status, headers: response.headers, json: await response.json() };
  }
});

describe("Limits", () => {
  const refused = (member: string) => ({
    status: 400,
    json: { code: 13, detail: expect.stringMatching(new RegExp(`^${member}: `)) },
  });

  sentence("version (create, describe, restore, exists, index stats) is an integer >= 0", async () => {
    const withVersion = ["version/create", "version/describe", "restore", "exists", "index/i/stats"];
    for (const [tail, , body] of OPERATIONS) {
      if (!withVersion.includes(tail)) continue;
      for (const version of [-1, 0.5, "0", true, [], 1e300]) {
        expect(await wire.post(`/v1/table/${table}/${tail}`, { ...body, version }), tail).toMatchObject(
          refused("version"),
        );
      }
      expect((await wire.post(`/v1/table/${table}/${tail}`, { ...body, version: 0 })).status).not.toBe(500);
    }
  });
  sentence("manifest_size is an integer >= 0", async () => {
    const body = { version: 9, manifest_path: "x", manifest_size: -1 };
    expect(await wire.post(`/v1/table/${table}/version/create`, body)).toMatchObject(
      refused("manifest_size"),
    );
  });
  sentence("max_token_length is an integer >= 0", async () => {
    const body = { column: "v", index_type: "FTS", max_token_length: -1 };
    expect(await wire.post(`/v1/table/${table}/create_index`, body)).toMatchObject(
      refused("max_token_length"),
    );
  });
  sentence("column (create_index, backfill_column) has a minimum length of 1", async () => {
    for (const tail of ["create_index", "backfill_column"]) {
      const body = { column: "", ...(tail === "create_index" && { index_type: "FTS" }) };
      expect(await wire.post(`/v1/table/${table}/${tail}`, body)).toMatchObject(refused("column"));
    }
  });
  sentence("limit (list branches) is an inclusive upper bound on the items of a page", async () => {
    const branched = await wire.table();
    for (const name of ["a", "b", "c"]) await wire.done(`/v1/table/${branched}/branches/create`, { name });
    const { branches } = await wire.done(`/v1/table/${branched}/branches/list?limit=2`);
    expect(Object.keys(branches)).toEqual(["a", "b"]);
  });
});

describe("Versioning", () => {
  const inverted = (version: number) => String(2n ** 64n - 1n - BigInt(version)).padStart(20, "0");
  const describeVersion = async (name: string) =>
    (await wire.done(`/v1/table/${name}/version/describe`)).version;

  sentence("all paths carry the prefix /v1", async () => {
    for (const [tail, , body] of OPERATIONS) {
      for (const prefix of ["", "/v2", "/V1"]) {
        expect((await wire.post(`${prefix}/table/${table}/${tail}`, body)).status).toBe(404);
      }
    }
  });
  sentence("tables have numbered versions; each version has a manifest file", async () => {
    const name = await wire.table();
    for (const version of [2, 3]) {
      expect(await wire.done(`/v1/table/${name}/insert`, rowsOf(version))).toMatchObject({ version });
    }
    const paths = new Set<string>();
    for (const version of [1, 2, 3]) {
      const record = (await wire.done(`/v1/table/${name}/version/describe`, { version })).version;
      expect(record.version).toBe(version);
      paths.add(record.manifest_path);
    }
    expect(paths.size).toBe(3);
  });
  sentence("V1: the manifest is named _versions/{version}.manifest", async () => {
    await using old = await openContract({}, { root: await makeTempDir(), manifestNaming: "V1" });
    const name = await old.table();
    const first = (await old.done(`/v1/table/${name}/version/describe`)).version;
    expect(basename(first.manifest_path)).toBe("1.manifest");
    const manifest_path = await stageDoubled(tableRootOf(first.manifest_path), 2);
    const body = { version: 2, manifest_path, naming_scheme: "V1" };
    const { version } = await old.done(`/v1/table/${name}/version/create`, body);
    expect(basename(version.manifest_path)).toBe("2.manifest");
  });
  sentence("V2: the manifest is named by the zero-padded reversed version number", async () => {
    const name = await wire.table();
    const first = await describeVersion(name);
    const manifest_path = await stageDoubled(tableRootOf(first.manifest_path), 2);
    const body = { version: 2, manifest_path, naming_scheme: "V2" };
    const { version } = await wire.done(`/v1/table/${name}/version/create`, body);
    expect(basename(version.manifest_path)).toBe(`${inverted(2)}.manifest`);
    expect(inverted(2)).toHaveLength(20);
  });
  sentence("V2 is preferred for new tables", async () => {
    expect(basename((await describeVersion(await wire.table())).manifest_path)).toBe(
      `${inverted(1)}.manifest`,
    );
  });
});
