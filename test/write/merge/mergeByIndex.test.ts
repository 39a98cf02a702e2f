/** Merges that look keys up in indexes have the result of merges that compare all rows. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import type { DirectoryNamespace } from "tiltyard";
import { NodeDisk } from "../../../src/io/disk/nodeDisk.js";
import { columnsOf, fieldOf } from "../../support/arrowColumns.js";
import { countingDisk } from "../../support/countingDisk.js";
import { runsOf } from "../../support/effort.js";
import { describe, expect, it } from "../../support/fixtures.js";
import { buildIndex } from "../../support/indexedTable.js";

const KINDS = ["BTREE", "BITMAP", "ZONEMAP", "BLOOMFILTER"] as const;

/** Types of keys, and a key for each small number. */
interface Keys {
  readonly type: arrow.DataType;
  readonly of: (n: number) => unknown;
  /** Kinds of indexes that such columns can have. Default: all. */
  readonly kinds?: readonly (typeof KINDS)[number][];
}

const KEYS: Record<string, Keys> = {
  "64-bit integers": { type: new arrow.Int64(), of: (n) => BigInt(n) * 2n ** 55n },
  texts: { type: new arrow.Utf8(), of: (n) => (n === 0 ? "" : `key ${"ä".repeat(n % 3)}${n}`) },
  floats: {
    type: new arrow.Float64(),
    of: (n) => [Number.NaN, 0, -0, -Infinity][n] ?? n / 4,
    kinds: ["BTREE", "ZONEMAP", "BLOOMFILTER"],
  },
  days: {
    type: new arrow.DateDay(),
    of: (n) => new Date(n * 86_400_000),
    kinds: ["BTREE", "ZONEMAP", "BLOOMFILTER"],
  },
  bytes: { type: new arrow.Binary(), of: (n) => Uint8Array.of(n, n >> 1), kinds: ["BITMAP", "BLOOMFILTER"] },
  booleans: { type: new arrow.Bool(), of: (n) => n % 2 === 0, kinds: ["BTREE", "BITMAP"] },
};

const number = fc.option(fc.nat(60), { freq: 12 });
const distinct = fc.uniqueArray(fc.nat(80), { maxLength: 6 });

function rowsOf(type: arrow.DataType, keys: readonly (unknown | null)[], first: number): arrow.Table {
  const values = keys.map((_, row) => first + row);
  const columns = { k: type, v: new arrow.Int32() };
  const schema = new arrow.Schema(Object.entries(columns).map(([name, each]) => fieldOf(name, each)));
  return new arrow.Table(schema, { k: columnsOf(type)(keys), v: columnsOf(columns.v)(values) });
}

const outcomeOf = async (ns: DirectoryNamespace, id: string[]) =>
  (await ns.table(id).scan({ orderBy: "v" }).toArrow()).toArray().map(String);

describe.each(Object.entries(KEYS))("keys that are %s", (_, { type, of, kinds = KINDS }) => {
  it("find the same rows by an index as by a scan", async ({ ns }) => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          kind: fc.constantFrom(...kinds),
          parts: fc.array(fc.array(number, { minLength: 1, maxLength: 400 }), { minLength: 1, maxLength: 3 }),
          later: fc.array(number, { maxLength: 20 }),
          deleted: fc.nat(40),
          source: distinct,
          hasUpdate: fc.boolean(),
          hasInsert: fc.boolean(),
          stableRowIds: fc.boolean(),
        }),
        async ({ kind, parts, later, deleted, source, hasUpdate, hasInsert, stableRowIds }) => {
          const keysOf = (numbers: readonly (number | null)[]) =>
            numbers.map((n) => (n === null ? null : of(n)));
          const merge = {
            on: "k",
            whenMatchedUpdateAll: hasUpdate,
            whenNotMatchedInsertAll: hasInsert || !hasUpdate,
          };
          const outcomes: unknown[] = [];
          for (const useIndex of [true, false]) {
            const id = [`t${count++}`];
            let rows = 0;
            for (const [index, part] of [...parts, later].entries()) {
              if (index === parts.length) await buildIndex(ns, { id, column: "k", indexType: kind });
              const data = rowsOf(type, keysOf(part), rows);
              if (index === 0) await ns.createTable({ id, stableRowIds }, data);
              else if (part.length > 0) await ns.insertIntoTable({ id }, data);
              rows += part.length;
            }
            await ns.deleteFromTable({ id, predicate: `v % 40 = ${deleted}` });
            const data = rowsOf(type, keysOf(source), 10_000);
            const counts = await ns.mergeInsertIntoTable({ id, ...merge, useIndex }, data).then(
              ({ numUpdatedRows, numInsertedRows }) => ({ numUpdatedRows, numInsertedRows }),
              // Rows with equal keys are refused.
              ({ type: errorType }: { type: string }) => errorType,
            );
            outcomes.push({ counts, rows: await outcomeOf(ns, id) });
          }
          expect(outcomes[0]).toEqual(outcomes[1]);
        },
      ),
      { numRuns: runsOf("MERGE_INDEX_RUNS", 32) },
    );
  });
});

it("an upsert of one row reads as much of a large table as of a small one", async ({ open }) => {
  const disk = countingDisk(new NodeDisk({ durability: "none" }));
  const ns = open({ disk } as never);
  const bytesOf = async (rowCount: number) => {
    const id = [`rows${rowCount}`];
    const k = BigInt64Array.from({ length: rowCount }, (_, row) => BigInt(row));
    await ns.createTable({ id }, arrow.tableFromArrays({ k, v: k }));
    await buildIndex(ns, { id, column: "k", indexType: "BTREE" });
    const upsert = (key: number) =>
      ns.mergeInsertIntoTable(
        { id, on: "k", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
        arrow.tableFromArrays({ k: BigInt64Array.of(BigInt(key)), v: BigInt64Array.of(-1n) }),
      );
    await upsert(rowCount >> 1);
    disk.reset();
    expect(await upsert(rowCount >> 2)).toMatchObject({ numUpdatedRows: 1, numInsertedRows: 0 });
    return disk.bytesRead;
  };
  const [small, large] = [await bytesOf(100_000), await bytesOf(800_000)];
  expect(large).toBeLessThan(1.5 * small);
  expect(large).toBeLessThan(400_000);
});

it("a key of two columns is looked up by the one that has an index", async ({ ns }) => {
  const id = ["t"];
  const rows = Array.from({ length: 20_000 }, (_, row) => ({ a: row, b: `b${row % 2}`, v: 0 }));
  await ns.createTable({ id }, rows);
  await buildIndex(ns, { id, column: "a", indexType: "BTREE" });
  const source = [
    { a: 7, b: "b1", v: 1 },
    { a: 8, b: "b1", v: 1 },
  ];
  const merged = await ns.mergeInsertIntoTable(
    { id, on: ["b", "a"], whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
    source,
  );
  expect(merged).toMatchObject({ numUpdatedRows: 1, numInsertedRows: 1 });
  expect(await ns.table(id).countRows("v = 1")).toBe(2);
});
