import { DirectoryNamespace, date, defineTable, int64, nullable, utf8, vector } from "tiltyard";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { cutToWidth, shownText, widthOf } from "../../../src/operations/rows/textWidth.js";
import { makeTempDir } from "../../support/tempDir.js";

let ns: DirectoryNamespace;
beforeEach(async () => {
  ns = new DirectoryNamespace({ root: await makeTempDir(), durability: "none", workers: 0 });
});

const silent = { write: false } as const;

describe("a printed table", () => {
  it("has a frame, types, and values as people read them", async () => {
    const schema = defineTable({ id: int64(), day: date(), name: nullable(utf8()), vector: vector(6) });
    await ns.createTable({ id: "t", schema }, [
      { id: 1, day: "2026-01-02", name: "木の家", vector: [0.1, 2, 3, 4, 5, 6] },
      { id: 20, day: "2026-11-28", vector: [1, 2, 3, 4, 5, 6] },
    ]);
    const text = await ns.table("t").scan().print(silent);
    expect(text).toMatch(/│ +1 │ 2026-01-02 +│ 木の家 │ \[0\.1, 2, 3, 4, … 6 items\] +│/);
    expect(text).toMatch(/│ +20 │ 2026-11-28 +│ NULL +│/);
    expect(text).toMatch(/\n2 rows$/);
    expect(new Set(text.split("\n").slice(0, -1).map(widthOf)).size).toBe(1);
  });
  it("has 64-bit integers without quotes, in structs and lists too", async () => {
    await ns.createTable({ id: "t" }, [{ big: 2n ** 62n, in: { n: 5n }, list: [1n, 2n ** 62n] }]);
    const text = await ns.table("t").scan().print(silent);
    expect(text).toMatch(/│ 4611686018427387904 │ \{n: 5\} +│ \[1, 4611686018427387904\] │/);
  });
  it("is written to the console and returned, with at most the limit of rows", async () => {
    await ns.createTable(
      { id: "t" },
      Array.from({ length: 50 }, (_, id) => ({ id })),
    );
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
    const text = await ns.table("t").query().orderBy("-id").print({ limit: 3 });
    expect(log.mock.calls).toEqual([[text]]);
    log.mockRestore();
    expect(text).toMatch(/49[\s\S]*48[\s\S]*47/);
    expect(text).toMatch(/\nthe first 3 rows$/);
    expect(await ns.table("t").scan({ limit: 1 }).print(silent)).toMatch(/\n1 row$/);
    expect(await ns.table("t").scan({ filter: "id < 0" }).print(silent)).toMatch(/│ +id │[\s\S]*\n0 rows$/);
    expect(await ns.table("t").scan().print(silent)).toMatch(/\nthe first 20 rows$/);
  });
  it.each([30, 40, 60, 100])("fits into %i columns of a terminal", async (width) => {
    const row = Object.fromEntries(
      Array.from({ length: 12 }, (_, index) => [`column${index}`, "値".repeat(index * 9)]),
    );
    await ns.createTable({ id: "wide" }, [row]);
    const lines = (
      await ns
        .table("wide")
        .scan()
        .print({ ...silent, width })
    ).split("\n");
    for (const line of lines.slice(0, -1)) expect(widthOf(line)).toBeLessThanOrEqual(width);
    expect(lines[1]).toMatch(/^│ +colu/);
    expect(lines[1]).toMatch(/│ colu[^│]*│$/);
  });
  it("escapes characters that a terminal obeys, in names too", async () => {
    await ns.createTable({ id: "h" }, [
      { "na\u001bme": "\u001b[31mred\u0007\n\u202eevil", list: ["\u001b[2J"] },
    ]);
    const text = await ns.table("h").scan().print(silent);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: there must be none
    expect(text.replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
    expect(text).toContain("\\u{1b}[31mred\\u{7}\\n\\u{202e}evil");
  });
  it("shows bytes, decimals, structs and long texts shortly", async () => {
    await ns.createTable({ id: "s" }, [
      {
        bytes: new Uint8Array(40),
        place: { city: "Oslo", lat: 1.5 },
        long: "x".repeat(1_000_000),
        flag: true,
      },
    ]);
    const text = await ns
      .table("s")
      .scan({ columns: ["bytes", "place", "flag", "long"] })
      .print({ ...silent, width: 200 });
    expect(text).toContain("… 40 bytes");
    expect(text).toContain('{city: "Oslo", lat: 1.5}');
    expect(text).toMatch(/x+… │/);
    expect(text.length).toBeLessThan(5000);
  });
  it.each([
    { limit: 0 },
    { limit: 20_000 },
    { width: -1 },
    { write: "no" },
    { rows: 5 },
  ])("refuses the options %j", async (options) => {
    await ns.createTable({ id: "o" }, [{ a: 1 }]);
    await expect(
      ns
        .table("o")
        .scan()
        .print(options as never),
    ).rejects.toThrow(/^print\./);
  });
});

describe("widths of texts", () => {
  it.each([
    ["abc", 3],
    ["日本", 4],
    ["é", 1],
    ["e\u0301", 1],
    ["👩‍👩‍👧", 2],
    ["한국", 4],
    ["", 0],
  ])("%s takes %i columns", (text, width) => {
    expect(widthOf(text)).toBe(width);
  });
  it("a text is cut between characters", () => {
    expect(cutToWidth("日本語", 5)).toBe("日本…");
    expect(cutToWidth("日本語", 4)).toBe("日…");
    expect(cutToWidth("abc", 3)).toBe("abc");
  });
  it("lone surrogates and zero-width characters are escaped", () => {
    expect(shownText("a\ud800b\u200bc\ufeff")).toBe("a\\u{d800}b\\u{200b}c\\u{feff}");
  });
});
