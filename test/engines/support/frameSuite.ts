/** Tests of every engine that works on frames: it reads our tables, and we read those that it writes. */

import { join } from "node:path";
import { Table as ArrowTable, type Schema, type Table, Vector } from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { float64s, int64s, utf8s } from "../../support/arrowColumns.js";
import { compareTables } from "../../support/compareTables.js";
import { makeColumn, TYPE_NAMES, type TypeName } from "../../support/generators.js";
import { closeAll, FILE_VERSIONS, type FileVersion, namespacesOf } from "../../support/interop.js";
import { makeTempDir } from "../../support/tempDir.js";
import { Python } from "./python.js";
import { sortedBy } from "./rows.js";
import { makeSampleTable, sampleRows } from "./sampleTable.js";

/** Filters in the SQL that every engine takes. */
const FILTERS = [
  "id BETWEEN 30 AND 300 AND kind = 'kind 2'",
  "id = 77",
  "n > 40.5 OR s IS NULL",
  "small < 0 AND flag",
  "kind IN ('kind 1', 'kind 3') AND NOT (id > 200)",
];

const TYPE_ROWS = 120;

export interface FrameEngine {
  readonly name: string;
  readonly environment: string;
  /** Module of `python/`. */
  readonly module: string;
  /** Messages of the engine for types that it does not have. */
  readonly refused: Readonly<Partial<Record<TypeName, RegExp>>>;
  /** Types whose values the engine makes coarser, and how. */
  readonly altered?: Readonly<Partial<Record<TypeName, RegExp>>>;
}

/** An engine and our namespaces of one directory, between `beforeAll` and `afterAll`. */
export interface FramePair {
  readonly root: string;
  readonly namespaces: Record<FileVersion, DirectoryNamespace>;
  readonly namespace: DirectoryNamespace;
  readonly python: Python;
}

export const pathOf = (pair: FramePair, name: string): string => join(pair.root, `${name}.lance`);

/** The types that an engine's answer is cast to. */
export const typesOf = (schema: Schema, names?: readonly string[]): Table => {
  const empty = new ArrowTable(schema);
  return names === undefined ? empty : empty.select([...names]);
};

function openFrames(engine: FrameEngine): FramePair {
  const pair = {} as { -readonly [Member in keyof FramePair]: FramePair[Member] };
  beforeAll(async () => {
    pair.root = await makeTempDir();
    pair.namespaces = namespacesOf(pair.root);
    pair.namespace = pair.namespaces["2.2"];
    pair.python = await Python.start(engine.environment, engine.module);
  });
  afterAll(async () => {
    await pair.python?.[Symbol.asyncDispose]();
    await closeAll(pair.namespaces);
  });
  return pair;
}

const LABELS = new ArrowTable({
  kind: utf8s(["kind 1", "kind 3", "kind 9"]),
  label: utf8s(["one", "three", "nine"]),
});

/** Counts by kind, computed from all rows. */
function groupsOf(rows: Table): Table {
  const groups = new Map<string, { rows: number; ids: bigint; most: number | null; texts: number }>();
  for (const { kind, id, n, s } of rows) {
    const group = groups.get(kind) ?? { rows: 0, ids: 0n, most: null, texts: 0 };
    group.rows++;
    group.ids += id;
    if (n !== null) group.most = Math.max(group.most ?? n, n);
    if (s !== null) group.texts++;
    groups.set(kind, group);
  }
  const kinds = [...groups.keys()].sort();
  const column = <Value>(valueAt: (group: NonNullable<ReturnType<typeof groups.get>>) => Value) =>
    kinds.map((kind) => valueAt(groups.get(kind) as never));
  return new ArrowTable({
    kind: utf8s(kinds),
    rows: int64s(column((group) => BigInt(group.rows))),
    ids: int64s(column((group) => group.ids)),
    most: float64s(column((group) => group.most)),
    texts: int64s(column((group) => BigInt(group.texts))),
  });
}

/** Both have the same rows, in whatever order. */
export const expectSame = (expected: Table, actual: Table) =>
  compareTables(sortedBy("id", expected), sortedBy("id", actual), { metadata: false, nullability: false });

/** Returns rows with an id and a value of each type. Times lie within a few decades, as all engines need. */
export function valuesOf(types: readonly TypeName[]): Table {
  const valueAt = (type: TypeName): Vector => {
    const values = makeColumn({ type, shape: "random", nulls: "some" }, TYPE_ROWS, 7);
    if (/^(timestamp|duration)/.test(type)) {
      const units = values.values as BigInt64Array;
      for (const [row, unit] of units.entries()) units[row] = unit >> 32n;
    }
    return new Vector([values]);
  };
  const ids = Array.from({ length: TYPE_ROWS }, (_, row) => BigInt(row));
  return new ArrowTable({
    id: int64s(ids),
    ...Object.fromEntries(types.map((type) => [type, valueAt(type)])),
  });
}

/** @param more tests of what only this engine does */
export function describeFrames(engine: FrameEngine, more: (pair: FramePair) => void = () => {}): void {
  describe(engine.name, () => {
    const pair = openFrames(engine);
    let tables = 0;
    const call = <Result>(name: string, table: string, ...args: readonly unknown[]) =>
      pair.python.call<Result>(name, pathOf(pair, table), ...args);

    describe.each(FILE_VERSIONS)("data files %s", (version) => {
      const name = `sample${version.replace(".", "")}`;
      let rows: Table;
      beforeAll(async () => {
        await makeSampleTable(pair.namespaces[version], name, { nullStructs: version !== "2.0" });
        rows = await pair.namespace.table([name]).scan().toArrow();
      });

      it("reads our table of several fragments with deletions and updates", async () => {
        expectSame(rows, await call<Table>("rows", name, typesOf(rows.schema)));
      });

      it("filters and projects as we do, with our indexes", async () => {
        const columns = ["id", "s", "tags", "vector"];
        for (const where of FILTERS) {
          const expected = await pair.namespace.table([name]).scan({ filter: where, columns }).toArrow();
          expect(expected.numRows).toBeGreaterThan(0);
          expectSame(expected, await call<Table>("rows", name, typesOf(rows.schema, columns), where));
        }
      });

      it("aggregates groups", async () => {
        const where = FILTERS[2];
        const expected = groupsOf(await pair.namespace.table([name]).scan({ filter: where }).toArrow());
        const actual = await call<Table>("groups", name, typesOf(expected.schema), where);
        compareTables(expected, actual, { metadata: false, nullability: false });
      });

      it("joins two tables", async () => {
        const labels = `labels${name}`;
        await pair.namespaces[version].createTable({ id: [labels] }, LABELS);
        const labelOf = new Map(LABELS.toArray().map(({ kind, label }) => [kind, label]));
        const matching = rows.toArray().filter(({ kind }) => labelOf.has(kind));
        const expected = new ArrowTable({
          id: int64s(matching.map(({ id }) => id)),
          kind: utf8s(matching.map(({ kind }) => kind)),
          label: utf8s(matching.map(({ kind }) => labelOf.get(kind))),
        });
        const actual = await call<Table>("joined", name, pathOf(pair, labels), typesOf(expected.schema));
        expectSame(expected, actual);
      });

      it("reads every type that it has", async () => {
        const faults = { ...engine.refused, ...engine.altered };
        const held = TYPE_NAMES.filter((type) => !(type in faults));
        const readsBack = async (types: readonly TypeName[]) => {
          const table = `types${tables++}`;
          const values = valuesOf(types);
          await pair.namespaces[version].createTable({ id: [table] }, values);
          expectSame(values, await call<Table>("rows", table, typesOf(values.schema)));
        };
        await readsBack(held);
        for (const [type, fault] of Object.entries(faults)) {
          await expect(readsBack([type as TypeName]), type).rejects.toThrow(fault);
        }
      });
    });

    it("writes a table that we read, and appends to it", async () => {
      const name = "written";
      await call("write", name, sampleRows(0, 90), "create");
      await call("write", name, sampleRows(90, 60), "append");
      const expected = sampleRows(0, 90).concat(sampleRows(90, 60));
      const rows = await pair.namespace.table([name]).scan().toArrow();
      expectSame(expected, await call<Table>("rows", name, typesOf(expected.schema)));
      expectSame(await pair.python.call<Table>("conformed", rows, typesOf(expected.schema)), expected);
      expect(await pair.namespace.table([name]).countRows("id >= 90")).toBe(60);
    });

    more(pair);
  });
}
