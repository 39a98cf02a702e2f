/** Rows as JSON over HTTP, in and out, beside the same rows in process. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import type { DirectoryNamespace } from "tiltyard";
import { createRestHandler, type RestHandlerOptions } from "tiltyard/rest";
import { describe, expect, it } from "../support/fixtures.js";
import { VALUE_TYPES } from "../support/valueTypes.js";

const ALL = { dates: "iso", bigints: "bigint" } as const;
const STREAM = "application/vnd.apache.arrow.stream";
const FILE = "application/vnd.apache.arrow.file";
const LINES = "application/x-ndjson";
const JSON_TYPE = "application/json";

function callerOf(ns: DirectoryNamespace, options: RestHandlerOptions = {}) {
  const handler = createRestHandler(ns, { auth: { anonymous: true }, ...options });
  const call = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    handler(
      new Request(`http://localhost/v1/table/${path}`, {
        method: "POST",
        body: typeof body === "string" || body instanceof ReadableStream ? body : JSON.stringify(body),
        headers: { "content-type": JSON_TYPE, ...headers },
        duplex: "half",
      } as RequestInit),
    );
  return {
    call,
    async done(path: string, body: unknown, headers?: Record<string, string>) {
      const answer = await call(path, body, headers);
      const text = await answer.text();
      expect(answer.status, text).toBe(200);
      return JSON.parse(text);
    },
    async refused(path: string, body: unknown, headers?: Record<string, string>) {
      const answer = await call(path, body, headers);
      const { code, detail } = await answer.json();
      return { status: answer.status, code, detail };
    },
    async lines(path: string, body: unknown = {}) {
      const answer = await call(path, body, { accept: LINES });
      expect(answer.headers.get("content-type")).toBe(LINES);
      return answer.text();
    },
  };
}

const linesOf = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
const parsed = (lines: string) =>
  lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

describe("10,000 generated rows of all types", () => {
  const NAMES = Object.keys(VALUE_TYPES);
  const schema = new arrow.Schema([
    new arrow.Field("id", new arrow.Int32()),
    ...NAMES.map((name) => new arrow.Field(name, VALUE_TYPES[name].type, true)),
  ]);
  const row = fc.record(Object.fromEntries(NAMES.map((name) => [name, fc.option(VALUE_TYPES[name].value)])), {
    noNullPrototype: true,
  });
  /** Types whose JSON on the way out is spelled as `json` of the type does. */
  const SPELLED = NAMES.filter((name) => !/seconds$|struct|map|^time/.test(name));
  const safe = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(safe)
      : typeof value === "string" && Number.isSafeInteger(Number(value)) && /^-?\d+$/.test(value)
        ? Number(value)
        : value;

  it("in process equal those over HTTP, inserted, merged and queried", async ({ ns }) => {
    const { done, lines, call } = callerOf(ns);
    const values = fc.sample(row, 10_000).map((each, id): Record<string, unknown> & { id: number } => ({
      id,
      ...each,
    }));
    const json = values.map(({ id, ...each }) => ({
      id,
      ...Object.fromEntries(
        Object.entries(each).map(([name, value]) => [
          name,
          value === null ? null : VALUE_TYPES[name].json(value as never),
        ]),
      ),
    }));
    await ns.createTable({ id: "direct", schema }, values);
    for (const name of ["array", "lines", "merged", "again"]) await ns.createTable({ id: name, schema }, []);
    expect(await done("array/insert", json)).toMatchObject({ num_inserted_rows: 10_000 });
    expect(await done("lines/insert", linesOf(json), { "content-type": LINES })).toMatchObject({
      num_inserted_rows: 10_000,
    });
    const merge = "when_matched_update_all=true&when_not_matched_insert_all=true&on=id";
    await done(
      "merged/insert",
      json.slice(0, 3000).map(({ id }) => ({ id })),
    );
    expect(
      await done(`merged/merge_insert?${merge}`, linesOf(json), { "content-type": LINES }),
    ).toMatchObject({
      num_updated_rows: 3000,
      num_inserted_rows: 7000,
    });
    const rowsOf = (name: string) =>
      ns
        .table(name)
        .scan({ orderBy: [{ columnName: "id" }] })
        .toArray(ALL);
    const direct = await rowsOf("direct");
    const told = await lines("direct/query?non_finite=text");
    await done("again/insert", told, { "content-type": LINES });
    for (const name of ["array", "lines", "merged", "again"]) expect(await rowsOf(name)).toEqual(direct);

    const array = await call("direct/query?non_finite=text", {}, { accept: JSON_TYPE });
    expect(array.headers.get("content-type")).toBe(JSON_TYPE);
    expect(await array.json()).toEqual(parsed(told));
    const shown = parsed(told);
    for (const name of SPELLED) {
      const isText = /utf8|Utf8|decimal|inary|dictionary/.test(name);
      const expected = json.map((each) => (isText ? each[name as "id"] : safe(each[name as "id"])));
      expect(
        shown.map((each) => each[name]),
        name,
      ).toEqual(expected);
    }
    expect(parsed(await lines("direct/query", { columns: ["float64"] }))).toEqual(
      values.map(({ float64 }) => ({
        float64: Number.isFinite(float64) ? float64 : null,
      })),
    );
  }, 120_000);
});

describe("the form of an answer", () => {
  it.for([
    [undefined, FILE],
    ["*/*", FILE],
    ["application/*", FILE],
    ["text/html", FILE],
    [STREAM, STREAM],
    [JSON_TYPE, JSON_TYPE],
    [LINES, LINES],
    ["application/json, text/plain, */*", JSON_TYPE],
    [`${JSON_TYPE}, ${LINES}`, JSON_TYPE],
    [`${LINES};q=0.9, ${JSON_TYPE};q=0.8`, LINES],
    [`${JSON_TYPE};q=0.5, ${STREAM}`, STREAM],
    [`${JSON_TYPE}, ${FILE}`, FILE],
    [`${JSON_TYPE};q=0, */*`, FILE],
    [`${STREAM};q=0, ${FILE};q=0, */*;q=0.1`, JSON_TYPE],
    ["Application/X-NDJSON", LINES],
    ["*/*;q=0", 406],
    [`${STREAM};q=0, ${FILE};q=0`, 406],
  ] as const)("of a client that accepts %s is %s", async ([accept, expected], { ns }) => {
    await ns.createTable({ id: "t" }, [{ id: 1 }]);
    const { call } = callerOf(ns);
    const answer = await call("t/query", {}, accept === undefined ? {} : { accept });
    expect(answer.status === 200 ? answer.headers.get("content-type") : answer.status).toBe(expected);
    await answer.body?.cancel();
  });

  it("is Arrow for LanceDB's generated client in Python, which accepts JSON and reads Arrow", async ({
    ns,
  }) => {
    await ns.createTable({ id: "t" }, [{ id: 1 }]);
    const { call } = callerOf(ns);
    const agent = { "user-agent": "OpenAPI-Generator/0.13.0/python" };
    for (const [accept, type] of [
      [JSON_TYPE, FILE],
      [LINES, LINES],
    ]) {
      const answer = await call("t/query", {}, { ...agent, accept });
      expect(answer.headers.get("content-type")).toBe(type);
    }
  });

  it("has the rows of a search, and none of an empty table", async ({ ns }) => {
    const { call, lines } = callerOf(ns);
    await ns.createTable({ id: "t" }, [
      { id: 1, vector: [1, 0] },
      { id: 2, vector: [0, 1] },
    ]);
    expect(parsed(await lines("t/query", { vector: [0, 1], k: 1 }))).toEqual([
      { id: 2, vector: [0, 1], _distance: 0 },
    ]);
    expect(await lines("t/query", { where: "id > 5" })).toBe("");
    expect(await (await call("t/query", { where: "id > 5" }, { accept: JSON_TYPE })).json()).toEqual([]);
    expect(await callerOf(ns).refused("t/query?non_finite=x", {})).toMatchObject({ status: 400, code: 13 });
  });

  it("is read at the pace of the client", async ({ ns }) => {
    await ns.createTable(
      { id: "t" },
      (function* () {
        for (let id = 0; id < 200_000; id++) yield { id, text: "some text of a row" };
      })(),
    );
    const { call } = callerOf(ns);
    const reader = (await call("t/query", {}, { accept: LINES })).body?.getReader();
    const first = await reader?.read();
    expect(first?.value?.length).toBeLessThan(2 ** 18);
    await reader?.cancel();
    expect(await ns.table("t").countRows()).toBe(200_000);
  });
});

describe("rows that do not fit", () => {
  const schema = new arrow.Schema([
    new arrow.Field("id", new arrow.Int64(), true),
    new arrow.Field("at", new arrow.TimestampMillisecond("UTC"), true),
    new arrow.Field("price", new arrow.Decimal(2, 10, 128), true),
  ]);

  it.for([
    [[{ id: 1.5 }], 20, /^row 0, column id: 1.5 where a value of type Int64 is wanted/],
    [[{ id: 1 }, { id: 2 ** 53 }], 20, /^row 1, column id: 9007199254740992 where/],
    [[{ at: "yesterday" }], 20, /^row 0, column at: the text "yesterday" where/],
    [[{ price: "1.234" }], 20, /^row 0, column price: the text "1.234" where/],
    [[{ identity: 1 }], 20, /^row 0: there is no column identity/],
    [[1], 13, /^row 0: 1 where an object is wanted/],
    [[{ id: 1 }, null], 13, /^row 1: null where an object is wanted/],
    [{ id: 1 }, 13, /^the body must be a JSON array of objects/],
    ["[{]", 13, /^the array ends within or after row 0/],
    ["", 13, /^the body must be a JSON array of objects/],
  ] as const)("%j changes nothing", async ([body, code, detail], { ns }) => {
    await ns.createTable({ id: "t", schema }, [{ id: 1n }]);
    const { refused } = callerOf(ns);
    expect(await refused("t/insert", body)).toEqual({
      status: 400,
      code,
      detail: expect.stringMatching(detail),
    });
    expect(await ns.table("t").version()).toBe(1);
  });

  it.for([
    ["column x: the number is beyond the range of type Float64", '{"id":1,"x":1e400}'],
    ["column x: the number is beyond the range of type Float64", '{"id":1,"x":-1E+400}'],
    ["column x: the number is beyond the range of type Float64", `{"id":1,"x":${"9".repeat(400)}}`],
    ["column list[].y: the number is beyond the range of type Float64", '{"id":1,"list":[{"y":1e400}]}'],
    ["column vector[]: the number is beyond the range of type Float64", '{"id":1,"vector":[1,1e400]}'],
    ["column half: the number is beyond the range of type Float16", '{"id":1,"half":1e400}'],
    ["column id: Infinity where a value of type Int32 is wanted", '{"id":1e400}'],
  ] as const)("a number beyond float64 is refused: %s (case %#)", async ([detail, row], { ns }) => {
    const item = new arrow.Struct([new arrow.Field("y", new arrow.Float64(), true)]);
    const vector = new arrow.FixedSizeList(2, new arrow.Field("item", new arrow.Float64(), true));
    const wide = new arrow.Schema([
      new arrow.Field("id", new arrow.Int32(), true),
      new arrow.Field("x", new arrow.Float64(), true),
      new arrow.Field("half", new arrow.Float16(), true),
      new arrow.Field("list", new arrow.List(new arrow.Field("item", item, true)), true),
      new arrow.Field("vector", vector, true),
    ]);
    await ns.createTable({ id: "t", schema: wide }, [{ id: 0, x: Number.POSITIVE_INFINITY }]);
    const { refused, done } = callerOf(ns);
    const expected = { status: 400, code: 20, detail: `row 1, ${detail}` };
    expect(await refused("t/insert", `[{"id":5},${row}]`)).toEqual(expected);
    expect(await refused("t/insert", `{"id":5}\n${row}`, { "content-type": LINES })).toEqual(expected);
    expect(
      await refused("t/merge_insert?on=id&when_not_matched_insert_all=true", `[{"id":5},${row}]`),
    ).toMatchObject(expected);
    expect(await ns.table("t").countRows()).toBe(1);
    expect(await done("t/insert", [{ id: 2, x: "-Infinity", vector: [1, "Infinity"] }])).toMatchObject({
      num_inserted_rows: 1,
    });
  });

  it("numbers beyond float64 make no table", async ({ ns }) => {
    const { refused } = callerOf(ns);
    expect(await refused("t/create", '[{"price":1e400}]')).toMatchObject({
      status: 400,
      detail: expect.stringMatching(/^row 0, column price: the number is beyond the range of type Float64/),
    });
    expect(await refused("t/create", '[{"vector":[1,1e400]}]')).toMatchObject({
      status: 400,
      detail: expect.stringMatching(
        /^row 0, column vector\[\]: the number is beyond the range of type Float32/,
      ),
    });
    await expect(ns.table("t").exists()).resolves.toBe(false);
  });

  it.for([
    ["t/update", '{"where":"true","values":{"x":1e400}}', /values\.x/],
    ["t/update", '{"where":"true","values":{"vector":[1,1e400]}}', /values\.vector/],
    ["t/query", '{"where":"x < $most","params":{"most":1e400}}', /params\.most/],
    ["t/delete", '{"where":"x < $most","params":{"most":-1e400}}', /params\.most/],
  ] as const)("%s refuses a number beyond float64: %s", async ([path, body, member], { ns }) => {
    await ns.createTable({ id: "t" }, [{ x: 1, vector: [1, 2] }]);
    const { status, detail } = await callerOf(ns).refused(path, body);
    expect({ status, detail }).toEqual({ status: 400, detail: expect.stringMatching(member) });
    expect(detail).toMatch(/has a number beyond the range of float64/);
  });

  it("a merge takes the values of its parameters from the query, and refuses what is not a JSON object", async ({
    ns,
  }) => {
    await ns.createTable({ id: "t" }, [
      { id: 1, x: 1 },
      { id: 2, x: 2 },
    ]);
    const { refused, done } = callerOf(ns);
    const path = (params: string) =>
      `t/merge_insert?on=id&when_matched_update_all=true&when_matched_update_all_filt=${encodeURIComponent("target.x > $least")}&params=${encodeURIComponent(params)}`;
    const rows = [
      { id: 1, x: 9 },
      { id: 2, x: 9 },
    ];
    expect(await done(path('{"least":1}'), rows)).toMatchObject({ num_updated_rows: 1 });
    for (const params of ["{", "[1]", "7", '"x"', "null", '{"least":1e999}', ""]) {
      expect(await refused(path(params), rows), params).toMatchObject({ status: 400 });
    }
    expect(await refused(path("{}"), rows)).toMatchObject({
      status: 400,
      detail: expect.stringMatching(/least/),
    });
  });

  it("rows that name ever new columns are refused before they fill memory", async ({ ns }) => {
    const { refused } = callerOf(ns);
    const rows = Array.from({ length: 40 }, (_, row) =>
      Object.fromEntries(Array.from({ length: 2000 }, (_, column) => [`c${row}_${column}`, 1])),
    );
    expect(await refused("t/create", rows)).toMatchObject({
      status: 400,
      code: 13,
      detail: "the rows have more than 65536 members; pass a schema",
    });
    const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, column) => [`c${column}`, 1]));
    expect(await refused("t/create", [wide])).toMatchObject({
      status: 413,
      detail: expect.stringContaining("row 0: has more than 4096 members"),
    });
    await expect(ns.table("t").exists()).resolves.toBe(false);
  });

  it("a line beyond the limit is refused with 413 and its number", async ({ ns }) => {
    await ns.createTable({ id: "t" }, [{ id: 1, text: "" }]);
    const { refused } = callerOf(ns, { limits: { maxJsonBytes: 1000 } });
    const body = linesOf([{ id: 2 }, { text: "x".repeat(2000) }]);
    expect(await refused("t/insert", body, { "content-type": LINES })).toMatchObject({
      status: 413,
      detail: expect.stringContaining("line 2: has more than 1000 bytes"),
    });
    expect(await ns.table("t").countRows()).toBe(1);
  });

  it("another media type is refused with 415, which names those that are taken", async ({ ns }) => {
    await ns.createTable({ id: "t" }, [{ id: 1 }]);
    const { refused } = callerOf(ns);
    expect(await refused("t/insert", "id\n1", { "content-type": "text/csv" })).toMatchObject({
      status: 415,
      detail: expect.stringContaining("application/json"),
    });
  });
});

describe("rows without values", () => {
  it("no rows go into a table, and make none", async ({ ns }) => {
    await ns.createTable({ id: "t" }, [{ id: 1 }]);
    const { done, refused } = callerOf(ns);
    expect(await done("t/insert", [])).toMatchObject({ num_inserted_rows: 0 });
    expect(await done("t/insert", "\n", { "content-type": LINES })).toMatchObject({ num_inserted_rows: 0 });
    expect(await refused("new/create", [])).toMatchObject({ status: 400, code: 13 });
  });

  it("a member that rows lack is null, and later rows may have it", async ({ ns }) => {
    const { done, lines } = callerOf(ns);
    await done("t/create", [{ id: 1 }, { id: 2, note: "x" }]);
    await done("t/insert", linesOf([{ note: "y" }, { id: 4 }]), { "content-type": LINES });
    expect(parsed(await lines("t/query"))).toEqual([
      { id: 1, note: null },
      { id: 2, note: "x" },
      { id: null, note: "y" },
      { id: 4, note: null },
    ]);
  });

  it("a member named __proto__ is a column like others", async ({ ns }) => {
    const { done, lines } = callerOf(ns);
    await done("t/create", '[{"__proto__":1,"id":2}]');
    expect(await lines("t/query")).toBe('{"__proto__":1,"id":2}\n');
  });
});

describe("groups of rows in process", () => {
  it("arrays of objects from an iterable are rows", async ({ ns }) => {
    async function* pages() {
      yield [{ id: 1 }, { id: 2 }];
      yield [];
      yield [{ id: 3 }];
    }
    await ns.createTable({ id: "t" }, pages());
    expect(await ns.table("t").scan().toArray()).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    async function* wrong() {
      yield [{ id: 4 }];
      yield { id: 5 };
    }
    await expect(ns.insertIntoTable({ id: "t" }, wrong() as never)).rejects.toThrow(
      /^row 1: an object where an array of rows is wanted/,
    );
    expect(await ns.table("t").countRows()).toBe(3);
  });
});
