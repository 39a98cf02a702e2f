/** Text indexes and searches through LanceDB's remote client, `connect("db://…")`. */

import {
  BooleanQuery,
  BoostQuery,
  type Connection,
  connect,
  Index,
  MatchQuery,
  MultiMatchQuery,
  Occur,
  Operator,
  PhraseQuery,
  type Table,
} from "tiltyard-reference/session.js";
import { afterAll, beforeAll, expect, it, sharedNamespace } from "../../support/fixtures.js";
import { type RestServer, startRestServer } from "../../support/restServer.js";

const KEY = "secret";
const namespace = sharedNamespace();
let server: RestServer;
let connection: Connection;
let table: Table;

beforeAll(async () => {
  server = await startRestServer(namespace, { auth: { apiKeys: [KEY] } });
  connection = await connect("db://tests", { apiKey: KEY, hostOverride: server.url });
  table = await connection.createTable("t", [
    { id: 1, title: "Dogs at home", body: "The puppy learns to sit. The puppy sleeps." },
    { id: 2, title: "Cats", body: "A cat trains nobody; puppies run after it." },
    { id: 3, title: "Training", body: "How to train your puppy to run" },
    { id: 4, title: "Cars", body: "They run on the road." },
  ]);
  await table.createIndex("body", {
    config: Index.fts({ withPosition: true, customStopWords: ["the", "to"] }),
  });
  await table.createIndex("title", { config: Index.fts() });
  await table.waitForIndex(["body_idx", "title_idx"], 20);
});
afterAll(async () => {
  connection.close();
  await server[Symbol.asyncDispose]();
});

const matchingIds = async (query: unknown, filter?: string): Promise<number[]> => {
  let asked = table.query().fullTextSearch(query as never);
  if (filter !== undefined) asked = asked.where(filter);
  const rows = await asked.select(["id", "_score"]).limit(10).toArray();
  for (const [row, { _score }] of rows.entries()) {
    if (row > 0) expect(_score).toBeLessThanOrEqual(rows[row - 1]._score);
  }
  return rows.map(({ id }) => Number(id));
};

it("the client searches words in one column and in all indexed columns", async () => {
  expect((await matchingIds("puppy")).sort()).toEqual([1, 2, 3]);
  expect((await matchingIds("trains")).sort()).toEqual([2, 3]);
  expect(await matchingIds("puppy", "id = 3")).toEqual([3]);
});

it.each([
  ["match", new MatchQuery("puppy run", "body", { operator: Operator.And }), [2, 3]],
  ["fuzzy", new MatchQuery("pupy", "body", { fuzziness: 2 }), [1, 2, 3]],
  ["phrase", new PhraseQuery("puppy sleeps", "body"), [1]],
  ["phrase with other words", new PhraseQuery("puppy run", "body", { slop: 1 }), [2, 3]],
  [
    "boost",
    new BoostQuery(new MatchQuery("puppy", "body"), new MatchQuery("cat", "body"), { negativeBoost: 0.5 }),
    [1, 2, 3],
  ],
  ["several columns", new MultiMatchQuery("training", ["title", "body"]), [2, 3]],
  [
    "boolean",
    new BooleanQuery([
      [Occur.Must, new MatchQuery("run", "body")],
      [Occur.MustNot, new MatchQuery("puppy", "body")],
    ]),
    [4],
  ],
])("%s", async (_name, query, expected) => {
  expect((await matchingIds(query)).sort()).toEqual(expected);
});
