/** The inspector's handler: what it serves, and what it refuses. */

import { Field, Int32, LargeBinary, Schema } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { type InspectorHandler, type InspectorOptions, inspectorHandler } from "tiltyard/inspector";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

const ORIGIN = "http://127.0.0.1:4000";
const TOKEN = "a token of some length";
const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);

let ns: DirectoryNamespace;
beforeAll(async () => {
  ns = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
  await ns.createNamespace({ id: ["sales"] });
  const rows = Array.from({ length: 100 }, (_, index) => ({
    id: index,
    name: index === 7 ? "x".repeat(100_000) : `<b>${index % 10}</b>`,
    ratio: index === 3 ? Number.NaN : index / 4,
    vector: new Float32Array([index, 1, 2, 3]),
    photo: index % 2 === 0 ? PNG : new TextEncoder().encode("<svg onload='alert(1)'/>"),
    tags: [{ deep: { deeper: ["\u0000"], n: index } }],
    when: new Date(1_700_000_000_000 + index * 1000),
    big: 9_007_199_254_740_993n,
  }));
  await ns.createTable({ id: ["sales", "orders"], stableRowIds: true }, rows);
  await ns.deleteFromTable({ id: ["sales", "orders"], predicate: "id = 5" });
  await ns.declareTable({ id: ["declared"] });
});
afterAll(() => ns.close());

const handlerOf = (options: InspectorOptions = {}): InspectorHandler => inspectorHandler(ns, options);

const post = (name: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Request =>
  new Request(`${ORIGIN}/api/${name}`, {
    method: "POST",
    headers: { host: "127.0.0.1:4000", "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

const get = (path: string, headers: Readonly<Record<string, string>> = {}): Request =>
  new Request(`${ORIGIN}${path}`, { headers: { host: "127.0.0.1:4000", ...headers } });

// biome-ignore lint/suspicious/noExplicitAny: answers of calls have many forms
async function ask(name: string, body: unknown, options?: InspectorOptions): Promise<any> {
  const response = await handlerOf(options)(post(name, body));
  return { status: response.status, body: await response.json() };
}

const id = ["sales", "orders"];

describe("calls", () => {
  it("tables lists whole ids", async () => {
    expect((await ask("tables", {})).body).toEqual({ tables: [["declared"], ["sales", "orders"]] });
  });

  it("table describes the latest version, and a declared table", async () => {
    const { body } = await ask("table", { id });
    expect(body).toMatchObject({ description: { version: 2 }, stats: { numRows: 99 }, indexes: [] });
    expect((await ask("table", { id: ["declared"] })).body.description.isOnlyDeclared).toBe(true);
  });

  it("rows have bounded previews of values of any type", async () => {
    const { body } = await ask("rows", { id, version: 1, offset: 3, count: 5 });
    expect(body.columns).toEqual(["id", "name", "ratio", "vector", "photo", "tags", "when", "big"]);
    const [first, , , , fifth] = body.rows;
    expect(first.slice(0, 4)).toEqual([
      3,
      "<b>3</b>",
      { kind: "number", text: "NaN" },
      { kind: "vector", length: 4, points: [3, 1, 2, 3] },
    ]);
    expect(first.slice(5)).toEqual([
      { kind: "nested", text: String.raw`[{"deep": {"deeper": ["\u0000"], "n": 3}}]`, isCut: false },
      "2023-11-14T22:13:23Z",
      "9007199254740993",
    ]);
    expect(fifth[1]).toEqual({ kind: "text", text: "x".repeat(240), length: 100_000 });
    expect(body.rows[1][4]).toMatchObject({ kind: "bytes", media: "image/png" });
    expect(first[4]).toMatchObject({ kind: "bytes", media: null });
  });

  it("rows come in the order of the requested ids", async () => {
    const { body } = await ask("rows", { id, rowIds: ["9", "2", "5", "4"], columns: ["id"] });
    expect(body).toEqual({ columns: ["id"], rows: [[9], [2], [4]], rowIds: ["9", "2", "4"] });
  });

  it("matches are the ids of rows that pass a filter, in an order", async () => {
    const orderBy = { column: "id", ascending: false };
    const { body } = await ask("matches", { id, filter: "id < 10", orderBy, offset: 1, limit: 3 });
    expect(body).toEqual({ rowIds: ["8", "7", "6"], hasMore: true });
    expect((await ask("count", { id, filter: "id < 10" })).body).toEqual({ count: 9 });
  });

  it("a filter that does not parse is refused with a caret below the mistake", async () => {
    const { status, body } = await ask("count", { id, filter: "id >" });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ type: "InvalidInput", status: 400 });
    expect(body.error.message).toMatch(/position 4\n {4}id >\n {8}\^$/);
  });

  it("a profile has counts, extremes and a histogram that holds every finite value", async () => {
    const { body } = await ask("profile", { id, column: "ratio" });
    expect(body).toMatchObject({ rows: 99, nulls: 0 });
    const counted = body.histogram.reduce((sum: number, { count }: { count: number }) => sum + count, 0);
    expect(counted).toBe(98);
    const text = (await ask("profile", { id, column: "name", filter: "id >= 10" })).body;
    expect(text.frequent[0]).toEqual({ label: expect.stringMatching(/^<b>\d<\/b>$/), count: 9 });
    expect((await ask("profile", { id, column: "tags" })).body).toMatchObject({
      rows: 99,
      lengths: { min: 1, max: 1 },
    });
  });

  it("a cell has the whole value as text", async () => {
    const { body } = await ask("cell", { id, rowId: "7", column: "name" });
    expect(body).toEqual({ text: "x".repeat(100_000), isCut: false });
    const { text } = (await ask("cell", { id, rowId: "1", column: "photo" })).body;
    expect(text).toContain("<svg onload='ale");
  });

  it("a search finds similar rows, and its plan has measured times", async () => {
    const search = { id, vectorColumn: "vector", likeRow: "9", limit: 3, columns: ["id"] };
    const { body } = await ask("search", search);
    expect(body.rows.map(([found]: [number]) => found)).toEqual([9, 8, 10]);
    const { plan } = (await ask("plan", search)).body;
    expect(JSON.stringify(plan)).toContain("milliseconds");
    const neighbours = { id, vectorColumn: "vector", rowIds: ["9", "20"], limit: 2, exact: true };
    expect((await ask("neighbours", neighbours)).body.rowIds).toEqual([
      ["9", "8"],
      ["20", "19"],
    ]);
  });

  it("the plan of a filter has measured times, and its request the same checks", async () => {
    const asked = { id, filter: "id > 10", offset: 0, limit: 5, orderBy: { column: "id", ascending: true } };
    const { plan } = (await ask("matchesPlan", asked)).body;
    expect(JSON.stringify(plan)).toContain("milliseconds");
    for (const [member, value] of [
      ["limit", 0],
      ["filter", 7],
      ["orderBy", { column: "id", ascending: "yes" }],
      ["columns", ["id"]],
    ] as const) {
      const { body } = await ask("matchesPlan", { ...asked, [member]: value });
      expect(body.error.message).toContain(member === "orderBy" ? "ascending" : member);
    }
  });

  it("a sample of vectors has their numbers and colours", async () => {
    const { body } = await ask("vectors", { id, vectorColumn: "vector", colour: "name", limit: 4 });
    const bytes = Uint8Array.from(atob(body.values), (character) => character.charCodeAt(0));
    expect(body.dimension).toBe(4);
    expect([...new Float32Array(bytes.buffer)].filter((_, index) => index % 4 === 0)).toEqual([
      0, 25, 49, 73,
    ]);
    expect(body.colours).toHaveLength(4);
  });

  it("storage has the bytes of columns, and a file has its pages", async () => {
    const { body } = await ask("storage", { id, version: 1 });
    expect(body.columns.map(({ name }: { name: string }) => name)).toContain("tags.item.deep.deeper.item");
    const { path } = body.fragments[0].files[0];
    const described = (await ask("file", { id, path })).body;
    expect(described.columns[0].pages[0]).toMatchObject({ firstRow: 0, rows: 100 });
    expect((await ask("file", { id, path: "../../secret" })).status).toBe(400);
    expect((await ask("gain", { id })).body).toEqual({ fragmentsRemoved: 0, fragmentsAdded: 0 });
  });

  it("differences of versions name the rows", async () => {
    const { body } = await ask("differences", { id, from: 1, to: 2, limit: 10 });
    expect(body.rows).toMatchObject([{ kind: "removed", before: null }]);
    expect(
      (await ask("history", { id })).body.versions.map(({ version }: { version: number }) => version),
    ).toEqual([2, 1]);
    expect((await ask("refs", { id })).body).toEqual({ branches: {}, tags: {} });
    expect((await ask("jobs", {})).body).toEqual({ jobs: [] });
  });

  it.each([
    ["rows", { id, offset: -1, count: 1 }],
    ["rows", { id, offset: 0, count: 1e9 }],
    ["rows", { id: "sales", offset: 0, count: 1 }],
    ["rows", { id, offset: 0, count: 1, extra: true }],
    ["matches", { id, limit: 1e9, offset: 0 }],
    ["search", { id, limit: 1, vector: ["a"], vectorColumn: "vector" }],
    ["search", { id, limit: 1, likeRow: "999", vectorColumn: "vector" }],
    ["profile", { id }],
    ["cell", { id, rowId: "1" }],
    ["neighbours", { id, rowIds: Array(51).fill("1"), vectorColumn: "vector", limit: 1 }],
    ["count", "[]"],
    ["count", "{"],
    ["count", { id, filter: { toString: "x" } }],
    ["vectors", { id, vectorColumn: "name; drop", limit: 1 }],
  ])("%s refuses malformed members (case %#)", async (name, body) => {
    const answer = await ask(name, body);
    expect([400, 404]).toContain(answer.status);
    expect(answer.body.error.message).not.toBe("");
  });

  it("an error does not tell where the root is", async () => {
    const { body } = await ask("rows", { id: ["sales", "no/such"], offset: 0, count: 1 });
    expect(JSON.stringify(body)).not.toContain(ns.root);
  });
});

describe("changes", () => {
  it.each(["restore", "createTag", "deleteTag", "cancelJob"])("%s is refused without write", async (name) => {
    const { status, body } = await ask(name, { id, version: 1, tag: "t", jobId: "x" });
    expect([status, body.error.type]).toEqual([403, "PermissionDenied"]);
  });

  it("tags and restores work with write", async () => {
    const write = { write: true };
    expect((await ask("createTag", { id, version: 1, tag: "first" }, write)).status).toBe(200);
    expect((await ask("refs", { id })).body.tags.first.version).toBe(1);
    expect((await ask("restore", { id, version: 1 }, write)).body.version).toBe(3);
    expect((await ask("restore", { id, version: 2 }, write)).body.version).toBe(4);
    expect((await ask("deleteTag", { id, tag: "first" }, write)).status).toBe(200);
  });
});

describe("images", () => {
  const imageAt = (rowId: string, column = "photo"): Request =>
    get(`/api/image?of=${encodeURIComponent(JSON.stringify({ id, rowId, column }))}`);

  it("an image is served with its type and a policy that runs nothing", async () => {
    const response = await handlerOf()(imageAt("2"));
    expect(response.headers.get("content-type")).toBe("image/png");
    expect(response.headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(PNG);
  });

  it.each([
    ["1", "photo"],
    ["2", "name"],
  ])("a value that is no image is refused: row %s, column %s", async (rowId, column) => {
    expect((await handlerOf()(imageAt(rowId, column))).status).toBe(415);
  });
});

describe("blobs", () => {
  it("a blob column shows sizes and images", async () => {
    const metadata = new Map([["lance-encoding:blob", "true"]]);
    const fields = [new Field("n", new Int32()), new Field("blob", new LargeBinary(), true, metadata)];
    const rows = [
      { n: 1, blob: PNG },
      { n: 2, blob: null },
    ];
    const older = new DirectoryNamespace({ root: await makeTempDir(), dataStorageVersion: "2.1" });
    await older.createTable({ id: ["blobs"], schema: new Schema(fields) }, rows);
    const request = post("rows", { id: ["blobs"], offset: 0, count: 2 });
    const body = await (await inspectorHandler(older)(request)).json();
    await older.close();
    expect(body.rows).toMatchObject([
      [1, { kind: "bytes", size: PNG.length, media: "image/png" }],
      [2, null],
    ]);
  });
});

describe("other pages and hosts", () => {
  it.each([
    ["a name that a site resolves to this machine", { host: "evil.example" }, 421],
    ["another origin", { origin: "http://evil.example" }, 403],
    ["a form of another site", { "sec-fetch-site": "cross-site" }, 403],
    ["a page at another port", { origin: "http://127.0.0.1:5000", "sec-fetch-site": "same-site" }, 403],
    ["a page without an origin", { origin: "null" }, 403],
    ["a body of another type", { "content-type": "text/plain" }, 415],
  ])("calls of %s are refused", async (_, headers, status) => {
    const response = await handlerOf()(post("tables", {}, headers));
    expect(response.status).toBe(status);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  });

  it("a link on another site opens the page, and no call", async () => {
    const visit = {
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    };
    expect([200, 503]).toContain((await handlerOf()(get("/", visit))).status);
    expect((await handlerOf()(get("/", { ...visit, host: "evil.example" }))).status).toBe(421);
    expect((await handlerOf()(post("tables", {}, visit))).status).toBe(403);
  });

  it("every answer has a policy that names no other host", async () => {
    for (const request of [
      get("/"),
      get("/nothing"),
      post("tables", {}),
      post("tables", {}, { host: "evil.example" }),
    ]) {
      const { headers } = await handlerOf()(request);
      expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; script-src 'self'; /);
      expect(headers.get("content-security-policy")).not.toMatch(/unsafe|https?:|\*/);
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
    }
  });

  it("other methods and paths are refused", async () => {
    expect((await handlerOf()(get("/api/tables"))).status).toBe(405);
    expect((await handlerOf()(post("constructor", {}))).status).toBe(404);
    expect((await handlerOf()(new Request(`${ORIGIN}/`, { method: "DELETE" }))).status).toBe(405);
    expect((await handlerOf({ basePath: "/inspector" })(get("/other"))).status).toBe(404);
  });

  it("a large body is refused", async () => {
    expect((await handlerOf()(post("tables", { pageToken: "x".repeat(2 ** 20) }))).status).toBe(413);
  });
});

describe("a token", () => {
  it("opens one session, whose path and cookie are both needed", async () => {
    const handler = handlerOf({ token: TOKEN, basePath: "/look" });
    const anonymous = await handler(get("/look/"));
    expect(anonymous.status).toBe(401);
    expect((await handler(get("/look/?token=a%20token%20of%20another%20length"))).status).toBe(401);
    const begun = await handler(get(`/look/?token=${encodeURIComponent(TOKEN)}`));
    expect(begun.status).toBe(303);
    const path = begun.headers.get("location") ?? "";
    const [cookie, ...attributes] = (begun.headers.get("set-cookie") ?? "").split("; ");
    expect(path).toMatch(/^\/look\/[0-9a-f]{48}\/$/);
    expect(attributes).toEqual([`Path=${path}`, "HttpOnly", "SameSite=Strict"]);
    const call = (directory: string, headers: Readonly<Record<string, string>>): Promise<Response> =>
      handler(
        new Request(`${ORIGIN}${directory}api/tables`, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: "{}",
        }),
      );
    expect((await call(path, { cookie: `a=b; ${cookie}` })).status).toBe(200);
    expect((await call(path, {})).status).toBe(401);
    expect((await call("/look/", { cookie })).status).toBe(401);
    expect((await call(`/look/${"0".repeat(48)}/`, { cookie })).status).toBe(401);
    expect((await call(path, { cookie: `${cookie}0` })).status).toBe(401);
    // Another user of the machine who reads the address in a list of processes comes too late.
    expect((await handler(get(`/look/?token=${encodeURIComponent(TOKEN)}`))).status).toBe(401);
  });

  it("opens one session if two browsers bring it at once", async () => {
    const handler = handlerOf({ token: TOKEN });
    const visits = await Promise.all(
      [1, 2, 3].map(() => handler(get(`/?token=${encodeURIComponent(TOKEN)}`))),
    );
    expect(visits.map(({ status }) => status).sort()).toEqual([303, 401, 401]);
  });
});

describe("options", () => {
  it("the principal of a request reaches authorize", async () => {
    const seen: unknown[] = [];
    const guarded = new DirectoryNamespace({
      root: ns.root,
      authorize: ({ operation, principal }) => {
        seen.push([operation, principal?.subject]);
      },
    });
    const principal = (request: Request) =>
      request.headers.get("x-user") === "ann" ? { subject: "ann", method: "header" } : null;
    const handler = inspectorHandler(guarded, { principal });
    expect((await handler(post("count", { id }))).status).toBe(401);
    expect((await handler(post("count", { id }, { "x-user": "ann" }))).status).toBe(200);
    expect(seen).toEqual([["countTableRows", "ann"]]);
    await guarded.close();
  });

  it.each([
    [{ token: "short" }, /token: must be a text of 16 to 512 characters/],
    [{ write: 1 }, /write: must be a boolean/],
    [{ basePath: "inspector" }, /basePath: must be a path/],
    [{ title: "x".repeat(201) }, /title: must be a text/],
    [{ allowedHosts: ["a b"] }, /allowedHosts: a b is not a host/],
    [{ writes: true }, /options\.writes: there is no such option; did you mean write\?/],
    [{ principal: "ann" }, /principal: must be a function/],
  ])("malformed options are refused (case %#)", (options, message) => {
    expect(() => inspectorHandler(ns, options as InspectorOptions)).toThrow(message);
  });

  it("a namespace is required", () => {
    expect(() => inspectorHandler({} as DirectoryNamespace)).toThrow(/must be a DirectoryNamespace/);
  });
});
