/** Threads encode and decode the bytes of in-line work, in every form of the package, and of text indexes. */

import { describe, expect, it } from "vitest";
import { exitOf, nextMessage, startProcess } from "../support/childProcess.js";
import { someOf } from "../support/effort.js";
import { makeTempDir } from "../support/tempDir.js";

describe("writing, compacting and reading with threads", () => {
  it.each(someOf(["esm", "modules", "cjs"]))("makes the same files and texts: %s", async (form) => {
    const child = startProcess("poolRunner.mjs", [form, await makeTempDir(), "2", "compacted"]);
    const told = (await nextMessage(child)) as Record<string, never>;
    expect(told.startedInLine).toBe(0);
    expect(told.started).toBeGreaterThan(0);
    expect(told.pooled).toEqual(told.inLine);
    expect(told.inLine).toMatchObject({
      fragmentsAdded: 1,
      last: { done: 720_000, total: 720_000, unit: "rows" },
    });
    expect(await exitOf(child)).toBe(0);
  });
});

describe("columns filled with threads", () => {
  it("have the same values as columns filled in line", async () => {
    const child = startProcess("poolRunner.mjs", ["modules", await makeTempDir(), "2", "filled"]);
    const told = (await nextMessage(child)) as Record<string, never>;
    expect(told.tasks).toEqual(expect.arrayContaining(["decodePage", "encodePages"]));
    expect(told.inLine).toMatchObject({ others: 0 });
    expect(told.pooled).toEqual(told.inLine);
    expect(await exitOf(child)).toBe(0);
  }, 90_000);
});

describe("an index of words built with threads", () => {
  it("has the same bytes", async () => {
    const child = startProcess("poolRunner.mjs", ["modules", await makeTempDir(), "2", "indexed"]);
    const told = (await nextMessage(child)) as Record<string, never>;
    expect(told.startedInLine).toBe(0);
    expect(told.tasks).toContain("encodePostings");
    expect(Object.keys(told.inLine)).toContain("metadata.lance");
    expect(told.pooled).toEqual(told.inLine);
    expect(await exitOf(child)).toBe(0);
  });
});
