/** Merges equal a model that compares all pairs of rows, with keys read in one pass or in many. */

import { readdir } from "node:fs/promises";
import * as arrow from "apache-arrow";
import fc from "fast-check";
import { InvalidInputError } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OperationContext, openContext } from "../../../src/operations/context.js";
import { findLatestVersion } from "../../../src/table/versions/latestVersion.js";
import { tableAt } from "../../../src/table/versions/tableAt.js";
import type { MergeRequest } from "../../../src/write/merge/clauses.js";
import { mergeInsert } from "../../../src/write/merge/mergeInsert.js";
import { columnsOf, fieldOf } from "../../support/arrowColumns.js";
import { isInLock } from "../../support/directorySnapshot.js";
import { runsOf } from "../../support/effort.js";
import { sharedDirectory, sharedNamespace } from "../../support/fixtures.js";

interface Row {
  readonly k: number | null;
  readonly s: string | null;
  readonly v: number | null;
}

const columns: readonly (keyof Row)[] = ["k", "s", "v"];
const TYPES = { k: new arrow.Int32(), s: new arrow.Utf8(), v: new arrow.Int32() };

function tableOf(rows: readonly Row[], names: readonly (keyof Row)[] = columns, batches = 1): arrow.Table {
  const schema = new arrow.Schema(names.map((name) => fieldOf(name, TYPES[name])));
  const size = Math.ceil(rows.length / batches);
  const parts = Array.from({ length: batches }, (_, index) => rows.slice(index * size, (index + 1) * size));
  return new arrow.Table(
    schema,
    parts
      .filter((part) => part.length > 0)
      .map((part) => {
        const children = names.map((name) => columnsOf(TYPES[name])(part.map((row) => row[name])).data[0]);
        return new arrow.RecordBatch(
          schema,
          arrow.makeData({
            type: new arrow.Struct(schema.fields),
            length: part.length,
            nullCount: 0,
            children,
          }),
        );
      }),
  );
}

const small = fc.option(fc.integer({ min: 0, max: 12 }), { freq: 8 });
const row: fc.Arbitrary<Row> = fc.record({
  k: small,
  s: fc.option(fc.constantFrom("a", "b"), { freq: 6 }),
  v: fc.option(fc.integer({ min: 0, max: 9 })),
});
const sourceRows = fc.oneof(
  fc.array(row, { maxLength: 12 }),
  fc.uniqueArray(row, { maxLength: 12, selector: ({ k }) => k }),
);

interface Merge {
  readonly on: readonly (keyof Row)[];
  readonly update: null | "all" | "newer" | "positive";
  readonly insert: boolean;
  readonly remove: null | "all" | "even";
  readonly names: readonly (keyof Row)[];
}

const merges: fc.Arbitrary<Merge> = fc
  .record({
    on: fc.constantFrom<readonly (keyof Row)[]>(["k"], ["k"], ["k", "s"], ["s", "k"]),
    update: fc.constantFrom<Merge["update"]>(null, "all", "all", "newer", "positive"),
    insert: fc.boolean(),
    remove: fc.constantFrom<Merge["remove"]>(null, null, "all", "even"),
    names: fc.constantFrom<readonly (keyof Row)[]>(columns, columns, ["v", "k", "s"], ["k", "s"]),
  })
  .filter(({ update, insert, remove, names }) => {
    if (update === null && !insert && remove === null) return false;
    return update !== "newer" || names.includes("v");
  });

const FILTERS = { newer: "source.v > target.v", positive: "target.v > 3", even: "v % 2 = 0" };

const requestOf = ({ on, update, insert, remove }: Merge): MergeRequest => ({
  on,
  update: update === null ? null : { filter: update === "all" ? undefined : FILTERS[update] },
  insert,
  remove: remove === null ? null : { filter: remove === "all" ? undefined : FILTERS[remove] },
  parameters: {},
  useIndexes: true,
  logs: "none",
});

interface Outcome {
  readonly rows: readonly Row[];
  /** Updated, inserted, deleted. */
  readonly counts: readonly number[];
}

/** Returns null if the merge is refused. */
function modelOf(target: readonly Row[], source: readonly Row[], merge: Merge): Outcome | null {
  const same = (a: Row, b: Row) => merge.on.every((name) => a[name] !== null && a[name] === b[name]);
  const isUpdated = (old: Row, sourceRow: Row) => {
    if (merge.update === "newer") return sourceRow.v !== null && old.v !== null && sourceRow.v > old.v;
    return merge.update === "all" || (merge.update === "positive" && old.v !== null && old.v > 3);
  };
  const rows: Row[] = [];
  let [updated, inserted, deleted] = [0, 0, 0];
  for (const old of target) {
    const matches = source.filter((each) => same(old, each));
    const replacing = matches.filter((each) => isUpdated(old, each));
    if (replacing.length > 1) return null;
    const isRemoved =
      matches.length === 0 &&
      (merge.remove === "all" || (merge.remove === "even" && old.v !== null && old.v % 2 === 0));
    if (isRemoved) deleted++;
    else if (replacing.length === 0) rows.push(old);
    else {
      updated++;
      rows.push({ ...old, ...Object.fromEntries(merge.names.map((name) => [name, replacing[0][name]])) });
    }
  }
  for (const sourceRow of source) {
    if (!merge.insert || target.some((old) => same(old, sourceRow))) continue;
    inserted++;
    const absent = { k: null, s: null, v: null };
    rows.push({ ...absent, ...Object.fromEntries(merge.names.map((name) => [name, sourceRow[name]])) });
  }
  return { rows, counts: [updated, inserted, deleted] };
}

const sorted = (rows: readonly Row[]): string[] =>
  rows.map(({ k, s, v }) => JSON.stringify([k, s, v])).sort();

const root = sharedDirectory();
const namespace = sharedNamespace({ root });
let context: OperationContext;
beforeAll(() => {
  context = openContext({ root, durability: "none" });
});
afterAll(() => context.close());

let tableCount = 0;

async function merged(
  target: readonly (readonly Row[])[],
  source: readonly Row[],
  merge: Merge,
  maxKeyBytes: number | undefined,
): Promise<Outcome | null> {
  const name = `t${tableCount++}`;
  const handle = namespace.table(name);
  await namespace.createTable({ id: [name] }, tableOf(target[0]));
  for (const rows of target.slice(1)) await handle.insert(tableOf(rows));
  const table = tableAt(context, `${root}/${name}.lance`);
  const latest = await findLatestVersion(table);
  if (latest === null) throw new Error("no version");
  const before = sorted((await handle.scan().toArrow()).toArray() as Row[]);
  try {
    const done = await mergeInsert({ table, latest }, tableOf(source, merge.names, 2), requestOf(merge), {
      maxKeyBytes,
    });
    expect(await handle.version()).toBe(done.version);
    const rows = (await handle.scan().toArrow()).toArray() as Row[];
    return { rows, counts: [done.updatedRows, done.insertedRows, done.deletedRows] };
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    expect(await handle.version()).toBe(latest.version);
    expect(sorted((await handle.scan().toArrow()).toArray() as Row[])).toEqual(before);
    return null;
  }
}

describe("a merge", () => {
  it.each([
    ["one pass", undefined],
    ["many passes", 90],
  ])(
    "does what a model does, in %s over the keys",
    async (_, maxKeyBytes) => {
      const fragments = fc.array(fc.array(row, { minLength: 1, maxLength: 10 }), {
        minLength: 1,
        maxLength: 3,
      });
      await fc.assert(
        fc.asyncProperty(fragments, sourceRows, merges, async (target, source, merge) => {
          const expected = modelOf(target.flat(), source, merge);
          const actual = await merged(target, source, merge, maxKeyBytes);
          expect(actual?.counts).toEqual(expected?.counts);
          expect(actual && sorted(actual.rows)).toEqual(expected && sorted(expected.rows));
        }),
        { numRuns: runsOf("MERGE_RUNS", 150) },
      );
    },
    120_000,
  );

  it("leaves no file if its source fails or it is aborted", async () => {
    const name = `t${tableCount++}`;
    await namespace.createTable({ id: [name] }, tableOf([{ k: 1, s: "a", v: 1 }]));
    const upsert = { id: [name], on: "k", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true };
    const directory = `${root}/${name}.lance`;
    const before = (await readdir(directory, { recursive: true })).filter((name) => !isInLock(name)).sort();
    const controller = new AbortController();
    const source = async function* (end: () => void) {
      yield tableOf([{ k: 2, s: "b", v: 2 }]).batches[0];
      end();
      yield tableOf([{ k: 3, s: "b", v: 2 }]).batches[0];
    };
    const failing = source(() => {
      throw new Error("lost");
    });
    await expect(namespace.mergeInsertIntoTable(upsert, failing)).rejects.toThrow(/lost/);
    const aborted = namespace.mergeInsertIntoTable(
      { ...upsert, signal: controller.signal },
      source(() => controller.abort()),
    );
    await expect(aborted).rejects.toMatchObject({ type: "ServiceUnavailable" });
    const slow = async function* () {
      yield* source(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 5_000));
    };
    const late = namespace.mergeInsertIntoTable({ ...upsert, timeout: "50ms" }, slow());
    await expect(late).rejects.toThrow(/timeout: the merge took longer/);
    expect((await readdir(directory, { recursive: true })).filter((name) => !isInLock(name)).sort()).toEqual(
      before,
    );
    expect(await namespace.table(name).version()).toBe(1);
  });

  it("leaves no file that its version does not need", async () => {
    const name = `t${tableCount++}`;
    await namespace.createTable(
      { id: [name] },
      tableOf([
        { k: 1, s: "a", v: 1 },
        { k: 1, s: "b", v: 2 },
      ]),
    );
    const source = tableOf([
      { k: 1, s: "c", v: 3 },
      { k: 2, s: "c", v: 3 },
    ]);
    const table = namespace.table(name);
    const data = () => readdir(`${root}/${name}.lance/data`);
    expect(await table.mergeInsert("k", source, { whenNotMatchedInsertAll: true })).toMatchObject({
      numInsertedRows: 1,
    });
    expect(await data()).toHaveLength(2);
    expect(await table.mergeInsert("k", source, { whenNotMatchedInsertAll: true })).toMatchObject({
      numInsertedRows: 0,
    });
    expect(await data()).toHaveLength(2);
    // One source row replaces both rows of the table: an original file and a copy.
    expect(
      await table.mergeInsert("k", source, { whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true }),
    ).toMatchObject({
      numUpdatedRows: 3,
    });
    expect(await data()).toHaveLength(4);
    expect(sorted((await table.scan().toArrow()).toArray() as Row[])).toEqual(
      sorted([
        { k: 1, s: "c", v: 3 },
        { k: 1, s: "c", v: 3 },
        { k: 2, s: "c", v: 3 },
      ]),
    );
  });
});
