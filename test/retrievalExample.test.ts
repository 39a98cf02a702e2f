/** The retrieval example finds passages by their words, and by the index nearly the nearest vectors. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";

const EXAMPLE = fileURLToPath(new URL("../build/examples/retrieval.js", import.meta.url));
/** Pages and licences of the packages that are installed here. */
const FROM = fileURLToPath(new URL("../node_modules/", import.meta.url));

let directory: string;

beforeEach(async () => {
  if (!existsSync(EXAMPLE)) throw new Error("the examples are not built: run npm run build:tools");
  directory = await mkdtemp(join(tmpdir(), "tiltyard-retrieval-"));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

it("finds passages by half of their words, and the same again", async () => {
  const env = { ...process.env, RETRIEVAL_FROM: FROM, RETRIEVAL_PASSAGES: "1500" };
  const question = "permission is granted free of charge to any person obtaining a copy of this software";
  const run = () => promisify(execFile)(process.execPath, [EXAMPLE, question], { cwd: directory, env });
  const { stdout } = await run();
  expect(stdout).toContain("1500 passages, embedded by stand-in-words-1; the index: Succeeded.");
  expect(stdout).toMatch(/this software\?\n {2}0\.\d\d {2}\S+: Permission is hereby granted/);
  expect(stdout).toContain("Filtered: only of the kind licence.");
  const [hits, same] = [...stdout.matchAll(/([\d.]+) %/g)].map(([, percent]) => Number(percent));
  expect(hits).toBeGreaterThan(90);
  expect(same).toBeGreaterThan(80);
  expect((await run()).stdout).toBe(stdout);
});
