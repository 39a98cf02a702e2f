/** Backfills by `rayCluster` with a fake of Ray's job API. test/engines/clusterBackfill.test.ts tests Ray. */

import { appendFile, readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { Int32, Int64, Table, vectorFromArray } from "apache-arrow";
import {
  type BackfillTask,
  DirectoryNamespace,
  InternalError,
  InvalidInputError,
  type NamespaceError,
  ServiceUnavailableError,
  type UserFunction,
} from "tiltyard";
import { rayCluster, serveBackfillTasks } from "tiltyard/ray";
import { createRestHandler } from "tiltyard/rest";
import { afterEach, beforeEach, expect, it } from "vitest";
import { listen } from "../support/frameworks.js";
import { makeTempDir } from "../support/tempDir.js";

const ID = { id: ["t"] };
const ROWS = 40;
const JSON_TYPE = { "content-type": "application/json" };
const double = {
  ...{ version: "1", inputs: ["n"], output: new Int64(), retries: 0 },
  batch: ({ n }) => ([...n] as number[]).map((each) => BigInt(each) * 2n),
} satisfies UserFunction;

interface FakeJob {
  submission_id: string;
  status: string;
  message?: string;
  metadata: Record<string, string>;
  entrypoint: string;
  runtime_env: { env_vars: Record<string, string>; [member: string]: unknown };
}

/** Fake of Ray's job API and its jobs. */
class FakeRay {
  readonly jobs = new Map<string, FakeJob>();
  readonly headers: (string | undefined)[] = [];
  /** Number of requests to fail. */
  failures = 0;
  /** Runs a job and resolves to its status. */
  run: (job: FakeJob) => Promise<string> = async (job) => {
    await runWorker(job);
    return "SUCCEEDED";
  };
  readonly #server: Server = createServer(async (request, response) => {
    this.headers.push(request.headers.authorization);
    let body = "";
    for await (const chunk of request) body += chunk;
    const answer = (status: number, json: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(json));
    };
    // Ray does the same.
    if (request.headers["sec-fetch-mode"] !== undefined && request.method === "POST") {
      return answer(405, "'POST' method not allowed for browser traffic.");
    }
    if (this.failures > 0) {
      this.failures--;
      return answer(500, "the head restarts");
    }
    const [id, what] = (request.url as string).slice("/api/jobs/".length).split("/");
    if (request.method === "POST" && id === "") return answer(200, this.#submit(JSON.parse(body)));
    if (id === "") return answer(200, [...this.jobs.values()]);
    const job = this.jobs.get(id);
    if (job === undefined) return answer(404, "no such job");
    if (what === "stop") job.status = "STOPPED";
    answer(200, what === "logs" ? { logs: "Traceback: no module named ray" } : job);
  });

  start = (): Promise<string> => listen(this.#server);

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #submit(request: Omit<FakeJob, "submission_id" | "status">): object {
    const job: FakeJob = { ...request, submission_id: `raysubmit_${this.jobs.size}`, status: "RUNNING" };
    this.jobs.set(job.submission_id, job);
    this.run(job).then(
      (status) => {
        if (job.status === "RUNNING") job.status = status;
      },
      (error: Error) => {
        job.message = error.message;
        job.status = "FAILED";
      },
    );
    return { submission_id: job.submission_id };
  }
}

interface Order {
  readonly root: string;
  readonly worker: readonly string[];
  readonly concurrency: number | null;
  readonly resources: object;
  readonly tasks: readonly BackfillTask[];
}

const orderOf = async (job: FakeJob): Promise<Order> =>
  JSON.parse(await readFile(join(job.runtime_env.env_vars.TILTYARD_RUN, "tasks.json"), "utf8"));

/** Runs the runner and its workers, and returns the lines that a worker wrote. */
async function runWorker(
  job: FakeJob,
  fn: UserFunction = double,
  select: (tasks: readonly BackfillTask[]) => readonly BackfillTask[] = (tasks) => tasks,
): Promise<string[]> {
  const { root, tasks } = await orderOf(job);
  const lines: string[] = [];
  const chosen = select(tasks);
  let wake = (): void => undefined;
  async function* input() {
    const text = `${JSON.stringify({ root })}\n`;
    yield new TextEncoder().encode(text.slice(0, 7));
    yield new TextEncoder().encode(text.slice(7));
    for (const task of chosen) {
      const before = lines.length;
      yield `${JSON.stringify({ task })}\n`;
      while (!lines.slice(before).some((line) => !line.includes('"progress"'))) {
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  }
  await serveBackfillTasks(
    (path) =>
      new DirectoryNamespace({
        ...{ root: path, durability: "none", workers: 0 },
        functions: { double: fn },
      }),
    {
      input: input(),
      write(line) {
        lines.push(line);
        wake();
      },
    },
  );
  const reports = lines.map((line) => line.replace(/^tiltyard:/, ""));
  // A report may be read in pieces, and a dead worker leaves half of one.
  const path = join(job.runtime_env.env_vars.TILTYARD_RUN, `${crypto.randomUUID()}.reports`);
  const text = `${reports.join("")}{"done":{"taskId":"`;
  await appendFile(path, text.slice(0, 20));
  await sleep(30);
  await appendFile(path, text.slice(20));
  return lines;
}

let root: string;
let ray: FakeRay;
let address: string;
const opened: DirectoryNamespace[] = [];
beforeEach(async () => {
  root = await makeTempDir();
  ray = new FakeRay();
  address = await ray.start();
  const ns = open();
  for (let fragment = 0; fragment < 4; fragment++) {
    const numbers = Array.from({ length: ROWS / 4 }, (_, row) => fragment * 10 + row);
    const rows = new Table({ n: vectorFromArray(numbers, new Int32()) });
    await (fragment === 0 ? ns.createTable(ID, rows) : ns.insertIntoTable(ID, rows));
  }
  await ns.alterTableAddColumns({ ...ID, newColumns: [{ name: "d", virtualColumn: { udfName: "double" } }] });
});
afterEach(async () => {
  for (const ns of opened.splice(0)) await ns.close();
  await ray.stop();
});

const COMMANDS = { runner: "python runner.py", worker: ["node", "worker.mjs"] };

function open(options: object = {}): DirectoryNamespace {
  const clusters =
    address === undefined ? undefined : { ray: rayCluster({ ...COMMANDS, address, pollMs: 10, ...options }) };
  const ns = new DirectoryNamespace({
    ...{ root, durability: "none", workers: 0, functions: { double }, clusters },
  });
  opened.push(ns);
  return ns;
}

const request = (change: object = {}) => ({ ...ID, column: "d", cluster: "ray", ...change });

async function expectFilled(): Promise<void> {
  const rows = await open().table("t").scan().toArray();
  expect(rows).toEqual(Array.from({ length: ROWS }, (_, n) => ({ n, d: BigInt(n) * 2n })));
}

it("submits one job, with the tasks in a file, and follows the reports", async () => {
  const orders: Order[] = [];
  ray.run = async (job) => {
    orders.push(await orderOf(job));
    await runWorker(job);
    return "SUCCEEDED";
  };
  const ns = open({
    headers: { authorization: "Bearer of Ray" },
    runtimeEnv: { working_dir: "/app", env_vars: { A: "b" } },
    manifests: { large: { worker: ["node20", "worker.mjs"], resources: { num_gpus: 1 } } },
  });
  const job = await ns.waitForJob(
    await ns.alterTableBackfillColumns(request({ manifest: "large", concurrency: 3 })),
  );
  expect(job).toMatchObject({ state: "Succeeded", done: ROWS, total: ROWS, result: { fragments: 4 } });
  const [submitted, ...others] = ray.jobs.values();
  expect(others).toEqual([]);
  expect(submitted).toMatchObject({
    entrypoint: "python runner.py",
    metadata: { tiltyard_job: job.jobId },
    runtime_env: { working_dir: "/app", env_vars: { A: "b" } },
  });
  expect(orders).toMatchObject([
    { root, worker: ["node20", "worker.mjs"], concurrency: 3, resources: { num_gpus: 1 } },
  ]);
  expect(orders[0].tasks.map(({ fragmentId }) => fragmentId)).toEqual([0, 1, 2, 3]);
  expect(new Set(ray.headers)).toEqual(new Set(["Bearer of Ray"]));
  await expectFilled();
});

it("maps paths for workers with the directory in another location", async () => {
  let order: Order | undefined;
  const { symlink } = await import("node:fs/promises");
  const there = join(await makeTempDir(), "mounted");
  await symlink(root, there, "junction");
  ray.run = async (job) => {
    expect(job.runtime_env.env_vars.TILTYARD_RUN.startsWith(there)).toBe(true);
    order = await orderOf(job);
    await runWorker(job);
    return "SUCCEEDED";
  };
  const ns = open({ root: there });
  await ns.waitForJob(await ns.alterTableBackfillColumns(request()));
  expect(order?.root).toBe(there);
  await expectFilled();
});

it("submits the remaining tasks after a job that failed halfway", async () => {
  ray.run = async (job) => {
    const isFirst = ray.jobs.size === 1;
    await runWorker(job, double, (tasks) => (isFirst ? tasks.slice(1, 3) : tasks));
    if (isFirst) throw new Error("a node was lost");
    return "SUCCEEDED";
  };
  const ns = open();
  await ns.waitForJob(await ns.alterTableBackfillColumns(request()));
  expect([...ray.jobs.values()].map(({ status }) => status)).toEqual(["FAILED", "SUCCEEDED"]);
  await expectFilled();
});

it("fails with the log of a job without reports, of a stopped job, and if the API is unreachable", async () => {
  ray.run = () => Promise.reject(new Error("exit code 1"));
  const ns = open();
  const failing = async (message: RegExp, kind: new (message: string) => NamespaceError, of = ns) => {
    const { jobId } = await of.alterTableBackfillColumns(request());
    const job = of.waitForJob({ jobId });
    await expect(job).rejects.toThrow(kind);
    await expect(job).rejects.toThrow(message);
    return jobId;
  };
  const jobId = await failing(
    /raysubmit_0 of Ray ended as FAILED: exit code 1\nTraceback: no module named ray/,
    InternalError,
  );
  // Callers over HTTP must not see what the cluster printed.
  const handler = createRestHandler(ns, { auth: { anonymous: true } });
  const answer = await handler(
    new Request(`http://localhost/v1/job/${jobId}/describe`, {
      method: "POST",
      body: "{}",
      headers: JSON_TYPE,
    }),
  );
  expect(await answer.json()).toMatchObject({ error: { message: "the job failed inside the server" } });
  ray.run = async (job) => {
    job.status = "STOPPED";
    return "STOPPED";
  };
  await failing(/ended as STOPPED/, InternalError);
  ray.failures = 1;
  await failing(/the job API of Ray, GET .*: 500 "the head restarts"/, ServiceUnavailableError);
  await failing(
    /the job API of Ray, GET http:\/\/127\.0\.0\.1:9\/api\/jobs\/: /,
    ServiceUnavailableError,
    open({ address: "http://127.0.0.1:9" }),
  );
});

it("names the address in errors without its password", async () => {
  ray.failures = 1;
  const ns = open({ address: address.replace("://", "://ann:secret-of-ray@") });
  const job = ns.waitForJob(await ns.alterTableBackfillColumns(request()));
  await expect(job).rejects.toThrow(/the job API of Ray, GET http:\/\/127\.0\.0\.1:\d+\/api\/jobs\/: 500/);
  const [{ error }] = (await ns.listJobs()).jobs;
  expect(JSON.stringify(error)).not.toContain("secret-of-ray");
  expect(ray.headers).toEqual([`Basic ${btoa("ann:secret-of-ray")}`]);
});

it("survives an API that is briefly unreachable", async () => {
  ray.run = async (job) => {
    ray.failures = 3;
    await sleep(50);
    await runWorker(job);
    return "SUCCEEDED";
  };
  const ns = open();
  await ns.waitForJob(await ns.alterTableBackfillColumns(request()));
  expect(ray.failures).toBe(0);
  await expectFilled();
});

it("reports the error of a function, and stops the job", async () => {
  let ended = (): void => undefined;
  const isEnded = new Promise<string>((resolve) => {
    ended = () => resolve("SUCCEEDED");
  });
  ray.run = async (job) => {
    const lines = await runWorker(job, { ...double, batch: () => Promise.reject(new Error("no quota")) });
    expect(lines).toEqual(
      expect.arrayContaining([expect.stringMatching(/^tiltyard:{"failed":.*no quota.*}\n$/)]),
    );
    return isEnded;
  };
  const ns = open();
  await expect(ns.waitForJob(await ns.alterTableBackfillColumns(request()))).rejects.toThrow(/no quota/);
  await expect.poll(() => [...ray.jobs.values()].map(({ status }) => status)).toEqual(["STOPPED"]);
  ended();
});

it("stops a cancelled job, and one that a dead process left running", async () => {
  const isRunning = new Promise<string>(() => undefined);
  ray.run = () => isRunning;
  const ns = open();
  const { jobId } = await ns.alterTableBackfillColumns(request());
  await expect.poll(() => ray.jobs.size).toBe(1);
  await ns.cancelJob({ jobId });
  expect((await ns.waitForJob({ jobId })).state).toBe("Cancelled");
  expect([...ray.jobs.values()].map(({ status }) => status)).toEqual(["STOPPED"]);

  const again = await ns.alterTableBackfillColumns(request());
  await expect.poll(() => ray.jobs.size).toBe(2);
  // A dead process left its job of Ray running.
  ray.jobs.set("left", { ...(ray.jobs.get("raysubmit_1") as FakeJob), submission_id: "left" });
  ray.jobs.set("another", {
    ...(ray.jobs.get("left") as FakeJob),
    submission_id: "another",
    metadata: { tiltyard_job: "x" },
  });
  await ns.close();
  ray.run = async (job) => {
    await runWorker(job);
    return "SUCCEEDED";
  };
  const next = open();
  expect((await next.alterTableBackfillColumns(request())).jobId).toBe(again.jobId);
  await next.waitForJob(again);
  expect(ray.jobs.get("left")?.status).toBe("STOPPED");
  expect(ray.jobs.get("another")?.status).toBe("RUNNING");
  await expectFilled();
});

it("aborts the task of a worker whose input ends", async () => {
  let isAborted = false;
  let begun = (): void => undefined;
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const waiting = {
    ...double,
    batch: (_: object, { signal }: { readonly signal: AbortSignal }) =>
      new Promise((_, reject) => {
        begun();
        signal.addEventListener("abort", () => {
          isAborted = true;
          reject(signal.reason);
        });
      }),
  } as UserFunction;
  ray.run = async (job) => {
    const { root: path, tasks } = await orderOf(job);
    const lines: string[] = [];
    async function* input() {
      yield `${JSON.stringify({ root: path })}\n${JSON.stringify({ task: tasks[0] })}\n`;
      await isBegun;
    }
    await serveBackfillTasks(
      () => new DirectoryNamespace({ root: path, durability: "none", functions: { double: waiting } }),
      { input: input(), write: (line) => void lines.push(line) },
    );
    expect(lines).toEqual([]);
    return "SUCCEEDED";
  };
  const ns = open();
  const job = ns.waitForJob(await ns.alterTableBackfillColumns(request()));
  await expect(job).rejects.toThrow(/4 tasks have no values in the table's directory after 3 runs/);
  expect(isAborted).toBe(true);
});

it("ends a worker on malformed input, and closes its namespace", async () => {
  const bad: [lines: string, message: RegExp][] = [
    ["{", /a line is not JSON/],
    ["null", /neither the path of a directory nor a task/],
    ["[]", /neither/],
    ['{"root":5}', /neither/],
    [JSON.stringify({ root, task: "x" }), /neither/],
    [JSON.stringify({ task: { taskId: "x" } }), /the first line names/],
    [`${JSON.stringify({ root })}\n${JSON.stringify({ root })}`, /only the first line names/],
  ];
  let [openCount, closeCount] = [0, 0];
  for (const [lines, message] of bad) {
    const serving = serveBackfillTasks(
      () => {
        openCount++;
        return {
          runBackfillTask: () => expect.unreachable(),
          async close() {
            closeCount++;
          },
        };
      },
      { input: Readable.from([`${lines}\n`]), write: () => undefined },
    );
    await expect(serving, lines).rejects.toThrow(message);
  }
  expect([openCount, closeCount]).toEqual([1, 1]);
});

it("refuses misspelt and meaningless options", () => {
  const bad: [object, RegExp][] = [
    [{ adress: "x" }, /did you mean address/],
    [{ address: "127.0.0.1:8265" }, /address: must be the URL/],
    [{ runner: "" }, /runner: must be a command line/],
    [{ worker: "node worker.mjs" }, /worker: must be a list/],
    [{ worker: [] }, /worker/],
    [{ resources: 5 }, /resources/],
    [{ runtimeEnv: "x" }, /runtimeEnv/],
    [{ headers: "x" }, /headers/],
    [{ root: "" }, /root: must be a path/],
    [{ pollMs: 1 }, /pollMs/],
    [{ manifests: [] }, /manifests/],
    [{ manifests: { a: { address: "http://x" } } }, /manifests\.a\.address/],
    [{ manifests: { a: { runner: 5 } } }, /manifests\.a\.runner/],
  ];
  for (const [options, message] of bad) {
    const make = () => rayCluster({ ...COMMANDS, ...options } as never);
    expect(make).toThrow(InvalidInputError);
    expect(make).toThrow(message);
  }
});
