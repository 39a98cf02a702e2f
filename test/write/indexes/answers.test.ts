/** Answers by an index equal those of a scan after any change of the table. */

import { Float64, Int32, Schema, Table, Utf8 } from "apache-arrow";
import fc from "fast-check";
import { InvalidInputError } from "tiltyard";
import { describe, expect, it } from "vitest";
import type { IndexKindName } from "../../../src/indexes/kind.js";
import { columnsOf, fieldOf, int32s, listOf } from "../../support/arrowColumns.js";
import { runsOf } from "../../support/effort.js";
import { sharedDirectory, sharedNamespace } from "../../support/fixtures.js";
import { buildIndex, foundHere } from "../../support/indexedTable.js";

const RUNS = runsOf("INDEX_RUNS", 2);

type Column = "n" | "f" | "s" | "l";
const TYPES = {
  n: new Int32(),
  f: new Float64(),
  s: new Utf8(),
  l: listOf(new Utf8()),
};
const WORDS = ["", "a", "abc", "abcd", "bcd", "\u{1f600}x", "zz top", "Abc"];
const FLOATS = [NaN, -0, 0, Infinity, -Infinity, 1.5, -2];

function valueAt(column: Column, seed: number): unknown {
  if (seed % 5 === 0) return null;
  switch (column) {
    case "n":
      return (seed * 7919) % 23;
    case "f":
      return FLOATS[seed % FLOATS.length];
    case "s":
      return WORDS[seed % WORDS.length];
    default:
      return seed % 6 === 1 ? [] : [WORDS[seed % 7], seed % 4 === 0 ? null : WORDS[seed % 3]];
  }
}

const KINDS: Readonly<Record<IndexKindName, readonly Column[]>> = {
  BTREE: ["n", "f", "s"],
  BITMAP: ["n", "s"],
  LABEL_LIST: ["l"],
  ZONEMAP: ["n", "f", "s"],
  BLOOMFILTER: ["n", "s"],
  NGRAM: ["s"],
  FTS: ["s", "l"],
  FM: ["s"],
};

const FILTERS: Readonly<Record<Column, readonly string[]>> = {
  n: [
    "v = 5",
    "v IN (3, 8, 100)",
    "v > 4 AND v <= 11",
    "v < 3 OR v > 20",
    "v != 5",
    "NOT (v BETWEEN 4 AND 15)",
    "v = 5 OR w = 1",
    "v = 5 AND w = 1",
  ],
  f: ["v = 0", "v = -0.0", "v > 1", "v <= 1.5", "v < 0", "v IN (0, 1.5)", "v != 0", "NOT (v > 0)"],
  s: [
    "v = 'abc'",
    "v IN ('', 'zz top')",
    "v LIKE 'abc%'",
    "v LIKE '%bcd'",
    "contains(v, 'bcd')",
    "NOT contains(v, 'abc')",
    "starts_with(v, 'a')",
    "v >= 'a' AND v < 'b'",
    "v != 'a' AND w = 2",
  ],
  l: [
    "array_has(v, 'abc')",
    "array_has_any(v, ['a', 'bcd'])",
    "array_has_all(v, ['a', 'abc'])",
    "NOT array_has(v, 'abc')",
    "array_has(v, 'a') OR w = 0",
  ],
};
const NULLS = ["v IS NULL", "v IS NOT NULL", "v IS NULL AND w > 0"];

type Step =
  | { readonly do: "append" | "overwrite"; readonly rows: number }
  | { readonly do: "delete"; readonly of: number; readonly rest: number }
  | { readonly do: "update" | "mark" | "backdate"; readonly of: number; readonly rest: number }
  | { readonly do: "optimize" | "build" | "drop" | "branch" | "column" | "rename" | "cast" | "restore" };

const rest = { of: fc.integer({ min: 2, max: 7 }), rest: fc.nat(6) };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("append" as const), rows: fc.integer({ min: 1, max: 60 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("overwrite" as const), rows: fc.integer({ min: 1, max: 60 }) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("delete" as const), ...rest }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom("update" as const, "mark" as const, "backdate" as const),
      ...rest,
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("optimize" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom(...(["build", "drop", "branch", "column", "rename", "cast", "restore"] as const)),
    }),
  },
);

const root = sharedDirectory();
const namespace = sharedNamespace({ root });
let tables = 0;

/** A table whose column `v` usually has an index. */
class Indexed {
  readonly #name: string;
  readonly #kind: IndexKindName;
  readonly #column: Column;
  #nextId = 0;
  /** Counts the checks; each uses half of the filters. */
  #looks = 0;
  #branchOption: { branch?: string } = {};
  /** Latest version of the branch with all columns unchanged. */
  #good = 0;

  constructor(kind: IndexKindName, column: Column) {
    this.#name = `t${tables++}`;
    this.#kind = kind;
    this.#column = column;
  }

  #rows(count: number): Table {
    const ids = Array.from({ length: count }, () => this.#nextId++);
    const type = TYPES[this.#column];
    const schema = new Schema([
      fieldOf("id", new Int32(), false),
      fieldOf("v", type),
      fieldOf("w", new Int32()),
    ]);
    return new Table(schema, {
      id: int32s(ids),
      v: columnsOf(type)(ids.map((id) => valueAt(this.#column, id))),
      w: int32s(ids.map((id) => id % 4)),
    } as never);
  }

  get #where() {
    return { id: [this.#name], ...this.#branchOption };
  }

  async begin(stableRowIds: boolean): Promise<void> {
    await namespace.createTable({ id: [this.#name], stableRowIds }, this.#rows(50));
    await namespace.insertIntoTable(this.#where, this.#rows(30));
    await this.#build();
    this.#good = await namespace.table([this.#name]).version();
  }

  #build(): Promise<void> {
    const zones = this.#kind === "ZONEMAP" || this.#kind === "BLOOMFILTER" ? { rowsPerZone: 8 } : {};
    const request = { ...this.#where, column: "v", indexType: this.#kind, name: "i", replace: true };
    return buildIndex(namespace, { ...request, ...zones });
  }

  async apply(step: Step): Promise<void> {
    const where = this.#where;
    switch (step.do) {
      case "append":
        await namespace.insertIntoTable(where, this.#rows(step.rows));
        return;
      case "overwrite":
        await namespace.insertIntoTable({ ...where, mode: "Overwrite" }, this.#rows(step.rows));
        this.#good = await namespace.table([this.#name], this.#branchOption).version();
        return;
      case "delete":
        await namespace.deleteFromTable({ ...where, predicate: `id % ${step.of} = ${step.rest}` });
        return;
      case "update":
      case "mark":
      case "backdate": {
        const [column, value] =
          step.do === "update" ? ["v", "NULL"] : step.do === "mark" ? ["w", "w + 1"] : ["id", "id + 0"];
        const predicate = `id % ${step.of} = ${step.rest}`;
        await namespace.updateTable({ ...where, updates: [[column, value]], predicate });
        return;
      }
      case "optimize":
        await namespace.optimizeTable(where);
        return;
      case "build":
        await this.#build();
        return;
      case "drop":
        if ((await namespace.listTableIndices(where)).indexes.length > 0) {
          await namespace.dropTableIndex({ ...where, indexName: "i" });
        }
        return;
      case "branch": {
        const name = `b${tables++}`;
        const from = this.#branchOption.branch === undefined ? {} : { fromBranch: this.#branchOption.branch };
        await namespace.createTableBranch({ id: [this.#name], name, ...from });
        this.#branchOption = { branch: name };
        this.#good = await namespace.table([this.#name], this.#branchOption).version();
        return;
      }
      case "column":
        // A new field, with values of other rows.
        await namespace.alterTableAddColumns({ ...where, newColumns: [{ name: "v2", expression: "v" }] });
        await namespace.alterTableDropColumns({ ...where, columns: ["v"] });
        await namespace.alterTableAlterColumns({ ...where, alterations: [{ path: "v2", rename: "v" }] });
        return;
      case "rename":
        await namespace.alterTableAlterColumns({ ...where, alterations: [{ path: "v", rename: "v3" }] });
        await this.#check("v3");
        await namespace.alterTableAlterColumns({ ...where, alterations: [{ path: "v3", rename: "v" }] });
        return;
      case "cast":
        if (this.#column === "n") await this.#cast();
        return;
      case "restore":
        await namespace.restoreTable({ ...where, version: this.#good });
    }
  }

  /** Casts a column there and back; an indexed column refuses. */
  async #cast(): Promise<void> {
    const where = this.#where;
    const to = (dataType: string) =>
      namespace.alterTableAlterColumns({ ...where, alterations: [{ path: "v", dataType }] });
    if ((await namespace.listTableIndices(where)).indexes.length > 0) {
      await expect(to("int64")).rejects.toThrow(InvalidInputError);
      await namespace.dropTableIndex({ ...where, indexName: "i" });
    }
    for (const type of ["int64", "int32"]) {
      await to(type);
      await this.#build();
      await this.check();
      await namespace.dropTableIndex({ ...where, indexName: "i" });
    }
    await this.#build();
  }

  async check(): Promise<void> {
    await this.#check("v");
    const { indexes } = await namespace.listTableIndices(this.#where);
    const rows = await namespace.countTableRows(this.#where);
    for (const { numIndexedRows = 0, numUnindexedRows = 0 } of indexes) {
      expect(numIndexedRows + numUnindexedRows).toBe(rows);
    }
  }

  async #check(column: string): Promise<void> {
    const turn = this.#looks++ % 2;
    for (const [number, filter] of [...FILTERS[this.#column], ...NULLS].entries()) {
      if (number % 2 !== turn) continue;
      const asked = filter.replaceAll(/\bv\b/g, column);
      const table = namespace.table([this.#name], this.#branchOption);
      const find = async (useScalarIndex: boolean) =>
        Array.from(
          (await table.scan({ filter: asked, columns: ["id"], useScalarIndex }).toArrow()).getChild("id") ??
            [],
          Number,
        ).sort((left, right) => left - right);
      const expected = await find(false);
      expect(await find(true), asked).toEqual(expected);
      expect(await foundHere(namespace, this.#name, asked, this.#branchOption), asked).toEqual(expected);
    }
  }
}

const CASES = (Object.keys(KINDS) as IndexKindName[]).flatMap((kind) =>
  KINDS[kind].flatMap((column) => [false, true].map((stable) => ({ kind, column, stable }))),
);

describe("an index", () => {
  it.each(CASES)("$kind on $column finds what a scan finds, stable row ids: $stable", async ({
    kind,
    column,
    stable,
  }) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 9 }), async (steps) => {
        const table = new Indexed(kind, column);
        await table.begin(stable);
        await table.check();
        for (const each of steps) {
          await table.apply(each);
          await table.check();
        }
        await table.check();
      }),
      { numRuns: Math.max(1, Math.round(RUNS / KINDS[kind].length / 2)) },
    );
  });
});
