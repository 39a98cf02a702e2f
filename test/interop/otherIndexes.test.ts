/** The reference finds the right rows by its indexes of vectors and words after our changes. */

import { FixedSizeList, Float32, Table, tableFromIPC, tableToIPC, vectorFromArray } from "apache-arrow";
import { Index, type Table as ReferenceTable } from "tiltyard-reference/session.js";
import { describe, expect, it } from "vitest";
import { fieldOf, int32s, utf8s } from "../support/arrowColumns.js";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";
import { withReference } from "../support/indexedTable.js";
import { reference } from "../support/reference.js";

const DIMENSION = 8;
const ROWS = 400;
const WORDS = ["apple", "banana", "cherry", "damson", "elder"];
const root = sharedDirectory();
const namespace = sharedNamespace({ root });

const vectorOf = (id: number): number[] =>
  Array.from({ length: DIMENSION }, (_, axis) => Math.sin((id + 1) * (axis + 1)));
const textOf = (id: number): string => `${WORDS[id % 5]} ${WORDS[(id * 3 + 1) % 5]} w${id % 40}`;

function rowsFrom(first: number, count: number): Table {
  const ids = Array.from({ length: count }, (_, row) => first + row);
  return new Table({
    id: int32s(ids),
    w: int32s(ids),
    vector: vectorFromArray(ids.map(vectorOf), new FixedSizeList(DIMENSION, fieldOf("item", new Float32()))),
    text: utf8s(ids.map(textOf)),
  });
}

type Find = (table: ReferenceTable) => Promise<number[]>;
const idsOf = (rows: readonly { readonly id: number }[]): number[] =>
  rows.map(({ id }) => id).sort((one, next) => one - next);

/** An exact search: all partitions, with distances from the vectors. */
const nearest =
  (id: number): Find =>
  async (table) =>
    idsOf(
      await table
        .vectorSearch(vectorOf(id))
        .distanceType("l2")
        .nprobes(4)
        .refineFactor(100)
        .select(["id"])
        .limit(5)
        .toArray(),
    );
const withWord =
  (word: string): Find =>
  async (table) =>
    idsOf(await table.search(word, "fts", "text").select(["id"]).limit(1000).toArray());

const SEARCHES: Readonly<Record<string, readonly Find[]>> = {
  vector: [3, 77, 250, 405, 455, 505].map(nearest),
  text: ["w3", "w17", "w39", "cherry", "changed"].map(withWord),
};
const MAKE = {
  vector: () => Index.ivfPq({ numPartitions: 4, numSubVectors: 4, distanceType: "l2" }),
  text: () => Index.fts({ withPosition: true }),
} as const;

describe.each(["vector", "text"] as const)("the reference's index on %s", (column) => {
  it.each([false, true])("finds the right rows after our changes, stable row ids: %s", async (stable) => {
    const name = `${column}${stable}`;
    await reference.createTable(root, name, tableToIPC(rowsFrom(0, ROWS)), { stableRowIds: stable });
    await withReference(root, name, (table) => table.createIndex(column, { config: MAKE[column]() }));
    let copies = 0;

    /** Compares with a fresh table of the same rows. */
    const check = async (what: string): Promise<void> => {
      const fresh = `${name}_${copies++}`;
      const rows = await namespace.table([name]).scan().toArrow();
      await reference.createTable(root, fresh, tableToIPC(rows), {});
      if (column === "text") {
        await withReference(root, fresh, (table) => table.createIndex("text", { config: MAKE.text() }));
      }
      for (const [number, find] of SEARCHES[column].entries()) {
        const expected = await withReference(root, fresh, find);
        expect(await withReference(root, name, find), `${what}: search ${number}`).toEqual(expected);
      }
      const stats = await namespace.describeTableIndexStats({ id: [name], indexName: `${column}_idx` });
      expect(await withReference(root, name, (table) => table.indexStats(`${column}_idx`))).toMatchObject({
        numIndexedRows: stats.numIndexedRows,
        numUnindexedRows: stats.numUnindexedRows,
      });
      expect(tableFromIPC(await reference.readTable(root, name, { columns: ["id"] })).numRows).toBe(
        rows.numRows,
      );
      await namespace.dropTable({ id: [fresh] });
    };
    const id = [name];
    await check("built");
    await namespace.insertIntoTable({ id }, rowsFrom(ROWS, 50));
    await check("appended");
    const version = await namespace.table(id).version();
    await namespace.deleteFromTable({ id, predicate: "id % 7 = 3" });
    await check("deleted");
    await namespace.updateTable({ id, updates: [["w", "w + 1"]], predicate: "id % 6 = 1" });
    await check("another column updated");
    const value = column === "text" ? "'changed'" : "vector";
    await namespace.updateTable({ id, updates: [[column, value]], predicate: "id % 11 = 1" });
    await check("the column updated");
    await namespace.optimizeTable({ id });
    await check("compacted");
    await namespace.insertIntoTable({ id }, rowsFrom(500, 50));
    await namespace.optimizeTable({ id, targetRowsPerFragment: 10_000 });
    await check("compacted again");
    await reference.optimizeTable(root, name);
    await check("optimized there");
    await namespace.restoreTable({ id, version });
    await check("restored");
    await namespace.cleanupTable({ id, olderThanMs: 0 });
    await check("cleaned up");
    await namespace.alterTableAlterColumns({ id, alterations: [{ path: "w", rename: "u" }] });
    await namespace.deleteFromTable({ id, predicate: "id < 100" });
    await namespace.optimizeTable({ id });
    await check("compacted after the restoration");
  });
});
