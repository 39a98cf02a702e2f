import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { reference } from "./support/reference.js";

const EXAMPLE = fileURLToPath(new URL("../build/examples/quickstart.js", import.meta.url));

let directory: string;

beforeEach(async () => {
  if (!existsSync(EXAMPLE)) throw new Error("the examples are not built: run npm run build:tools");
  directory = await mkdtemp(join(tmpdir(), "tiltyard-quickstart-"));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

const run = () => promisify(execFile)(process.execPath, [EXAMPLE], { cwd: directory });

it("makes a table that the reference reads, twice over", async () => {
  await run();
  const { stdout } = await run();
  expect(stdout).toContain("version 6 has 120,000 rows again");
  expect(stdout).toContain("every value of all 7 columns is the same");
  const root = join(directory, "quickstart-data");
  expect(await reference.countRows(root, "orders")).toBe(120_000);
  expect(await reference.tableVersion(root, "orders")).toBe(6);
});

it("does not touch a directory that it did not make", async () => {
  const root = join(directory, "quickstart-data");
  await mkdir(root);
  await writeFile(join(root, "precious.txt"), "mine");
  await expect(run()).rejects.toThrow(/was not made by this example/);
  expect(await readdir(root)).toEqual(["precious.txt"]);
});
