/** Members of requests with several names, in process and over HTTP. */

import { col, type DirectoryNamespace } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { describe, expect, it } from "./support/fixtures.js";

const NAMES = ["filter", "predicate", "where"] as const;
const ROWS = [
  { id: 1, kind: "a" },
  { id: 2, kind: "a" },
  { id: 3, kind: "b" },
];

async function openTable(ns: DirectoryNamespace) {
  await ns.createTable({ id: ["t"] }, ROWS);
  const handler = createRestHandler(ns, { auth: { anonymous: true } });
  const post = async (path: string, body: object) => {
    const answer = await handler(
      new Request(`http://localhost/v1/table/t/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
    const isJson = answer.headers.get("content-type") === "application/json";
    return { status: answer.status, json: isJson ? await answer.json() : undefined };
  };
  const ids = async () => (await ns.table("t").scan().toArray()).map(({ id }) => id);
  return { table: ns.table("t"), post, ids };
}

describe("a condition has three names", () => {
  it.for(NAMES)("every operation obeys %s in process", async (name, { ns }) => {
    const { table } = await openTable(ns);
    const condition = { [name]: "id = 1" } as { where: string };
    expect(await ns.countTableRows({ id: "t", ...condition })).toBe(1);
    expect(await ns.countTableRows({ id: "t", [name]: col("id").gt(1) })).toBe(2);
    expect(await (await ns.queryTable({ id: "t", ...condition })).toArray()).toEqual([ROWS[0]]);
    expect(await table.scan(condition).toArray()).toEqual([ROWS[0]]);
    const plan = await ns.explainTableQueryPlan({ id: "t", query: condition });
    expect(plan).toContain("id = 1");
    await ns.updateTable({ id: "t", ...condition, values: { kind: "x" } });
    await table.update({ [name]: "id = 2", valuesSql: { kind: "'y'" } });
    const kinds = (await table.scan({ columns: ["kind"] }).toArray()).map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(["b", "x", "y"]);
    await ns.deleteFromTable({ id: "t", ...condition });
    expect(await table.countRows()).toBe(2);
  });

  it.for(NAMES)("every route obeys %s", async (name, { ns }) => {
    const { post, ids } = await openTable(ns);
    const condition = { [name]: "id = 1" };
    expect((await post("count_rows", condition)).json).toBe(1);
    expect((await post("explain_plan", { query: condition })).json).toContain("id = 1");
    expect(await post("update", { values_sql: { kind: "'x'" }, ...condition })).toMatchObject({
      status: 200,
      json: { updated_rows: 1 },
    });
    expect((await post("delete", condition)).status).toBe(200);
    expect(await ids()).toEqual([2, 3]);
  });

  it("two different values are refused, and change nothing", async ({ ns }) => {
    const { post, ids } = await openTable(ns);
    const both = { where: "id = 1", predicate: "id = 2" };
    await expect(ns.deleteFromTable({ id: "t", ...both })).rejects.toThrow(
      "where: means the same as predicate, which has another value; give one of them",
    );
    for (const path of ["delete", "count_rows", "query", "update"]) {
      const body = path === "update" ? { ...both, values: { kind: "x" } } : both;
      expect(await post(path, body), path).toMatchObject({ status: 400, json: { code: 13 } });
    }
    expect(await ids()).toEqual([1, 2, 3]);
    expect(await ns.countTableRows({ id: "t", where: "id = 1", filter: "id = 1" })).toBe(1);
  });

  it("a misspelt condition is refused with the nearest name, and changes nothing", async ({ ns }) => {
    const { post, ids } = await openTable(ns);
    for (const [path, body, detail] of [
      ["delete", { wheer: "id = 1" }, "wheer: there is no such member; did you mean where?"],
      [
        "update",
        { values: { kind: "x" }, condition: "id = 1" },
        /^condition: .* did you mean (filter|predicate|where)\?$/,
      ],
      ["query", { fliter: "id = 1" }, "fliter: there is no such member; did you mean filter?"],
    ] as const) {
      const answer = await post(path, body);
      expect(answer.status, path).toBe(400);
      expect(answer.json.detail).toMatch(detail);
    }
    expect(await ids()).toEqual([1, 2, 3]);
  });

  it("a delete without a condition is refused", async ({ ns }) => {
    const { post, ids } = await openTable(ns);
    for (const body of [{}, { where: null }, { predicate: "" }]) {
      expect(await post("delete", body)).toMatchObject({ status: 400, json: { code: 13 } });
    }
    expect(await ids()).toEqual([1, 2, 3]);
  });
});

describe("names of handles", () => {
  it("valuesSql and updates set columns together", async ({ ns }) => {
    const { table } = await openTable(ns);
    await ns.updateTable({
      id: "t",
      updates: [["id", "id + 10"]],
      valuesSql: { kind: "upper(kind)" },
      where: "id = 3",
    });
    expect(await table.scan({ filter: "id > 10" }).toArray()).toEqual([{ id: 13, kind: "B" }]);
    await expect(
      ns.updateTable({ id: "t", valuesSql: [["id", "1"]] as unknown as Record<string, string> }),
    ).rejects.toThrow(/^valuesSql: must be an object/);
  });

  it("text searches like a fullTextQuery, in process and over HTTP", async ({ ns }) => {
    const { post } = await openTable(ns);
    await ns.waitForJob({
      jobId: (await ns.createTableIndex({ id: "t", column: "kind", indexType: "FTS" })).jobId as string,
    });
    const found = await (await ns.queryTable({ id: "t", text: "b", columns: ["id"] })).toArray();
    expect(found).toMatchObject([{ id: 3 }]);
    expect((await post("query", { text: "b" })).status).toBe(200);
    expect(
      await post("query", { text: "b", full_text_query: { string_query: { query: "b" } } }),
    ).toMatchObject({
      status: 400,
    });
    await expect(ns.queryTable({ id: "t", text: 3 as unknown as string })).rejects.toThrow(/^text: must be/);
  });
});
