/**
 * Tables of the reference (test/golden), one per layout and compression, are read whole, in part and by row.
 * test/support/goldenTables.ts makes them.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CorruptFileError, DirectoryNamespace, UnsupportedError } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { directorySnapshot } from "./support/directorySnapshot.js";
import { type ExactColumn, exactColumns } from "./support/exactJson.js";
import { ENCODINGS, type Golden } from "./support/goldenTables.js";
import { tableOutlines } from "./support/pageOutline.js";

const ROOT = fileURLToPath(new URL("golden", import.meta.url));

/** Tables that are refused, and what the refusal says. */
const REFUSED = new Map<string, RegExp>();

const goldens = new Map<string, Golden>(
  readdirSync(ROOT)
    .filter((entry) => entry.endsWith(".json"))
    .sort()
    .map((entry) => [entry.slice(0, -".json".length), JSON.parse(readFileSync(join(ROOT, entry), "utf8"))]),
);

const namespace = new DirectoryNamespace({ root: ROOT, durability: "none" });
let before: Record<string, string>;
beforeAll(async () => {
  before = await directorySnapshot(ROOT);
});
afterAll(() => namespace.close());

const rowsOf = (columns: readonly ExactColumn[], rows: readonly number[]): ExactColumn[] =>
  columns.map((column) => ({ ...column, values: rows.map((row) => column.values[row]) }));

describe("golden tables", () => {
  it.each([...goldens])("%s", async (name, golden) => {
    const table = namespace.table([name]);
    const refusal = REFUSED.get(name);
    if (refusal !== undefined) {
      const error = await table
        .scan()
        .toArrow()
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(UnsupportedError);
      expect(error).not.toBeInstanceOf(CorruptFileError);
      expect((error as Error).message).toMatch(refusal);
      return;
    }
    expect(await tableOutlines(ROOT, name)).toEqual(golden.outlines);
    expect(exactColumns(await table.scan().toArrow())).toEqual(golden.columns);

    const rowCount = golden.columns[0].values.length;
    const offset = Math.floor(rowCount / 3);
    const limit = Math.ceil(rowCount / 2);
    const range = Array.from({ length: Math.min(limit, rowCount - offset) }, (_, index) => offset + index);
    const part = await table.scan({ offset, limit }).toArrow();
    expect(exactColumns(part)).toEqual(rowsOf(golden.columns, range));

    const scattered = [rowCount - 1, 0, Math.floor(rowCount / 2), 1];
    expect(exactColumns(await table.take(scattered))).toEqual(rowsOf(golden.columns, scattered));

    // Each column by itself: no column is found by its neighbours.
    for (const column of golden.columns) {
      const alone = await table.scan({ columns: [column.name] }).toArrow();
      expect(exactColumns(alone)).toEqual([column]);
    }
  });

  it.each(
    Object.entries(ENCODINGS).flatMap(([name, { versions, outline }]) =>
      versions.map((version) => [name, version, outline] as const),
    ),
  )("show %s in version %s", (name, version, outline) => {
    const shown = [...goldens.values()].filter(
      (golden) => golden.version === version && golden.shows.includes(name),
    );
    expect(shown).not.toEqual([]);
    for (const { outlines } of shown) {
      expect(outlines.flat().some((page) => outline.test(page))).toBe(true);
    }
  });

  it("are left as they were", async () => {
    const tables = Object.keys(before).filter((path) => /^[^/]*\.lance$/.test(path));
    expect(tables.sort()).toEqual([...goldens.keys()].map((name) => `${name}.lance`).sort());
    expect(await directorySnapshot(ROOT)).toEqual(before);
  });
});
