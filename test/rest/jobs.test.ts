import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Int32, Table, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { createRestHandler } from "tiltyard/rest";
import { jobDirectory } from "../../src/jobs/jobFiles.js";
import { afterEach, expect, it } from "../support/fixtures.js";

let ns: DirectoryNamespace;
let post: (
  path: string,
  body?: object,
  headers?: Record<string, string>,
) => Promise<{ status: number; body: never }>;
it.beforeEach(async ({ root }) => {
  ns = new DirectoryNamespace({ root, durability: "none", workers: 0 });
  const rows = new Table({ v: vectorFromArray([1, 2, 3], new Int32()) });
  await ns.createTable({ id: ["t"] }, rows);
  await ns.insertIntoTable({ id: ["t"] }, rows);
  const handler = createRestHandler(ns, { auth: { anonymous: true } });
  post = async (path, body = {}, headers = {}) => {
    const answer = await handler(
      new Request(`http://localhost${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    );
    return { status: answer.status, body: (await answer.json()) as never };
  };
});
afterEach(() => ns.close());

it("jobs are started, awaited, described, listed and cancelled", async () => {
  const { job_id } = (await post("/v1/table/t/optimize", { background: true })).body;
  expect(job_id).toMatch(/^[0-9a-f-]{36}$/);
  const ended = {
    job_id,
    kind: "optimize",
    table: ["t"],
    state: "Succeeded",
    done: 6,
    total: 6,
    unit: "rows",
  };
  const waited = await post(`/v1/job/${job_id}/wait`, { timeout_ms: 5000 });
  expect(waited).toMatchObject({ status: 200, body: { ...ended, created_at: expect.stringMatching(/Z$/) } });
  expect(await post(`/v1/job/${job_id}/describe`)).toMatchObject({ status: 200, body: ended });
  expect(await post(`/v1/job/${job_id}/cancel`)).toMatchObject({ status: 200, body: ended });
  for (const body of [{}, { id: ["t"] }, { state: "succeeded" }]) {
    expect(await post("/v1/job/list", body)).toMatchObject({ body: { jobs: [ended] } });
  }
  expect((await post("/v1/job/list", { id: ["u"] })).body).toEqual({ jobs: [] });
  expect(await post(`/v1/transaction/${job_id}/describe`)).toMatchObject({ body: { status: "Succeeded" } });
  const actions = [
    { set_status_action: { status: "Canceled" } },
    { setStatusAction: { status: "Canceled" } },
  ];
  for (const action of actions) {
    const refused = { status: 409, body: { code: 14, detail: expect.stringContaining("has ended") } };
    expect(await post(`/v1/transaction/${job_id}/alter`, { actions: [action] })).toMatchObject(refused);
  }
  for (const action of [{}, { set_status_action: {} }, { set_status: "Canceled" }, 7]) {
    expect(await post(`/v1/transaction/${job_id}/alter`, { actions: [action] })).toMatchObject({
      status: 400,
    });
  }
  const unknown = crypto.randomUUID();
  expect(await post(`/v1/job/${unknown}/describe`)).toMatchObject({ status: 404, body: { code: 10 } });
  expect(await post("/v1/job/..%2F..%2Ft.lance/describe")).toMatchObject({ status: 404 });
  expect(await post(`/v1/job/${job_id}/wait`, { timeout_ms: 1e9 })).toMatchObject({ status: 400 });
});

it("LanceDB's remote client gets jobs in its own form", async () => {
  const { job_id } = (await post("/v1/table/t/optimize", { background: true })).body;
  await ns.waitForJob({ jobId: job_id });
  const remote = { "x-lancedb-database": "db", "user-agent": "LanceDB-Node-Client/0.39.0" };
  const told = { job_id, job_state: "DONE", job_type: "optimize" };
  expect(await post("/v1/jobs/describe", { job_id }, remote)).toMatchObject({ status: 200, body: told });
  const { creation_ms } = (await post("/v1/jobs/describe", { job_id }, remote)).body;
  const listed = { ...told, table: "t", state: "DONE", created_at_millis: creation_ms };
  expect(await post("/v1/jobs/list", {}, remote)).toMatchObject({ body: { jobs: [listed] } });
  expect(await post("/v1/jobs/cancel", { job_id }, remote)).toMatchObject({ status: 200, body: told });
});

it("jobs reveal no path and no internal error of the server", async ({ root }) => {
  const { job_id } = (await post("/v1/table/t/optimize", { background: true })).body;
  await ns.waitForJob({ jobId: job_id });
  const directory = jobDirectory(root, job_id);
  for (const [type, message, told] of [
    ["Internal", `${root}/secret: EIO`, "the job failed inside the server"],
    ["InvalidInput", `${root}/t.lance: no`, "t.lance: no"],
  ]) {
    await rm(join(directory, "outcome.json"));
    const outcome = { state: "Failed", finishedMs: 1, done: 0, error: { type, message } };
    await writeFile(join(directory, "outcome.json"), JSON.stringify(outcome));
    expect(await post(`/v1/job/${job_id}/describe`)).toMatchObject({
      body: { error: { type, message: told } },
    });
    expect(JSON.stringify((await post("/v1/job/list")).body)).not.toContain(root);
    expect(JSON.stringify((await post(`/v1/job/${job_id}/wait`)).body)).not.toContain(root);
  }
  await mkdir(jobDirectory(root, crypto.randomUUID()));
});

it("jobs fill computed columns, whose state is described by version too", async () => {
  await post("/v1/table/t/add_columns", { new_columns: [{ name: "d", computed: "v * 2" }] });
  const describe = (body: object) => post("/v1/table/t/computed_columns/describe", body);
  const column = { column: "d", kind: "sql", expression: "v * 2", inputs: ["v"] };
  const before = { ...column, stale_rows: 6, stale_fragments: [0, 1] };
  expect(await describe({})).toEqual({ status: 200, body: { columns: [before] } });
  const { version } = (await post("/v1/table/t/describe")).body;
  const { job_id } = (await post("/v1/table/t/backfill_column", { column: "d" })).body;
  expect(await post(`/v1/job/${job_id}/wait`)).toMatchObject({ body: { state: "Succeeded", done: 6 } });
  expect((await describe({})).body).toEqual({ columns: [{ ...column, stale_rows: 0, stale_fragments: [] }] });
  expect((await describe({ version })).body).toEqual({ columns: [before] });
  expect(await describe({ version: 1 })).toEqual({ status: 200, body: { columns: [] } });
  expect(await describe({ branch: "none" })).toMatchObject({ status: 404, body: { code: 22 } });
  expect(await post("/v1/table/u/computed_columns/describe")).toMatchObject({
    status: 404,
    body: { code: 4 },
  });
});
