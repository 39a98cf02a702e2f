import { DirectoryNamespace } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { beforeEach, describe, expect, it } from "vitest";
import { makeTempDir } from "../../support/tempDir.js";

let ns: DirectoryNamespace;
beforeEach(async () => {
  ns = new DirectoryNamespace({ root: await makeTempDir(), durability: "none", workers: 0 });
  const rows = [1, 2, 3].map((a) => ({ a: BigInt(a), "-a": 10 - a, b: a % 2 === 0 ? "even" : "odd" }));
  await ns.createTable({ id: "t" }, rows);
});

describe("short forms of queries", () => {
  it.each([
    ["a", [1, 2, 3]],
    ["-a", [3, 2, 1]],
    ["`-a`", [3, 2, 1]],
    ["_rowid", [1, 2, 3]],
    [{ a: "desc" as const }, [3, 2, 1]],
    [{ b: "asc" as const, a: "desc" as const }, [2, 3, 1]],
    [
      ["-b", "a"],
      [1, 3, 2],
    ],
    [
      ["b", { columnName: "a", ascending: false }],
      [2, 3, 1],
    ],
  ])("rows come in the order %j, from a scan and from a query", async (orderBy, ids) => {
    const table = ns.table("t");
    const ofScan = await table.scan({ columns: "a", orderBy }).toArray();
    expect(ofScan.map(({ a }) => Number(a))).toEqual(ids);
    const ofQuery = await table.query().select("a").orderBy(orderBy).toArray();
    expect(ofQuery.map(({ a }) => Number(a))).toEqual(ids);
    const limited = await table.scan({ columns: ["a"], orderBy, limit: 2 }).toArray();
    expect(limited.map(({ a }) => Number(a))).toEqual(ids.slice(0, 2));
  });
  it("one column may be a text", async () => {
    expect(await ns.table("t").scan({ columns: "b", limit: 1 }).toArray()).toEqual([{ b: "odd" }]);
    expect((await ns.table("t").take([1], "a")).schema.names).toEqual(["a"]);
    expect(Object.keys((await ns.table("t").scan({ columns: "*", limit: 1 }).toArray())[0])).toHaveLength(3);
    await expect(ns.table("t").scan({ columns: "a, b" }).toArray()).rejects.toThrow(/a, b/);
  });
  it("a search takes an order in any form", async () => {
    await ns.createTable({ id: "v" }, [
      { id: 1, vector: [1, 2] },
      { id: 2, vector: [9, 2] },
    ]);
    for (const orderBy of ["-id", [{ id: "desc" as const }], { columnName: "id", ascending: false }]) {
      const rows = await ns
        .table("v")
        .search({ vector: [1, 2], columns: ["id"], orderBy })
        .toArray();
      expect(rows.map(({ id }) => Number(id))).toEqual([2, 1]);
    }
  });
});

describe("short forms of jobs", () => {
  it("an answer that started a job names it, in every call", async () => {
    const table = ns.table("t");
    const started = await table.createIndex("a");
    const job = await table.waitForJob(started);
    expect(job).toMatchObject({ jobId: started.jobId, state: "Succeeded" });
    expect((await table.describeJob(job)).jobId).toBe(started.jobId);
    expect((await table.cancelJob(started)).state).toBe("Succeeded");
    const optimized = await ns.optimizeTable({ id: "t", background: true });
    expect((await ns.waitForJob({ jobId: optimized, timeoutMs: 60_000 })).state).toBe("Succeeded");
    expect((await ns.waitForJob(optimized)).state).toBe("Succeeded");
    expect((await ns.describeJob(job)).jobId).toBe(job.jobId);
    expect((await ns.describeJob((await ns.listJobs()).jobs[0])).state).toBe("Succeeded");
  });
  it.each([undefined, null, 5, {}, { jobId: 5 }, []])("the job %j is refused", async (job) => {
    await expect(ns.table("t").waitForJob(job as never)).rejects.toThrow(/^jobId: /);
  });
});

describe("short forms on the wire", () => {
  const ask = async (query: object) => {
    const handler = createRestHandler(ns, { auth: { anonymous: true } });
    const response = await handler(
      new Request("http://localhost/v1/table/t/explain_plan", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query }),
      }),
    );
    return { status: response.status, text: await response.text() };
  };
  it.each([
    [{ k: 3, order_by: "-a", columns: "b" }],
    [{ k: 3, order_by: { a: "desc" }, columns: "b" }],
    [{ k: 3, order_by: ["-a"], columns: ["b"] }],
    [{ k: 3, order_by: [{ a: "desc" }], columns: ["b"] }],
    [{ k: 3, order_by: [{ column_name: "a", ascending: false }], columns: ["b"] }],
  ])("the plan of %j sorts by the column", async (query) => {
    const { status, text } = await ask(query);
    expect(text).toMatch(/a DESC|-a|desc/i);
    expect(status).toBe(200);
  });
  it.each([
    [{ k: 3, order_by: { a: "down" } }],
    [{ k: 3, order_by: [{ column_nam: "a" }] }],
    [{ k: 3, order_by: { column_name: "a", ascendng: true } }],
    [{ k: 3, order_by: 5 }],
  ])("the order of %j is refused", async (query) => {
    const { status, text } = await ask(query);
    expect(text).toMatch(/order_by/);
    expect(status).toBe(400);
  });
});
