/** Permutations have the rows and the sizes of splits of LanceDB's. Random orders and hashes are others. */

import fc from "fast-check";
import * as reference from "tiltyard-reference/session.js";
import { beforeAll, describe, expect, it } from "vitest";
import { runSync } from "../../src/async/eventLoop.js";
import type { Table } from "../../src/lancedb/abstractTable.js";
import { connect } from "../../src/lancedb/connect.js";
import type { Connection } from "../../src/lancedb/connection.js";
import { type PermutationBuilder, permutationBuilder } from "../../src/lancedb/permutation.js";
import { shuffled } from "../../src/lancedb/permutations/splits.js";
import { openBothEngines } from "../support/bothEngines.js";
import { runsOf } from "../support/effort.js";

const ROWS = 40;
const { root, connection } = await openBothEngines();
const ours = await connect(root);
let here: Table;
let there: reference.Table;

beforeAll(async () => {
  const rows = Array.from({ length: ROWS }, (_, id) => ({ id, key: id % 3 === 0 ? null : `k${id % 5}` }));
  there = await connection.createTable("source", rows);
  await there.delete("id in (2, 30)");
  here = await ours.openTable("source");
});

/** Calls that both builders take, in pairs of a method and its options. */
type Calls = readonly (readonly [method: string, options: unknown])[];
// biome-ignore lint/suspicious/noExplicitAny: the same calls on builders of two libraries
type Builder = any;
interface Permuted {
  readonly fields: readonly string[];
  readonly names: string | undefined;
  readonly version: string | undefined;
  readonly pairs: readonly (readonly [row: number, split: unknown])[];
}

let made = 0;
async function permuted(builder: Builder, target: Builder, calls: Calls): Promise<Permuted | string> {
  try {
    const built = calls.reduce((step: Builder, [method, options]) => step[method](options), builder);
    const table = await built.persist(target, `permutation_${made++}`).execute();
    const rows = await table.toArrow();
    const { fields, metadata } = await table.schema();
    return {
      fields: fields.map(({ name, type, nullable }: Builder) => `${name}: ${type} ${nullable}`),
      names: metadata.get("split_names"),
      version: metadata.get("base_version"),
      pairs: rows
        .toArray()
        .map(({ row_id, split_id }: Builder) => [
          Number(row_id),
          typeof split_id === "bigint" ? Number(split_id) : split_id,
        ]),
    };
  } catch (error) {
    return (error as Error).message;
  }
}
const hereOf = (calls: Calls) => permuted(permutationBuilder(here), ours, calls);
const thereOf = (calls: Calls) => permuted(reference.permutationBuilder(there), connection, calls);

const sorted = ({ pairs, ...others }: Permuted) => ({
  ...others,
  pairs: [...pairs].map(([row]) => row).sort((first, second) => first - second),
  splits: pairs.map(([, split]) => split),
});
const pairsOf = async (calls: Calls) => ((await hereOf(calls)) as Permuted).pairs;
const rowsOf = async (calls: Calls) => (await pairsOf(calls)).map(([row]) => row);

const ratios = fc.oneof(
  fc.array(fc.constantFrom(0.02, 0.05, 0.1, 0.2, 0.25, 0.3, 0.33, 0.5, 1 / 3, 1 / 7), {
    minLength: 1,
    maxLength: 7,
  }),
  fc.integer({ min: 1, max: 12 }).map((count) => Array(count).fill(1 / count)),
);
const sizes = fc.oneof(
  ratios.map((list) => ({ ratios: list })),
  fc.array(fc.integer({ min: 0, max: 15 }), { minLength: 1, maxLength: 4 }).map((counts) => ({ counts })),
  fc.integer({ min: 1, max: 45 }).map((fixed) => ({ fixed })),
);
const filters = fc.constantFrom<Calls>([], [["filter", "id > 7"]], [["filter", "key IS NULL"]]);
const numRuns = runsOf("PERMUTATIONS", 100);

describe("splits", () => {
  it("in the order of the table are those of LanceDB, row by row", async () => {
    const splits = fc.oneof(
      sizes.map((options): Calls => [["splitSequential", { ...options, splitNames: ["a", "b"] }]]),
      fc
        .constantFrom("id % 4", "id > 9", "key", "-id", "id / 2")
        .map((calculation): Calls => [["splitCalculated", { calculation }]]),
      fc.constant<Calls>([]),
    );
    await fc.assert(
      fc.asyncProperty(filters, splits, async (filter, split) => {
        const calls = [...filter, ...split];
        expect(await hereOf(calls)).toEqual(await thereOf(calls));
      }),
      { numRuns },
    );
  });

  it("at random have the sizes of LanceDB's", async () => {
    await fc.assert(
      fc.asyncProperty(filters, sizes, fc.nat(100), async (filter, options, seed) => {
        const calls: Calls = [...filter, ["splitRandom", { ...options, seed }]];
        const [one, other] = [await hereOf(calls), await thereOf(calls)];
        if (typeof one === "string" || typeof other === "string") expect(one).toEqual(other);
        else
          expect({ ...sorted(one), pairs: one.pairs.length }).toEqual({
            ...sorted(other),
            pairs: other.pairs.length,
          });
      }),
      { numRuns },
    );
  });

  it("by hashes keep equal values together, and discard by weight", async () => {
    const pairs = await pairsOf([["splitHash", { columns: ["key"], splitWeights: [1, 1, 1] }]]);
    expect(pairs).toHaveLength(ROWS - 2);
    const keys = (await here.query().toArray()).map(({ key }) => key);
    const splitsOfKey = new Map<unknown, Set<unknown>>();
    for (const [index, [, split]] of pairs.entries()) {
      splitsOfKey.set(keys[index], (splitsOfKey.get(keys[index]) ?? new Set()).add(split));
    }
    for (const splits of splitsOfKey.values()) expect(splits.size).toBe(1);
    const some = await pairsOf([
      ["splitHash", { columns: ["id"], splitWeights: [50, 50], discardWeight: 100 }],
    ]);
    expect(some.length).toBeGreaterThan(5);
    expect(some.length).toBeLessThan(ROWS - 5);
    expect(new Set(some.map(([, split]) => split))).toEqual(new Set([0, 1]));
    expect(await rowsOf([["splitHash", { columns: ["id"], splitWeights: [1] }]])).toEqual(await rowsOf([]));
  });

  it.each<[string, Calls]>([
    ["too large shares", [["splitSequential", { ratios: [0.8, 0.8] }]]],
    ["negative shares", [["splitRandom", { ratios: [-0.1] }]]],
    ["too many rows", [["splitSequential", { counts: [3, 400] }]]],
    ["no rows of a split", [["splitSequential", { counts: [0, 4] }]]],
    ["more splits than rows", [["splitRandom", { fixed: 99 }]]],
    ["no columns of a hash", [["splitHash", { columns: [], splitWeights: [1] }]]],
    ["no weights", [["splitHash", { columns: ["id"], splitWeights: [] }]]],
    ["no sizes", [["splitRandom", {}]]],
    ["two sizes", [["splitSequential", { ratios: [1], fixed: 2 }]]],
    ["no calculation", [["splitCalculated", {}]]],
  ])("%s fail with LanceDB's sentence", async (_, calls) => {
    const sentence = await hereOf(calls);
    expect(sentence).toEqual(expect.any(String));
    expect(sentence).toBe(await thereOf(calls));
  });

  it("that LanceDB divides by zero for are refused", async () => {
    expect(await hereOf([["splitRandom", { fixed: 0 }]])).toMatch(/greater than 0/);
    expect(await hereOf([["shuffle", { clumpSize: 0 }]])).toMatch(/greater than 0/);
    expect(await hereOf([["splitHash", { columns: ["id"], splitWeights: [0] }]])).toMatch(/weight/);
    expect(await hereOf([["splitHash", { columns: ["id"], splitWeights: [-1, 5] }]])).toMatch(/weights/);
    expect(await hereOf([["splitHash", { columns: ["nope"], splitWeights: [1] }]])).toMatch(/nope/);
  });
});

describe("shuffles", () => {
  it("keep the rows, and the same seed gives the same order", async () => {
    const order = await rowsOf([["shuffle", { seed: 7 }]]);
    expect(order).toEqual(await rowsOf([["shuffle", { seed: 7 }]]));
    expect(order).not.toEqual(await rowsOf([["shuffle", { seed: 8 }]]));
    expect([...order].sort((first, second) => first - second)).toEqual(await rowsOf([]));
    expect(await rowsOf([["splitRandom", { ratios: [1], seed: 7 }]])).toEqual(order);
  });

  it("keep clumps together", async () => {
    const plain = await rowsOf([]);
    const order = await rowsOf([["shuffle", { seed: 3, clumpSize: 4 }]]);
    const clumps = Array.from({ length: Math.ceil(plain.length / 4) }, (_, clump) =>
      plain.slice(4 * clump, 4 * clump + 4),
    );
    for (const clump of clumps) {
      const start = order.indexOf(clump[0]);
      expect(order.slice(start, start + clump.length)).toEqual(clump);
    }
    expect(order).not.toEqual(plain);
  });

  it("group the rows by split", async () => {
    const splits = (
      await pairsOf([
        ["splitCalculated", { calculation: "id % 3" }],
        ["shuffle", { seed: 1 }],
      ])
    ).map(([, split]) => split);
    expect(splits).toEqual([...splits].sort());
    const rows = await rowsOf([
      ["splitSequential", { counts: [10, 10] }],
      ["shuffle", { seed: 1 }],
    ]);
    const plain = await rowsOf([]);
    expect(new Set(rows.slice(0, 10))).toEqual(new Set(plain.slice(0, 10)));
    expect(rows.slice(0, 10)).not.toEqual(plain.slice(0, 10));
  });

  it("put every row everywhere with an equal chance", () => {
    const firsts = new Map<number, number>();
    for (let seed = 0; seed < 4000; seed++) {
      const [first] = runSync(shuffled(Uint32Array.of(0, 1, 2, 3), { seed }));
      firsts.set(first, (firsts.get(first) ?? 0) + 1);
    }
    expect(firsts.size).toBe(4);
    for (const count of firsts.values()) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });
});

describe("builders", () => {
  it("run once", async () => {
    const builder: PermutationBuilder = permutationBuilder(here).filter("id < 3");
    await builder.persist(ours, "once").execute();
    await expect(builder.execute()).rejects.toThrow("Builder already consumed");
    expect(() => builder.filter("id > 3")).toThrow("Builder already consumed");
    expect(await (await ours.openTable("once")).countRows()).toBe(2);
  });

  it("keep a permutation in memory unless it is persisted", async () => {
    const table = await permutationBuilder(here)
      .splitSequential({ ratios: [0.5, 0.5] })
      .execute();
    expect([
      table.name,
      await table.countRows("split_id = 0"),
      await table.countRows("split_id = 1"),
    ]).toEqual(["permutation", 19, 19]);
    expect(await ours.tableNames()).not.toContain("permutation");
  });

  it("read the version that the table shows", async () => {
    const old = await ours.openTable("source");
    await old.checkout(1);
    const table = await permutationBuilder(old).persist(ours, "of_version_1").execute();
    expect([await table.countRows(), (await table.schema()).metadata.get("base_version")]).toEqual([
      ROWS,
      "1",
    ]);
  });

  it("refuse what is no table, and a name that is taken", async () => {
    expect(() => permutationBuilder({} as Table)).toThrow("a table is required");
    expect(() => permutationBuilder(here).persist({} as Connection, "x")).toThrow("a connection is required");
    await permutationBuilder(here).persist(ours, "taken").execute();
    await expect(permutationBuilder(here).persist(ours, "taken").execute()).rejects.toThrow(
      "Table 'taken' already exists",
    );
  });

  it("make a permutation of no rows", async () => {
    expect(await rowsOf([["filter", "id < 0"]])).toEqual([]);
    expect(
      await rowsOf([
        ["filter", "id < 0"],
        ["shuffle", { seed: 1 }],
      ]),
    ).toEqual([]);
  });
});
