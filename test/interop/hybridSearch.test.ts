import { InvalidInputError } from "tiltyard";
import { connect, rerankers, type Table } from "tiltyard-reference/session.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedDirectory, sharedNamespace } from "../support/fixtures.js";

type VectorQuery = ReturnType<ReturnType<Table["query"]>["nearestTo"]>;

const WORDS = ["red", "green", "blue", "apple", "pear", "sky", "night", "house", "river", "stone"];
const ROWS = 300;

/** Pseudo-random numbers, equal in every run. */
const spread = (row: number, column: number): number =>
  (Math.imul(row * 31 + column + 1, 2_654_435_761) >>> 0) / 2 ** 32;

/** Texts of different lengths, so that few scores are equal. */
const rows = Array.from({ length: ROWS }, (_, id) => ({
  id,
  body: Array.from({ length: 3 + id }, (_, word) => WORDS[Math.floor(spread(id, word) * WORDS.length)]).join(
    " ",
  ),
  vector: Array.from({ length: 4 }, (_, column) => spread(id, 100 + column)),
}));

const unable = (): number => {
  throw new Error("no model");
};

const root = sharedDirectory();
const namespace = sharedNamespace({ root });
let theirs: Table;
let close: () => void;
const id = ["t"];
beforeAll(async () => {
  await namespace.createTable({ id }, rows);
  const { jobId } = await namespace.createTableIndex({ id, column: "body", indexType: "FTS" });
  await namespace.waitForJob({ jobId });
  const connection = await connect(root);
  close = () => connection.close();
  theirs = await connection.openTable("t");
});
afterAll(() => close());

interface Found {
  readonly id: number;
  readonly _distance: number | null;
  readonly _score: number | null;
  readonly _relevance_score: number;
}

const search = async (options: object): Promise<Found[]> =>
  (await namespace.table<Found>("t").search(options).toArray()) as Found[];

describe("a search by vector and text", () => {
  const queries = WORDS.flatMap((word, index) => [
    { text: word, vector: rows[index].vector, limit: 5 },
    { text: `${word} ${WORDS[(index + 3) % WORDS.length]}`, vector: rows[index * 7].vector, limit: 12 },
  ]);

  it.each(queries)("finds what the reference finds: $text, $limit", async ({ text, vector, limit }) => {
    const reranker = await rerankers.RRFReranker.create();
    const filter = "id % 3 = 1";
    const searches = [
      { their: (query: VectorQuery) => query, ours: {} },
      { their: (query: VectorQuery) => query.where(filter), ours: { filter } },
      { their: (query: VectorQuery) => query.where(filter).postfilter(), ours: { filter, prefilter: false } },
    ];
    for (const { their, ours } of searches) {
      const query = their(theirs.query().nearestTo(vector).fullTextSearch(text));
      const wanted = await query.rerank(reranker).limit(limit).toArray();
      const matches = await search({ text, vector, limit, ...ours });
      if ("filter" in ours) expect(matches.filter((row) => row.id % 3 !== 1)).toEqual([]);
      const relevances = (all: readonly { _relevance_score: number }[]) =>
        all.map((row) => row._relevance_score);
      expect(matches).toHaveLength(wanted.length);
      for (const [position, relevance] of relevances(matches).entries()) {
        expect(relevance).toBeCloseTo(relevances(wanted)[position], 6);
      }
    }
  });

  it("tells what either search found", async () => {
    const { vector } = rows[5];
    const matches = await search({ text: "apple", vector, limit: 10, columns: ["id"] });
    const near = await search({ vector, limit: 10, columns: ["id"] });
    const matching = await search({ text: "apple", limit: 10, columns: ["id"] });
    expect(Object.keys(matches[0])).toEqual(["id", "_distance", "_score", "_relevance_score"]);
    for (const row of matches) {
      const vectorRank = near.findIndex((candidate) => candidate.id === row.id);
      const textRank = matching.findIndex((candidate) => candidate.id === row.id);
      expect(row._distance).toBe(vectorRank < 0 ? null : near[vectorRank]._distance);
      expect(row._score).toBe(textRank < 0 ? null : matching[textRank]._score);
      const relevance =
        (vectorRank < 0 ? 0 : 1 / (60 + vectorRank)) + (textRank < 0 ? 0 : 1 / (60 + textRank));
      expect(row._relevance_score).toBeCloseTo(relevance, 7);
    }
  });

  it("goes on where an earlier page ended", async () => {
    const options = { text: "sky", vector: rows[9].vector };
    const all = await search({ ...options, limit: 10, offset: 0 });
    const page = await search({ ...options, limit: 6, offset: 4 });
    expect(page.map((row) => row.id)).toEqual(all.slice(4).map((row) => row.id));
  });

  it("is put in an order of the caller's", async () => {
    const ranks: (number | null)[] = [];
    const matches = await namespace
      .table<Found>("t")
      .query()
      .nearestTo(rows[3].vector)
      .matching("night")
      .rerank(({ vectorRank, textRank }): number => {
        ranks.push(vectorRank, textRank);
        return vectorRank === null ? -1 : -vectorRank - 2;
      })
      .limit(8)
      .toArray();
    expect(ranks.length).toBeGreaterThan(16);
    const relevances = matches.map((row) => row._relevance_score);
    expect(relevances).toEqual([...relevances].sort((a, b) => b - a));
    expect(relevances[0]).toBe(-1);
  });

  it("shows in plans", async () => {
    const plan = await namespace
      .table("t")
      .query()
      .nearestTo(rows[0].vector)
      .matching("red")
      .limit(3)
      .explain();
    expect(plan).toMatch(/HybridSearch: limit=3[\s\S]*NearestRows[\s\S]*TextSearch/);
    expect(plan).toMatch(/^Project: columns=\[id, body, vector, _distance, _score, _relevance_score\]/);
  });

  it.each([
    [true, "before"],
    [false, "after"],
  ])("shows the filter of both searches in plans: before them %s", async (prefilter, told) => {
    const query = namespace
      .table("t")
      .query()
      .nearestTo(rows[0].vector)
      .matching("red", { prefilter })
      .where("id > 7");
    const conditions = (await query.explain()).match(/condition=id > 7, filtered=\w+/g);
    expect(conditions).toEqual(Array(2).fill(`condition=id > 7, filtered=${told}`));
  });

  it("measures rows where it ran", async () => {
    const query = namespace.table("t").query().nearestTo(rows[0].vector).matching("red").limit(3);
    const analyzed = await query.analyze();
    expect(analyzed).toMatch(/Take: .*metrics=\[rows=3,/);
    expect(analyzed).toMatch(/HybridSearch: .*metrics=\[rows=3,/);
  });

  it.each<[object, RegExp]>([
    [{ text: "red", vector: [rows[0].vector, rows[1].vector] }, /one vector goes with fullTextQuery, not 2/],
    [{ text: "red", vector: rows[0].vector, limit: 70_000 }, /at most 65536 rows/],
    [{ text: "red", vector: rows[0].vector, rerank: "rrf" }, /rerank: must be a function, not "rrf"/],
    [{ text: "red", rerank: () => 1 }, /rerank: goes with a search by vector and text at once/],
    [{ text: "red", vector: rows[0].vector, rerank: () => Number.NaN }, /rerank: must return a number/],
    [
      { text: "red", vector: rows[0].vector, rerank: async () => 1 },
      /rerank: must return a .* not a promise/,
    ],
    [{ text: "red", vector: rows[0].vector, rerank: unable }, /rerank: failed: no model/],
  ])("is refused: %#", async (options, message) => {
    const refused = await search(options).catch((error) => error);
    expect(refused).toBeInstanceOf(InvalidInputError);
    expect(refused.message).toMatch(message);
  });
});
