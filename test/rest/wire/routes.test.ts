/** The table of routes is complete and reachable, and the OpenAPI document agrees with it. */

import { Int32, Table, tableFromIPC, tableToIPC, vectorFromArray } from "apache-arrow";
import { operationRow } from "../../../src/operationTable.js";
import { route } from "../../../src/rest/wire/route.js";
import { RouteFinder } from "../../../src/rest/wire/routeFinder.js";
import { ROUTES } from "../../../src/rest/wire/routes.js";
import * as shape from "../../../src/rest/wire/shapes.js";
import { camelCase } from "../../../src/rest/wire/wireNames.js";
import { readPage } from "../../support/documents.js";
import { afterAll, beforeAll, describe, expect, it, sharedNamespace } from "../../support/fixtures.js";
import { get, post, type RestServer, startRestServer } from "../../support/restServer.js";

const rows = tableToIPC(new Table({ v: vectorFromArray([1, 2, 3], new Int32()) }));
const COMMON = ["id", "identity", "context"];
const namesIn = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
const namespace = sharedNamespace();
let server: RestServer;

beforeAll(async () => {
  server = await startRestServer(namespace);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

describe("routes", () => {
  it("docs/http.md lists the routes", () => {
    const page = readPage("docs/http.md");
    const listed = [...page.matchAll(/^\| `(\w+)` \| `([A-Z]+) ([^`]+)` \|$/gm)].map((row) => row.slice(1));
    expect(listed).toEqual(ROUTES.map(({ operation, methods, path }) => [operation, methods[0], path]));
  });

  it("each route names an operation of the class, and each operation once", () => {
    const names = ROUTES.map(({ operation }) => operation);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(namespace[name], name).toBeTypeOf("function");
  });

  it("each path finds its route, even if an id equals a fixed name", () => {
    const finder = new RouteFinder(ROUTES);
    for (const route of ROUTES) {
      for (const method of route.methods) {
        const match = finder.find(method, route.path.replaceAll(/\{(\w+)\}/g, "some-$1"));
        expect(match, route.path).toMatchObject({ route: { operation: route.operation } });
      }
    }
  });

  it("each route takes all members of the request that a client may set", () => {
    const hosts = [
      "memory",
      "onProgress",
      "progress",
      "rerank",
      "schema",
      "maxBatchBytes",
      "maxRows",
      "batchSize",
    ];
    const others = [...hosts, "batchBytes", "maxColumns", "useScalarIndex", "unregisteredBranch"];
    for (const { operation, query, body, path, answer } of ROUTES) {
      const bodyMembers = body === "arrow" ? [] : "member" in body ? [body.member] : Object.keys(body.shape);
      const names = [...Object.keys(query.shape), ...bodyMembers, ...namesIn(path)];
      const taken = new Set(names.map(camelCase).filter((name) => !COMMON.includes(name)));
      // The form of JSON in the answer is no matter of the operation.
      if (answer === "rows") expect(taken.delete("nonFinite")).toBe(true);
      const declared = Object.keys(operationRow(operation).members).filter((name) => !others.includes(name));
      expect([...taken].sort(), operation).toEqual(declared.sort());
    }
    // @ts-expect-error no request has such a member
    route("getTableTagVersion", "/", "Finds", { members: { vesion: shape.version } });
  });

  it("unknown paths and methods are refused", async () => {
    expect(await get(server, "/v1/nothing")).toMatchObject({ status: 404, json: { code: 0 } });
    const answer = await get(server, "/v1/table/t/exists");
    expect(answer).toMatchObject({ status: 405, json: { code: 0 } });
    expect(answer.headers.get("allow")).toBe("POST");
  });
});

describe("requests on the wire", () => {
  it("a tag selects the version that requests read", async () => {
    const id = ["tagged"];
    await namespace.createTable({ id }, rows);
    await namespace.createTableTag({ id, tag: "v", version: 1 });
    await namespace.insertIntoTable({ id }, rows);
    const tagged = { tag: "v" };
    expect(await post(server, "/v1/table/tagged/count_rows", tagged)).toMatchObject({ json: 3 });
    expect(await get(server, "/v1/table/tagged/count_rows?tag=v")).toMatchObject({ json: 3 });
    expect(await post(server, "/v1/table/tagged/stats", tagged)).toMatchObject({ json: { num_rows: 3 } });
    const answer = await post(server, "/v1/table/tagged/query", tagged);
    expect(tableFromIPC(answer.bytes).numRows).toBe(3);
    const both = await post(server, "/v1/table/tagged/count_rows", { tag: "v", version: 1 });
    expect(both).toMatchObject({ status: 400 });
  });
});

it("a transaction is found by its id alone, and after its table's id in the path or the body", async () => {
  const { transactionId } = await namespace.createTable({ id: ["described"] }, rows);
  const wanted = {
    status: 200,
    json: { status: "Succeeded", properties: { table: "described", version: "1" } },
  };
  const asks: [path: string, body: object][] = [
    [`${transactionId}`, {}],
    [`${transactionId}`, { id: [transactionId] }],
    [`${transactionId}`, { id: ["described"] }],
    [`described$${transactionId}`, {}],
    [`described$${transactionId}`, { id: ["described", transactionId] }],
  ];
  for (const [path, body] of asks) {
    expect(await post(server, `/v1/transaction/${path}/describe`, body), path).toMatchObject(wanted);
  }
  const elsewhere = await post(server, `/v1/transaction/${transactionId}/describe`, { id: ["none"] });
  expect(elsewhere).toMatchObject({ status: 404, json: { code: 4 } });
  const unknown = transactionId?.replace(/^.{8}/, "00000000");
  expect(await post(server, `/v1/transaction/${unknown}/describe`, {})).toMatchObject({
    status: 404,
    json: { code: 10 },
  });
  expect(await post(server, "/v1/transaction/7/describe", {})).toMatchObject({
    status: 400,
    json: { code: 13 },
  });
});

describe("the OpenAPI document", () => {
  it("the document has every route, and its references are valid", async () => {
    const { status, json } = await get(server, "/openapi.json");
    expect(status).toBe(200);
    for (const { path, methods } of ROUTES) {
      for (const method of methods) {
        expect(json.paths[path][method.toLowerCase()].operationId).toBeTypeOf("string");
      }
    }
    const references = [...JSON.stringify(json).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, to]) => to);
    expect(references.length).toBeGreaterThan(100);
    for (const reference of new Set(references)) {
      const target = reference.split("/").reduce((node, step) => node?.[step], json);
      expect(target, reference).toBeTypeOf("object");
    }
    const ids = Object.values(json.paths as Record<string, Record<string, { operationId: string }>>)
      .flatMap((path) => Object.values(path))
      .map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("the document allows fractions of seconds between checkpoints, and integers for other settings", async () => {
    const { json } = await get(server, "/openapi.json");
    const { content } = json.paths["/v1/table/{id}/backfill_column"].post.requestBody;
    const { properties } = content["application/json"].schema;
    const typeOf = (member: string) => {
      const [{ type, minimum }] = properties[member].anyOf;
      return [type, minimum];
    };
    expect(typeOf("batch_checkpoint_flush_interval_seconds")).toEqual(["number", 0]);
    expect(typeOf("checkpoint_size")[0]).toBe("integer");
  });
});

it("the document describes rows as a file and as a stream", async () => {
  expect(await post(server, "/v1/table/t/insert", rows)).toMatchObject({
    status: 404,
    json: { code: 4, instance: "/v1/table/t/insert" },
  });
  expect((await post(server, "/v1/table/t/declare", { id: ["t"] })).status).toBe(200);
  expect((await post(server, "/v1/table/t/insert", rows)).json).toMatchObject({
    version: 1,
    num_inserted_rows: 3,
  });
  const file = await post(server, "/v1/table/t/query", { k: 2 });
  expect(file.headers.get("content-type")).toBe("application/vnd.apache.arrow.file");
  expect(Array.from(tableFromIPC(file.bytes).getChild("v") ?? [])).toEqual([1, 2]);
  const stream = await post(
    server,
    "/v1/table/t/query",
    {},
    { accept: "application/vnd.apache.arrow.stream" },
  );
  expect(stream.headers.get("content-type")).toBe("application/vnd.apache.arrow.stream");
  expect(Array.from(tableFromIPC(stream.bytes).getChild("v") ?? [])).toEqual([1, 2, 3]);
  expect((await post(server, "/v1/table/t/count_rows")).json).toBe(3);
});
