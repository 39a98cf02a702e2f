/**
 * The namespace suite in Chromium, on tables in the private file system. The test files are those of
 * `npm test`. A file runs in a page of its own profile, and its tests are counted at the end.
 */

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SUITE_FILES } from "../support/suite/suiteFiles.js";
import { type BundleServer, serveBundle } from "./support/bundleServer.js";
import { startChromium } from "./support/chromium.js";
import type { Outcome } from "./support/page/runSuite.js";
import { bundleSuite } from "./support/suiteBundle.js";

let browser: Browser;
let server: BundleServer;
const counts = new Map<string, number>();

const PAGE = `<!doctype html><meta charset="utf-8"><title>namespace suite</title>
<script>globalThis.process = { env: { TILTYARD_TEST_DISK: "opfs" }, platform: "browser" };</script>
<script type="module" src="/suite.js"></script>`;

beforeAll(async () => {
  server = await serveBundle({ "/": PAGE }, await bundleSuite());
  browser = await startChromium();
});
afterAll(async () => {
  await browser.close();
  server.close();
  console.log(`namespace suite on OPFS: ${JSON.stringify(Object.fromEntries(counts))}`);
});

it.each(SUITE_FILES)("%s passes on OPFS", async (path) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.on("pageerror", (error) => console.error(error));
  await page.goto(server.url);
  await page.waitForFunction("globalThis.runFile");
  const outcomes = (await page.evaluate(`runFile(${JSON.stringify(path)})`)) as Outcome[];
  for (const { state, note } of outcomes) {
    const kind = state === "skip" ? `skip: ${note || "the disk lacks it"}` : state;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  await context.close();
  expect(outcomes.filter(({ state }) => state === "fail")).toEqual([]);
  expect(outcomes.length).toBeGreaterThan(0);
});
