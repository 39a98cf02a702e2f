/** Requests of `db://` beside those of LanceDB's released client: the same paths and bodies, but for defaults. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { DirectoryNamespace } from "tiltyard";
import type * as Lancedb from "tiltyard/lancedb";
import * as ours from "tiltyard/lancedb";
import { createRestHandler, toNodeListener } from "tiltyard/rest";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nativeModule } from "../../support/nativeLancedb.js";
import { makeTempDir } from "../../support/tempDir.js";

const native = nativeModule<typeof Lancedb>("index");

interface Sent {
  readonly target: string;
  readonly body: Readonly<Record<string, unknown>> | string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A program on both clients. Requests that only look for the latest version are left out. */
type Program = (db: Lancedb.Connection, lancedb: typeof Lancedb) => Promise<unknown>;

const worlds: { readonly name: string; readonly lancedb: typeof Lancedb; url: string; sent: Sent[] }[] = [
  { name: "native", lancedb: native, url: "", sent: [] },
  { name: "ours", lancedb: ours, url: "", sent: [] },
];
const closings: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  for (const world of worlds) {
    const namespace = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
    const handler = createRestHandler(namespace, { auth: { apiKeys: ["key"] } });
    const answer = async (request: Request): Promise<Response> => {
      const { pathname, searchParams } = new URL(request.url);
      searchParams.sort();
      const isJson = request.headers.get("content-type") === "application/json";
      const bytes = new Uint8Array(await request.arrayBuffer());
      const text = isJson ? new TextDecoder().decode(bytes) : "";
      const body = isJson && text !== "" ? JSON.parse(text) : bytes.length > 0 ? "rows" : {};
      const headers = Object.fromEntries(request.headers);
      world.sent.push({ target: `${request.method} ${pathname}?${searchParams}`, body, headers });
      const { method } = request;
      return handler(
        new Request(request.url, { method, headers, ...(method === "POST" && { body: bytes }) }),
      );
    };
    const server: Server = createServer({ maxHeaderSize: 65_536 }, toNodeListener(answer));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    world.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    closings.push(async () => {
      server.closeAllConnections();
      server.close();
      await handler.close();
      await namespace.close();
    });
  }
});
afterAll(async () => {
  for (const close of closings) await close();
});

/** Members that say what the server does anyway. */
const DEFAULTS: Readonly<Record<string, readonly unknown[]>> = {
  version: [null],
  replace: [false],
  predicate: [null],
  ...{ ef: [null], lower_bound: [null], upper_bound: [null], refine_factor: [null] },
  k: [2 ** 63, 9_007_199_254_740_991],
  mode: ["append"],
  ...{ sample_rate: [256], max_iterations: [50], ef_construction: [300], metric_type: ["l2"] },
};

/** Returns the requests of a program, without what both sides may leave out. */
async function requestsOf(world: (typeof worlds)[number], program: Program): Promise<unknown[]> {
  const db = await world.lancedb.connect("db://dev", { apiKey: "key", hostOverride: world.url });
  world.sent = [];
  await program(db as never, world.lancedb);
  return world.sent
    .filter(({ target }) => !/\/describe\//.test(target))
    .map(({ target, body }) => [
      target.replace(/([?&])(?:mode=append|timeout=\d+ms)(&|$)/, "$1"),
      typeof body === "string" ? body : plain(body),
    ]);
}

const plain = (body: Readonly<Record<string, unknown>>): unknown =>
  Object.fromEntries(
    Object.entries(body)
      .filter(([name, value]) => !DEFAULTS[name]?.includes(value) && value !== undefined)
      .filter(([name]) => !(name === "nprobes" && "minimum_nprobes" in body))
      .filter(([name]) => !(/imum_nprobes$/.test(name) && body.minimum_nprobes === 20))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );

const rows = () => [
  { id: 1, a: "x", vector: [1, 2] },
  { id: 2, a: "y", vector: [3, 4] },
];

const PROGRAMS: Readonly<Record<string, Program>> = {
  "creating tables": async (db) => {
    await db.createTable("t", rows());
    await db.createTable("t", rows(), { mode: "overwrite" });
  },
  "adding rows": async (db) => (await db.openTable("t")).add(rows()),
  "replacing rows": async (db) => (await db.openTable("t")).add(rows(), { mode: "overwrite" }),
  counting: async (db) => {
    const table = await db.openTable("t");
    await table.countRows();
    await table.countRows("id > 1");
  },
  queries: async (db) => {
    const table = await db.openTable("t");
    await table.query().toArray();
    await table.query().select(["id"]).where("id > 0").limit(5).offset(1).withRowId().fastSearch().toArray();
    await table.query().select({ twice: "id * 2" }).toArray();
    await table.query().orderBy({ columnName: "id" }).toArray();
  },
  "vector searches": async (db) => {
    const table = await db.openTable("t");
    const near = () => table.query().nearestTo([1, 2]);
    await near().limit(3).distanceType("cosine").nprobes(7).refineFactor(2).ef(9).postfilter().toArray();
    await near().distanceRange(0, 2).column("vector").bypassVectorIndex().toArray();
    await near().minimumNprobes(3).maximumNprobes(9).toArray();
    await near().addQueryVector([2, 3]).toArray();
  },
  "updates and deletions": async (db) => {
    const table = await db.openTable("t");
    await table.update({ where: "id = 2", values: { a: "q" } });
    await table.update({ id: "7" });
    await table.delete("id = 100");
  },
  merges: async (db) => {
    const merge = (await db.openTable("t"))
      .mergeInsert("id")
      .whenMatchedUpdateAll({ where: "target.id > 1" });
    await merge.whenNotMatchedInsertAll().whenNotMatchedBySourceDelete({ where: "id > 5" }).execute(rows());
  },
  indexes: async (db, { Index }) => {
    const table = await db.openTable("t");
    await table.createIndex("id", { config: Index.btree(), replace: false, name: "nm" });
    await table.createIndex("a", { config: Index.bitmap() });
    await table.listIndices();
  },
  columns: async (db) => {
    const table = await db.openTable("t");
    await table.addColumns([{ name: "price", valueSql: "cast(10.0 as float)" }]);
    await table.alterColumns([{ path: "price", rename: "cost" }]);
    await table.dropColumns(["cost"]);
  },
  "versions and tags": async (db) => {
    const table = await db.openTable("t");
    const tags = await table.tags();
    await tags.create("v1", 1);
    await tags.update("v1", 2);
    await tags.getVersion("v1");
    await tags.list();
    await tags.delete("v1");
    await table.listVersions();
    await table.checkout(2);
    await table.query().toArray();
    await table.restore();
  },
  branches: async (db) => {
    const branches = await (await db.openTable("t")).branches();
    await branches.create("exp", undefined, 1);
    await branches.list();
    await branches.delete("exp");
  },
  namespaces: async (db) => {
    await db.createNamespace(["n"], { properties: { owner: "me" }, mode: "exist_ok" });
    await db.describeNamespace(["n"]);
    await db.createTable("in", rows(), ["n"]);
    await db.renameTable("in", "in2", { namespacePath: ["n"] });
    await db.dropNamespace(["n"], { behavior: "cascade", mode: "skip" });
  },
  dropping: async (db) => {
    await db.tableNames();
    await db.dropTable("t");
  },
};

describe("requests to a server", () => {
  it.for(Object.entries(PROGRAMS))("%s sends what LanceDB's client sends", async ([, program]) => {
    const [theirs, own] = [await requestsOf(worlds[0], program), await requestsOf(worlds[1], program)];
    // The drop-in reads the columns of a table before it adds rows of objects.
    const isSchema = (request: unknown) => JSON.stringify(request).includes('"k":0');
    expect(own.filter((request) => !isSchema(request))).toEqual(theirs);
  });

  it("every request names client, database and key as LanceDB's does", async () => {
    for (const world of worlds) await requestsOf(world, (db) => db.tableNames());
    const [theirs, own] = worlds.map(({ sent }) => sent[0]?.headers ?? {});
    for (const name of ["user-agent", "x-api-key", "x-lancedb-database"])
      expect(own[name]).toBe(theirs[name]);
    expect(own["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  });
});
