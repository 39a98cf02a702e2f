/**
 * Crash loop over building, updating and remapping indexes: rows stay, answers equal those of a scan, and a
 * cleanup leaves exactly the files of existing indexes.
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Int32, Table, tableFromIPC, vectorFromArray } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { describe, expect, it } from "vitest";
import type { IndexKindName } from "../../src/indexes/kind.js";
import { strideOf } from "../support/effort.js";
import { buildIndex } from "../support/indexedTable.js";
import { reference } from "../support/reference.js";
import { interrupt, stage, WAYS, withNamespace } from "./interruptions.js";

const STRIDE = strideOf("CRASH_INDEX_STRIDE", 41);
const id = ["t"];
const FRAGMENTS = 3;
const FRAGMENT_ROWS = 20;

const rowsFrom = (first: number) =>
  new Table({
    v: vectorFromArray(
      Array.from({ length: FRAGMENT_ROWS }, (_, row) => first + row),
      new Int32(),
    ),
  });
const valuesOf = (table: Table) =>
  Array.from(table.getChild("v") ?? [], Number).sort((left, right) => left - right);
const ROWS = Array.from({ length: FRAGMENTS * FRAGMENT_ROWS }, (_, row) => row);

interface Scenario {
  readonly name: string;
  readonly prepare: (namespace: DirectoryNamespace) => Promise<unknown>;
  readonly run: (namespace: DirectoryNamespace) => Promise<unknown>;
  /** True if an index exists before. */
  readonly isIndexed: boolean;
}

async function makeTable(ns: DirectoryNamespace): Promise<void> {
  await ns.createTable({ id }, rowsFrom(0));
  await ns.insertIntoTable({ id }, rowsFrom(FRAGMENT_ROWS));
}
const lastRows = (ns: DirectoryNamespace) => ns.insertIntoTable({ id }, rowsFrom(2 * FRAGMENT_ROWS));
const build = (ns: DirectoryNamespace, indexType: IndexKindName) =>
  buildIndex(ns, { id, column: "v", indexType, name: "i", replace: true });

const SCENARIOS: Scenario[] = [
  {
    name: "a build",
    isIndexed: false,
    prepare: async (ns) => {
      await makeTable(ns);
      await lastRows(ns);
    },
    run: (ns) => build(ns, "BTREE"),
  },
  {
    name: "a build in the place of another",
    isIndexed: true,
    prepare: async (ns) => {
      await makeTable(ns);
      await lastRows(ns);
      await build(ns, "ZONEMAP");
    },
    run: (ns) => build(ns, "BITMAP"),
  },
  {
    name: "an optimization with an index",
    isIndexed: true,
    prepare: async (ns) => {
      await makeTable(ns);
      await build(ns, "BTREE");
      await lastRows(ns);
    },
    run: (ns) => ns.optimizeTable({ id }),
  },
];

async function check(ns: DirectoryNamespace, where: string): Promise<void> {
  const table = ns.table(id);
  expect(valuesOf(await table.scan().toArrow()), where).toEqual(ROWS);
  for (const [filter, expected] of [
    ["v = 25", [25]],
    ["v IN (3, 45, 99)", [3, 45]],
    ["v >= 38 AND v < 42", [38, 39, 40, 41]],
  ] as const) {
    const answer = await table.scan({ filter, useScalarIndex: true }).toArrow();
    expect(valuesOf(answer), `${where}: ${filter}`).toEqual(expected);
  }
}

/** Returns directories of indexes, and all temporary files. */
async function orphans(root: string): Promise<{ readonly indices: number; readonly orphan: string[] }> {
  const directory = join(root, "t.lance");
  const indices = await readdir(join(directory, "_indices")).catch(() => []);
  const entries = await readdir(directory, { recursive: true });
  return { indices: indices.length, orphan: entries.filter((name) => /\.tmp|#\d+$/.test(name)) };
}

describe.each(SCENARIOS)("$name", ({ prepare, run, isIndexed }) => {
  it.each(WAYS)("$title", async (way) => {
    let old = 0;
    const prepared = await stage((root) =>
      withNamespace(root, async (ns) => {
        await prepare(ns);
        old = await ns.table(id).version();
      }),
    );
    const { root } = prepared;
    const seen = new Set<boolean>();
    const operation = { stride: STRIDE, closeMayFail: true, run };
    await interrupt(prepared, way, operation, async ({ acknowledged, round, tripped, where }) => {
      await withNamespace(root, async (next) => {
        await check(next, where);
        const version = await next.table(id).version();
        if (acknowledged) expect(version, where).toBeGreaterThan(old);
        seen.add(version > old);
        const { indexes } = await next.listTableIndices({ id });
        expect(indexes.length, where).toBe(isIndexed || version > old ? 1 : 0);
        // A failed build succeeds now.
        await build(next, "BTREE");
        await next.optimizeTable({ id });
        expect((await next.listTableIndices({ id })).indexes, where).toMatchObject([
          { indexName: "i", indexType: "BTREE", numIndexedRows: ROWS.length, numUnindexedRows: 0 },
        ]);
        await check(next, where);
        // Files younger than the latest version may belong to a running writer.
        await next.cleanupTable({ id, olderThanMs: 0, deleteUnverified: true });
        expect(await orphans(root), where).toEqual({ indices: 1, orphan: [] });
      });
      if (tripped && round % 4 > 0) return;
      const rows = tableFromIPC(await reference.readTable(root, "t", { filter: "v >= 38 AND v < 42" }));
      expect(valuesOf(rows), where).toEqual([38, 39, 40, 41]);
    });
    // The loop has seen both sides of the commit.
    expect([...seen].sort()).toEqual([false, true]);
  });
});
