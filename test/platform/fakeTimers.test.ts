/** Programs whose test runner has replaced the host's timers by fakes, whose clocks nothing moves here. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { makeTempDir } from "../support/tempDir.js";

const FAKED = [
  ...([
    "setTimeout",
    "clearTimeout",
    "setInterval",
    "clearInterval",
    "setImmediate",
    "clearImmediate",
  ] as const),
  ...(["Date", "performance", "queueMicrotask", "requestAnimationFrame", "requestIdleCallback"] as const),
];

beforeEach(() => {
  vi.useRealTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Makes, changes, indexes, searches and optimises a table: one call after the other, and two at a time. */
async function useTable({ DirectoryNamespace }: typeof import("tiltyard")): Promise<unknown> {
  await using ns = new DirectoryNamespace({ root: await makeTempDir(), durability: "none" });
  const rows = Array.from({ length: 2000 }, (_, id) => ({ id, text: `word ${id % 7}` }));
  await ns.createTable({ id: ["t"] }, rows);
  const table = ns.table("t");
  await Promise.all([table.insert([{ id: -1, text: "more" }]), table.insert([{ id: -2, text: "more" }])]);
  await table.update({ where: "id = -1", values: { text: "changed" } });
  await ns.waitForJob(await table.createIndex("text", { indexType: "FTS" }));
  await ns.waitForJob({ ...(await table.createIndex("id")), timeoutMs: 60_000 });
  await table.optimize();
  const matches = await table.search({ text: "changed" }).toArray();
  return [await table.countRows("id >= 0"), matches.map((row) => Number(row.id))];
}

describe("fake timers", () => {
  it("stop no call if they are installed after the package was loaded", async () => {
    const built = await import("tiltyard");
    vi.useFakeTimers({ toFake: FAKED });
    expect(await useTable(built)).toEqual([2000, [-1]]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("stop no call if they were installed before the package was loaded", async () => {
    vi.resetModules();
    vi.useFakeTimers({ toFake: FAKED });
    const source = (await import("../../src/index.js")) as unknown as typeof import("tiltyard");
    expect(await useTable(source)).toEqual([2000, [-1]]);
  });

  it("stop no call if they replace the module of timers too", async () => {
    vi.resetModules();
    const { default: timers } = await import("node:timers");
    const kept = { ...timers };
    const fake = (name: string, real: unknown) =>
      Object.assign(() => ({}), { clock: { [`_${name}`]: real } });
    try {
      for (const name of ["setTimeout", "setInterval", "setImmediate"] as const) {
        Object.assign(timers, { [name]: fake(name, kept[name]) });
      }
      const source = (await import("../../src/index.js")) as unknown as typeof import("tiltyard");
      expect(await useTable(source)).toEqual([2000, [-1]]);
    } finally {
      const { setTimeout, setInterval, setImmediate } = kept;
      Object.assign(timers, { setTimeout, setInterval, setImmediate });
    }
  });
});
