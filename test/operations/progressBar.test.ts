/** A progress bar shows a job on a terminal, and nothing anywhere else. */

import { PassThrough } from "node:stream";
import { InvalidInputError } from "tiltyard";
import { expect, it } from "vitest";
import type { Job } from "../../src/namespace/jobs.js";
import { progressBar, type Terminal } from "../../src/operations/job/progressBar.js";
import { sharedNamespace } from "../support/fixtures.js";

const namespace = sharedNamespace();

/** A stream that keeps what is written to it. */
function terminal(isTTY: boolean) {
  const stream = new PassThrough() as unknown as Terminal;
  let text = "";
  stream.on("data", (bytes) => {
    text += String(bytes);
  });
  return { stream: Object.assign(stream, { isTTY, columns: 120 }), text: () => text };
}

const job = (done: number, total?: number): Job => ({
  ...{ jobId: "j", kind: "index", table: ["a", "t"], state: "Running", done, unit: "rows", createdAt: "" },
  ...(total !== undefined && { total, rate: 20 }),
});

it("a terminal gets a bar that ends where the job is", async () => {
  const { stream, text } = terminal(true);
  const bar = await progressBar(stream);
  bar?.draw(job(0));
  bar?.draw(job(50, 200));
  bar?.end();
  expect(text()).toContain("index a.t");
  expect(text()).toContain("25 % │ 50 of 200 rows │ 20 a second");
});

it("a stream that is no terminal gets nothing", async () => {
  expect(await progressBar(terminal(false).stream)).toBe(null);
});

it("waitForJob takes a bar, and refuses anything else", async () => {
  const table = namespace.table("t");
  await table.create([{ n: 1 }]);
  const { jobId } = await table.createIndex("n", { indexType: "BTREE" });
  expect((await table.waitForJob(jobId, { progress: "bar" })).state).toBe("Succeeded");
  const refused = table.waitForJob(jobId, { progress: "spinner" as "bar" });
  await expect(refused).rejects.toThrow(InvalidInputError);
});
