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

/** Inserts of a lone tab. */
const INSERTS = 200;

/** Counts calls of the browser, each of which asks another process or thread. */
const COUNT_CALLS = `const calls = {};
  for (const [{ prototype }, ...names] of [[Worker, "postMessage"], [LockManager, "request"],
    [FileSystemDirectoryHandle, "getFileHandle", "getDirectoryHandle"], [FileSystemFileHandle, "getFile"]]) {
    for (const name of names) {
      const call = prototype[name];
      calls[name] = 0;
      prototype[name] = function (...operands) { calls[name]++; return call.apply(this, operands); };
    }
  }`;

it("a lone tab inserts by two messages, one lock and few looks, and cleans up", async () => {
  const page = await browser.open();
  const { times, calls, after } = await run<{
    times: number[];
    calls: Record<string, number>;
    after: number;
  }>(
    page,
    `${OPEN} const table = ns.table("t");
    await table.create([{ id: "first" }]);
    await table.insert([{ id: "second" }]);
    ${COUNT_CALLS} const times = [];
    for (let i = 0; i < ${INSERTS}; i++) {
      const start = performance.now();
      await table.insert([{ id: "x" + i }]);
      times.push(performance.now() - start);
    }
    const counted = { ...calls };
    await ns.optimizeTable({ id: ["t"], cleanup: { olderThanMs: 0 } }).catch(() => ns.optimizeTable({ id: ["t"] }));
    const after = await table.countRows();
    await ns.close(); return { times, calls: counted, after };`,
  );
  times.sort((a, b) => a - b);
  const [least, quartile, median] = [0, INSERTS >> 2, INSERTS >> 1].map((index) => times[index].toFixed(1));
  console.log(`an insert of a lone tab: ${least} ms at least, quartile ${quartile} ms, median ${median} ms`);
  expect(after).toBe(INSERTS + 2);
  expect(calls.postMessage).toBe(2 * INSERTS);
  expect(calls.request).toBe(INSERTS);
  // Each look that finds a file takes two calls. Handles of directories are looked up again after a second.
  expect(calls.getFileHandle + calls.getFile + calls.getDirectoryHandle).toBeLessThan(12 * INSERTS);
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

it("every write settles, whenever the disk is closed meanwhile", async () => {
  const outcomes = await run<string[]>(
    await browser.open(),
    `const disk = disks.opfsDisk(), bytes = new Uint8Array(10), outcomes = [];
    await disk.putIfAbsent("/first", [bytes]);
    for (let turns = 0; turns < 16; turns++) {
      const written = disk.putIfAbsent("/f" + turns, [bytes]).then(() => "written", ({ code }) => code);
      for (let turn = 0; turn < turns; turn++) await null;
      disk.close();
      outcomes.push(await Promise.race([written, new Promise((end) => setTimeout(end, 3000, "hangs"))]));
    }
    return outcomes;`,
  );
  for (const outcome of outcomes) expect(["written", "EUNCERTAIN"]).toContain(outcome);
  expect(outcomes).toContain("written");
});
