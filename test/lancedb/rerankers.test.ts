/** Searches by vector and text: reciprocal rank fusion as in LanceDB, and rerankers of programs. */

import fc from "fast-check";
import * as reference from "tiltyard-reference/session.js";
import { beforeAll, describe, expect, it } from "vitest";
import type { Table } from "../../src/lancedb/abstractTable.js";
import { makeArrowTable } from "../../src/lancedb/arrow.js";
import { connect } from "../../src/lancedb/connect.js";
import type { Reranker } from "../../src/lancedb/rerankers/index.js";
import { RRFReranker } from "../../src/lancedb/rerankers/rrf.js";
import { arrow18 } from "../support/arrow18.js";
import { openBothEngines } from "../support/bothEngines.js";
import { runsOf } from "../support/effort.js";

const { root, connection } = await openBothEngines();
// biome-ignore lint/suspicious/noExplicitAny: objects of two libraries
type Any = any;
// The reference takes batches of the CommonJS build only.
const arrow: Any = arrow18;
const VECTOR = [3.125, 4.5];
let here: Table;
let there: reference.Table;

beforeAll(async () => {
  const rows = Array.from({ length: 50 }, (_, id) => ({
    id,
    text: [...Array(1 + (id % 3)).fill("tree"), ...Array(4 * id).fill("x")].join(" "),
    vector: [(id * 7) % 19, (id * 3) % 11],
  }));
  there = await connection.createTable("rows", rows);
  await there.createIndex("text", { config: reference.Index.fts() });
  here = await (await connect(root)).openTable("rows");
});

const jsonOf = (rows: unknown): Any[] =>
  JSON.parse(JSON.stringify(rows, (_, value) => (typeof value === "bigint" ? Number(value) : value)));

/** Rows by their relevance; LanceDB returns rows of equal relevance in any order. */
const inOrder = (rows: Any[]): Any[] =>
  rows
    .map((row) => ({
      ...row,
      _score: row._score.toPrecision(4),
      _relevance_score: row._relevance_score.toPrecision(4),
    }))
    .sort((first, second) => second._relevance_score - first._relevance_score || first.id - second.id);

interface Ranked {
  readonly ids: readonly number[];
}
const batchOf = (library: Any, name: string, { ids }: Ranked): Any => {
  const { Field, Float32, Int32, RecordBatch, Schema, Struct, Uint64, makeData, vectorFromArray } = library;
  const fields = [
    new Field("id", new Int32(), true),
    new Field(name, new Float32(), true),
    new Field("_rowid", new Uint64(), true),
  ];
  const children = [
    vectorFromArray(ids, new Int32()),
    vectorFromArray(
      ids.map((_, rank) => rank / 8),
      new Float32(),
    ),
    vectorFromArray(ids.map(BigInt), new Uint64()),
  ].map(({ data: [data] }) => data);
  const schema = new Schema(fields);
  return new RecordBatch(
    schema,
    makeData({ type: new Struct(fields), length: ids.length, nullCount: 0, children }),
  );
};

describe("reciprocal rank fusion", () => {
  it("gives the rows, scores and columns of LanceDB", async () => {
    const ranked = fc.uniqueArray(fc.nat(20), { minLength: 1, maxLength: 12 }).map((ids) => ({ ids }));
    await fc.assert(
      fc.asyncProperty(ranked, ranked, fc.constantFrom(undefined, 1, 7.5, 60), async (near, matching, k) => {
        const [ours, theirs] = [await RRFReranker.create(k), await reference.rerankers.RRFReranker.create(k)];
        const args = [
          "query",
          batchOf(arrow, "_distance", near),
          batchOf(arrow, "_score", matching),
        ] as const;
        const [one, other] = [await ours.rerankHybrid(...args), await theirs.rerankHybrid(...args)];
        expect(one.schema.fields.map(({ name, type }) => `${name}: ${type}`)).toEqual(
          other.schema.fields.map(({ name, type }) => `${name}: ${type}`),
        );
        const rows = jsonOf(one.toArray());
        expect(inOrder(rows)).toEqual(inOrder(jsonOf(other.toArray())));
        const relevances = rows.map(({ _relevance_score }) => _relevance_score);
        expect(relevances).toEqual([...relevances].sort((first, second) => second - first));
      }),
      { numRuns: runsOf("RANK_FUSIONS", 100) },
    );
  });

  it("needs row ids, and columns of the same types", async () => {
    const rrf = await RRFReranker.create();
    const [near, other] = [batchOf(arrow, "_distance", { ids: [1] }), makeArrowTable([{ id: 1 }]).batches[0]];
    await expect(rrf.rerankHybrid("", near, other)).rejects.toThrow(
      /expected column _rowid not found in fts_results/,
    );
    await expect(rrf.rerankHybrid("", {} as Any, near)).rejects.toThrow(
      "vector_results: must be a RecordBatch",
    );
    const text = new arrow.Table([near]).select(["id", "_rowid"]).batches[0];
    await expect(rrf.rerankHybrid("", near, text as Any)).rejects.toThrow(/3 columns/);
  });
});

describe("searches by vector and text", () => {
  it("give the rows, scores and columns of LanceDB", async () => {
    const calls = fc.array(
      fc.oneof(
        fc.tuple(fc.constant("limit"), fc.constantFrom(1, 4, 25)),
        fc.tuple(fc.constant("offset"), fc.constantFrom(0, 3)),
        fc.tuple(fc.constant("where"), fc.constantFrom("id > 12", "id % 2 = 0", "id < 0")),
        fc.tuple(
          fc.constant("select"),
          fc.constantFrom<unknown>(["id"], ["_rowid", "id"], { id: "id", next: "id + 1" }),
        ),
        fc.tuple(fc.constant("withRowId"), fc.constant(undefined)),
        fc.tuple(fc.constant("postfilter"), fc.constant(undefined)),
        fc.tuple(fc.constant("orderBy"), fc.constant({ columnName: "id" })),
        fc.tuple(fc.constant("distanceType"), fc.constantFrom("l2", "dot")),
      ),
      { maxLength: 5 },
    );
    const answer = async (table: Any, list: readonly (readonly [string, unknown])[]) => {
      const query = table.query().nearestTo(VECTOR).fullTextSearch("tree");
      const result = await list.reduce((step: Any, [method, value]) => step[method](value), query).toArrow();
      const fields = result.schema.fields.map(({ name, type }: Any) => `${name}: ${type}`);
      return { fields: result.numRows === 0 ? [] : fields, rows: inOrder(jsonOf(result.toArray())) };
    };
    await fc.assert(
      fc.asyncProperty(calls, async (list) => {
        const [one, other] = [await answer(here, list), await answer(there, list)];
        // Which of equally relevant rows are the last within the limit is LanceDB's choice.
        const last = Math.min(...other.rows.map(({ _relevance_score }) => Number(_relevance_score)));
        const sure = ({ rows }: typeof one) =>
          rows.filter(({ _relevance_score }) => Number(_relevance_score) > last);
        expect([one.fields, one.rows.length, sure(one)]).toEqual([
          other.fields,
          other.rows.length,
          sure(other),
        ]);
      }),
      { numRuns: runsOf("HYBRID_SEARCHES", 150) },
    );
  });

  it("are the same with the reranker that is the default", async () => {
    const query = () => here.query().nearestTo(VECTOR).fullTextSearch("tree").select(["id"]);
    const plain = jsonOf(await query().toArray());
    expect(plain).toHaveLength(10);
    expect(
      jsonOf(
        await query()
          .rerank(await RRFReranker.create())
          .toArray(),
      ),
    ).toEqual(plain);
  });
});

describe("a reranker", () => {
  const search = (reranker: Reranker["rerankHybrid"]) =>
    here
      .query()
      .nearestTo(VECTOR)
      .fullTextSearch("tree")
      .select(["id"])
      .limit(3)
      .rerank({ rerankHybrid: reranker });
  const scored = (ids: readonly number[]) =>
    makeArrowTable(ids.map((id) => ({ id, _relevance_score: 1 / (1 + id) }))).batches[0];

  it("gets the words, and the rows of both searches with numbers from 0 to 1", async () => {
    const query = search(async (words, near, matching) => {
      expect(words).toBe("tree");
      expect([near, matching].map(({ schema }) => schema.names)).toEqual([
        ["id", "_distance", "_rowid"],
        ["id", "_score", "_rowid"],
      ]);
      const numbers = (batch: Any, name: string): number[] => batch.toArray().map((row: Any) => row[name]);
      expect([numbers(near, "_distance")[0], numbers(near, "_distance")[2]]).toEqual([0, 1]);
      expect([numbers(matching, "_score")[0], numbers(matching, "_score")[2]]).toEqual([1, 0]);
      return scored([7]);
    });
    expect(jsonOf(await query.toArray())).toEqual([{ id: 7, _relevance_score: 0.125 }]);
  });

  it("may return a table, batches of another copy of apache-arrow, and more rows than the limit", async () => {
    const table = makeArrowTable([1, 2, 3, 4, 5].map((id) => ({ id, _relevance_score: 1 / id })));
    expect(await search(async () => table as Any).toArray()).toHaveLength(3);
    const foreign = batchOf(arrow, "_relevance_score", { ids: [4, 2] });
    const result = await search(async () => foreign).toArrow();
    expect([result.schema.names, jsonOf(result.toArray()).map(({ id }) => id)]).toEqual([
      ["id", "_relevance_score"],
      [4, 2],
    ]);
    expect(result.batches[0].constructor).toBe(table.batches[0].constructor);
  });

  it("is told the kind of a query that is an object", async () => {
    const kinds: string[] = [];
    const { MatchQuery } = await import("../../src/lancedb/query.js");
    const query = here.query().nearestTo(VECTOR).fullTextSearch(new MatchQuery("tree", "text"));
    const rerankHybrid = async (kind: string) => {
      kinds.push(kind);
      return scored([1]);
    };
    await query.rerank({ rerankHybrid }).toArray();
    expect(kinds).toEqual(["match"]);
  });

  it("that fails, fails the query with its own error", async () => {
    const error = new Error("no model");
    await expect(search(() => Promise.reject(error)).toArray()).rejects.toBe(error);
    await expect(search(async (_, near) => near).toArray()).rejects.toThrow(
      "rerank_hybrid must return a RecordBatch with a column named _relevance_score",
    );
    await expect(search(async () => undefined as Any).toArray()).rejects.toThrow("must be a RecordBatch");
  });

  it.each([undefined, null, {}, { rerankHybrid: 1 }, "rrf"])("cannot be %s", (reranker) => {
    expect(() =>
      here
        .query()
        .nearestTo(VECTOR)
        .rerank(reranker as Any),
    ).toThrow("rerank: must be a reranker, which has the method rerankHybrid");
  });

  it("that returns no real batch is refused", async () => {
    const type = { typeId: 3, precision: 1 };
    const schema = { fields: [{ name: "_relevance_score", type, nullable: true }] };
    const child = { length: 1e9, offset: 0, nullCount: 0, values: new Float32Array(3) };
    const lies: Any[] = [
      { schema, data: { length: 1e9, children: [child] } },
      { schema, data: { length: 3, children: [] } },
      { schema: { fields: [null] }, batches: [1] },
      { schema, batches: [null] },
    ];
    for (const lie of lies) await expect(search(async () => lie).toArray()).rejects.toThrow();
  });

  it("is not asked without a search of words", async () => {
    const query = here
      .query()
      .nearestTo(VECTOR)
      .limit(2)
      .rerank({ rerankHybrid: () => Promise.reject(new Error("asked")) });
    expect(await query.toArray()).toHaveLength(2);
  });
});
