import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { tableFromIPC } from "apache-arrow";
import { afterEach, beforeEach, expect, it } from "vitest";
import { reference } from "./support/reference.js";

const EXAMPLE = fileURLToPath(new URL("../build/examples/backfill.js", import.meta.url));

let directory: string;

beforeEach(async () => {
  if (!existsSync(EXAMPLE)) throw new Error("the examples are not built: run npm run build:tools");
  directory = await mkdtemp(join(tmpdir(), "tiltyard-backfill-"));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

it("fills a column by an API that refuses, once", async () => {
  const env = { ...process.env, BACKFILL_ROWS: "900" };
  const run = () => promisify(execFile)(process.execPath, [EXAMPLE], { cwd: directory, env });
  const first = await run();
  expect(first.stdout).toContain("900 rows have no vector yet");
  expect(first.stdout).toMatch(/\n0 rows are left\. The API refused [1-9]\d* requests/);
  const second = await run();
  expect(second.stdout).toContain("0 rows have no vector yet");
  const table = tableFromIPC(await reference.readTable(join(directory, "backfill-data"), "documents"));
  const lengths = [...table].map(({ vector }) => Math.hypot(...vector));
  expect(lengths.length).toBe(900);
  expect(lengths.every((length) => Math.abs(length - 1) < 1e-5)).toBe(true);
});
