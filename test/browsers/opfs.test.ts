/** Tabs that share tables in the private file system of Chromium. */

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { run, sharedBrowser } from "./support/browser.js";

const browser = sharedBrowser();

/** Appends of each tab, and rounds of killed tabs. The defaults are for a quick run. */
const APPENDS = Number(process.env.OPFS_APPENDS ?? 100);
const ROUNDS = Number(process.env.OPFS_ROUNDS ?? 5);

const OPEN = `const ns = new tiltyard.DirectoryNamespace({ root: "/", disk: disks.opfsDisk() });`;

const countOf = (page: Page): Promise<{ count: number; distinct: number }> =>
  run(
    page,
    `${OPEN} const ids = (await ns.table("t").scan().toArray()).map(({ id }) => String(id));
    await ns.close(); return { count: ids.length, distinct: new Set(ids).size };`,
  );

it("two tabs append at the same time and lose nothing", async () => {
  const context = await browser.newContext();
  const tabs = await Promise.all([browser.open(context), browser.open(context)]);
  await run(tabs[0], `${OPEN} await ns.createTable({ id: ["t"] }, [{ id: "first" }]); await ns.close();`);
  const times = await Promise.all(
    tabs.map((tab, number) =>
      run<number[]>(
        tab,
        `${OPEN} const times = [];
        for (let i = 0; i < ${APPENDS}; i++) {
          const start = performance.now();
          await ns.table("t").insert([{ id: "${number}-" + i }]);
          times.push(performance.now() - start);
        }
        await ns.close(); return times;`,
      ),
    ),
  );
  const [median] = times.map((all) => all.sort((a, b) => a - b)[all.length >> 1]);
  console.log(`median of an insert beside another tab: ${median.toFixed(1)} ms`);
  const rows = 2 * APPENDS + 1;
  expect(await countOf(tabs[0])).toEqual({ count: rows, distinct: rows });
});

it("a lone tab inserts in a few milliseconds, and cleans up", async () => {
  const page = await browser.open();
  const { median, after } = await run<{ median: number; after: number }>(
    page,
    `${OPEN} const table = ns.table("t");
    await table.create([{ id: "first" }]);
    const times = [];
    for (let i = 0; i < 60; i++) {
      const start = performance.now();
      await table.insert([{ id: "x" + i }]);
      times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    await ns.optimizeTable({ id: ["t"], cleanup: { olderThanMs: 0 } }).catch(() => ns.optimizeTable({ id: ["t"] }));
    const after = await table.countRows();
    await ns.close(); return { median: times[30], after };`,
  );
  console.log(`median of an insert of a lone tab: ${median.toFixed(1)} ms`);
  expect(after).toBe(61);
});

it("a tab that is killed in the middle leaves the old or the new version", async () => {
  const context = await browser.newContext();
  const watcher = await browser.open(context);
  await run(watcher, `${OPEN} await ns.createTable({ id: ["t"] }, [{ id: "0" }]); await ns.close();`);
  let before = 1;
  for (let round = 0; round < ROUNDS; round++) {
    const tab = await browser.open(context);
    await run(
      tab,
      `${OPEN} globalThis.acknowledged = 0;
      (async () => { for (let i = 0; ; i++) { await ns.table("t").insert([{ id: "${round}-" + i }]); acknowledged++; } })();`,
    );
    await tab.waitForFunction(`globalThis.acknowledged > ${round % 3}`);
    const acknowledged = await run<number>(tab, "return acknowledged;");
    await tab.close({ runBeforeUnload: false });
    const { count, distinct } = await countOf(watcher);
    expect(distinct).toBe(count);
    expect(count).toBeGreaterThanOrEqual(before + acknowledged);
    before = count;
  }
});
