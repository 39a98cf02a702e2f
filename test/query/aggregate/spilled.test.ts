/** Aggregations that exceed their memory beside brute force, and what they leave behind. */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Float64, Int64, Table, Utf8, vectorFromArray } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MemoryShare } from "../../../src/memory.js";
import { makeTempDir } from "../../support/tempDir.js";

const ROWS = 120_000;
const ID = ["t"];
/** Grants the least memory, so that groups take at most a MiB. */
const NO_MEMORY: MemoryShare = { spareBytes: () => 0, hold: () => undefined, note: () => undefined };

let root: string;
let namespace: DirectoryNamespace;
beforeAll(async () => {
  root = await makeTempDir();
  namespace = new DirectoryNamespace({ root, durability: "none" });
  const rows = Array.from({ length: ROWS }, (_, row) => row);
  await namespace.createTable(
    { id: ID },
    new Table({
      key: vectorFromArray(
        rows.map((row) => (row % 50_021 === 7 ? null : BigInt(keyOf(row)))),
        new Int64(),
      ),
      name: vectorFromArray(
        rows.map((row) => `name ${keyOf(row)}`),
        new Utf8(),
      ),
      value: vectorFromArray(rows.map(valueAt), new Float64()),
    }),
  );
}, 60_000);
afterAll(() => namespace.close());

/** Most keys have two rows, far from each other. */
const keyOf = (row: number): number => (row * 7919) % 60_013;
const valueAt = (row: number): number => ((row * 104_729) % 90_001) / 8;

function rowsByName(): Map<string, number[]> {
  const byName = new Map<string, number[]>();
  for (let row = 0; row < ROWS; row++) {
    const name = `name ${keyOf(row)}`;
    byName.set(name, [...(byName.get(name) ?? []), row]);
  }
  return byName;
}

const temporaryFiles = async () =>
  (await readdir(join(root, "t.lance"))).filter((name) => name.startsWith(".tmp"));

describe("an aggregation with little memory", () => {
  it("gives every group once, with first and last rows in their order", async () => {
    const result = await namespace.aggregateTable({
      id: ID,
      groupBy: ["name"],
      values: {
        n: "count(*)",
        total: "sum(value)",
        low: "min(key)",
        first: "first(value)",
        last: "last(value)",
      },
      memory: NO_MEMORY,
    });
    const expected = rowsByName();
    const seen = new Set<string>();
    for await (const { name, n, total, first, last } of result.rows()) {
      const rows = expected.get(name as string) ?? [];
      expect(seen.has(name as string)).toBe(false);
      seen.add(name as string);
      expect([n, first, last]).toEqual([
        BigInt(rows.length),
        valueAt(rows[0]),
        valueAt(rows[rows.length - 1]),
      ]);
      expect(total).toBeCloseTo(
        rows.reduce((sum, row) => sum + valueAt(row), 0),
        6,
      );
    }
    expect(seen.size).toBe(expected.size);
    expect(await temporaryFiles()).toEqual([]);
  });

  it("sorts more groups than fit in memory", async () => {
    const result = await namespace.aggregateTable({
      id: ID,
      groupBy: ["key"],
      values: { n: "count(*)" },
      orderBy: [{ columnName: "key" }],
      memory: NO_MEMORY,
    });
    const keys = (await result.toArray()).map(({ key }) => key as bigint | null);
    expect(keys.at(-1)).toBeNull();
    const numbers = keys.slice(0, -1).map(Number);
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it("counts distinct values, and finds quantiles, of one group", async () => {
    const result = await namespace.aggregateTable({
      id: ID,
      values: {
        names: "count(distinct name)",
        median: "median(value)",
        tenth: "quantile_cont(value, 0.1)",
        estimate: "approx_count_distinct(name)",
      },
      memory: NO_MEMORY,
    });
    const [{ names, median, tenth, estimate }] = await result.toArray();
    const sorted = Array.from({ length: ROWS }, (_, row) => valueAt(row)).sort((a, b) => a - b);
    const quantile = (fraction: number): number => {
      const place = fraction * (ROWS - 1);
      const rank = Math.floor(place);
      return sorted[rank] + ((sorted[rank + 1] ?? 0) - sorted[rank]) * (place - rank);
    };
    expect(names).toBe(BigInt(rowsByName().size));
    expect(median).toBeCloseTo(quantile(0.5), 9);
    expect(tenth).toBeCloseTo(quantile(0.1), 9);
    expect(Math.abs(Number(estimate) / rowsByName().size - 1)).toBeLessThan(0.05);
    expect(await temporaryFiles()).toEqual([]);
  });

  it("counts distinct values of many groups", async () => {
    const result = await namespace.aggregateTable({
      id: ID,
      groupBy: ["key % 10"],
      values: { names: "count(distinct name)", sum: "sum(distinct key)" },
      filter: "key is not null",
      memory: NO_MEMORY,
    });
    const rows = await result.toArray();
    const keys = new Set(
      Array.from({ length: ROWS }, (_, row) => row)
        .filter((row) => row % 50_021 !== 7)
        .map(keyOf),
    );
    for (const row of rows) {
      const digit = Number(row["key % 10"]);
      const some = [...keys].filter((key) => key % 10 === digit);
      expect(row.names).toBe(BigInt(some.length));
      expect(row.sum).toBe(BigInt(some.reduce((sum, key) => sum + key, 0)));
    }
    expect(rows).toHaveLength(10);
  });

  it("removes its files if its reader stops early, or aborts", async () => {
    const request = { id: ID, groupBy: ["name"], values: { n: "count(*)" }, memory: NO_MEMORY };
    for await (const batch of await namespace.aggregateTable(request)) {
      expect(batch.numRows).toBeGreaterThan(0);
      break;
    }
    expect(await temporaryFiles()).toEqual([]);
    const controller = new AbortController();
    const result = await namespace.aggregateTable({ ...request, signal: controller.signal });
    controller.abort();
    await expect(result.toArray()).rejects.toMatchObject({ name: "AbortError" });
    expect(await temporaryFiles()).toEqual([]);
  });
});
