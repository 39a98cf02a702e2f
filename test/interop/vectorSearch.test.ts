/** Searches by vector: rows, distances, columns and order equal the reference's. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Table as ArrowTable, tableToIPC, vectorFromArray } from "apache-arrow";
import fc from "fast-check";
import { createRestHandler, toNodeListener } from "tiltyard/rest";
import { type Connection, connect, type Table } from "tiltyard-reference/session.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { int32s, listOf } from "../support/arrowColumns.js";
import { openBothEngines } from "../support/bothEngines.js";
import { reference } from "../support/reference.js";
import {
  randomNumbers,
  randomVector,
  type TestItem,
  testRows,
  vectorTable,
  vectorType,
} from "../support/vectorTables.js";

const DIMENSION = 9;
const ITEMS: readonly TestItem[] = ["float16", "float32", "float64", "uint8"];

let server: Server;
let remote: Connection;
const tables = new Map<string, Table>();
const { root, namespace, connection } = await openBothEngines();
beforeAll(async () => {
  for (const [index, item] of ITEMS.entries()) {
    const rows = (count: number, seed: number, first: number) =>
      tableToIPC(vectorTable(item, DIMENSION, testRows(item, DIMENSION, count, seed, first)), "stream");
    // Each engine writes half of the tables.
    if (index % 2 === 0) {
      await namespace.createTable({ id: [item], stableRowIds: index === 2 }, rows(400, index + 1, 0));
      await namespace.insertIntoTable({ id: [item] }, rows(150, index + 9, 400));
    } else {
      await reference.createTable(root, item, rows(400, index + 1, 0));
      await reference.appendTable(root, item, rows(150, index + 9, 400));
    }
    await namespace.deleteFromTable({ id: [item], predicate: "id % 11 = 4" });
    tables.set(item, await connection.openTable(item));
  }
  const handler = createRestHandler(namespace, { auth: { anonymous: true } });
  server = createServer(toNodeListener(handler));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  remote = await connect("db://tests", { apiKey: "any", hostOverride: `http://127.0.0.1:${port}` });
});
afterAll(async () => {
  remote.close();
  await new Promise((resolve) => server.close(resolve));
});

interface Question {
  readonly vectors: readonly (readonly number[])[];
  readonly k: number;
  readonly offset: number;
  readonly metric?: "l2" | "cosine" | "dot";
  readonly filter?: string;
  readonly isPostfilter: boolean;
  readonly bounds: readonly [number | undefined, number | undefined];
  readonly version?: number;
  readonly columns?: readonly string[];
  readonly withRowId: boolean;
}

type Row = Readonly<Record<string, unknown>>;

interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
}

async function byThem(table: Table, item: TestItem, question: Question): Promise<Answer> {
  const { vectors, k, offset, metric, filter, bounds, columns, withRowId } = question;
  const queryOf = (vector: readonly number[]) => (item === "uint8" ? Uint8Array.from(vector) : [...vector]);
  let query = table.query().nearestTo(queryOf(vectors[0])).limit(k);
  for (const vector of vectors.slice(1)) query = query.addQueryVector(queryOf(vector));
  if (offset > 0) query = query.offset(offset);
  if (metric !== undefined) query = query.distanceType(metric);
  if (filter !== undefined) query = query.where(filter);
  if (question.isPostfilter) query = query.postfilter();
  if (bounds[0] !== undefined || bounds[1] !== undefined) query = query.distanceRange(...bounds);
  if (columns !== undefined) query = query.select([...columns]);
  if (withRowId) query = query.withRowId();
  return answerOf(await query.toArrow());
}

async function byUs(item: TestItem, question: Question): Promise<Answer> {
  const { vectors, k, offset, metric, filter, bounds, columns, withRowId, version } = question;
  const result = await namespace.queryTable({
    ...{ id: [item], version, vector: vectors.length === 1 ? vectors[0] : vectors, k, offset },
    ...{ distanceType: metric, filter, prefilter: !question.isPostfilter, columns, withRowId },
    ...{ lowerBound: bounds[0], upperBound: bounds[1] },
  });
  return answerOf(await result.toArrow());
}

const answerOf = (table: {
  schema: { fields: { name: string; type: unknown }[] };
  toArray(): unknown[];
}): Answer => ({
  columns: table.schema.fields.map(({ name, type }) => `${name}: ${type}`),
  rows: table.toArray().map((row) => ({ ...(row as Row) })),
});

/** Splits the reference's rows of several vectors by vector: their order is random. */
const parts = ({ rows }: Answer): Row[][] => {
  const byQuery = new Map<unknown, Row[]>();
  for (const row of rows) byQuery.set(row.query_index, [...(byQuery.get(row.query_index) ?? []), row]);
  return [...byQuery.entries()].sort(([a], [b]) => Number(a) - Number(b)).map(([, group]) => group);
};

function expectSame(ours: Answer, theirs: Answer): void {
  // Without rows the reference's client omits the columns.
  if (theirs.rows.length > 0) expect(ours.columns).toEqual(theirs.columns);
  expect(ours.rows).toHaveLength(theirs.rows.length);
  const theirParts = parts(theirs);
  for (const [query, ourRows] of parts(ours).entries()) {
    for (const [position, row] of ourRows.entries()) {
      const { _distance: wanted, ...others } = theirParts[query][position] as { _distance: number };
      const distance = row._distance as number;
      expect(Math.abs(distance - wanted)).toBeLessThanOrEqual(1e-5 * Math.max(1, Math.abs(wanted)));
      // Rows of nearly equal distance may change places.
      const isClose = (candidate: Row | undefined) =>
        candidate !== undefined &&
        Math.abs((candidate._distance as number) - wanted) < 1e-5 * Math.max(1, Math.abs(wanted));
      const isTie = isClose(theirParts[query][position - 1]) || isClose(theirParts[query][position + 1]);
      const isLast = position === ourRows.length - 1;
      const text = (value: unknown) =>
        JSON.stringify(value, (_, each) => (typeof each === "bigint" ? `${each}` : each));
      const { _distance: _, ...mine } = row;
      if (!isTie && !isLast) expect(text(mine)).toBe(text(others));
    }
  }
}

const questions = (item: TestItem): fc.Arbitrary<Question> =>
  fc.record({
    vectors: fc.tuple(fc.integer({ min: 1, max: 1e6 }), fc.constantFrom(1, 1, 1, 3)).map(([seed, count]) => {
      const next = randomNumbers(seed);
      return Array.from({ length: count }, () => randomVector(item, DIMENSION, next));
    }),
    k: fc.constantFrom(1, 7, 20, 1000),
    offset: fc.constantFrom(0, 0, 5),
    metric: item === "uint8" ? fc.constant(undefined) : fc.constantFrom("l2", "cosine", "dot", undefined),
    filter: fc.constantFrom(
      undefined,
      "id > 100",
      "`group` = 4",
      "id in (1, 2, 444)",
      "v is not null and id < 50",
      "false",
    ),
    isPostfilter: fc.boolean(),
    bounds: fc.constantFrom<readonly [number | undefined, number | undefined]>(
      ...([
        [undefined, undefined],
        [undefined, undefined],
        [0.7, undefined],
        [undefined, 9.3],
        [1.01, 30.7],
      ] as const),
    ),
    columns: fc.constantFrom(undefined, ["id"], ["_distance", "id", "v"]),
    withRowId: fc.boolean(),
  });

describe.each(ITEMS)("vectors of %s", (item) => {
  it("are found as the reference finds them", async () => {
    await fc.assert(
      fc.asyncProperty(questions(item), async (question) => {
        const table = tables.get(item) as Table;
        expectSame(await byUs(item, question), await byThem(table, item, question));
      }),
      { numRuns: 60 },
    );
  });

  it("are found in old versions", async () => {
    const table = await connection.openTable(item);
    for (const version of [1, 2]) {
      await table.checkout(version);
      const next = randomNumbers(version + 5);
      const question: Question = {
        ...{ vectors: [randomVector(item, DIMENSION, next)], k: 30, offset: 0, isPostfilter: false },
        ...{ bounds: [undefined, undefined], withRowId: true, version },
      };
      expectSame(await byUs(item, question), await byThem(table, item, question));
    }
  });
});

describe("the reference's remote client", () => {
  it.each(["float32", "float64"] as const)("searches %s through the server", async (item) => {
    const table = await remote.openTable(item);
    await fc.assert(
      fc.asyncProperty(questions(item), async (asked) => {
        // The remote client sends one vector, without these columns.
        const question = { ...asked, vectors: asked.vectors.slice(0, 1) };
        expectSame(await byUs(item, question), await byThem(table, item, question));
      }),
      { numRuns: 15 },
    );
    await expect(table.query().nearestTo([1, 2]).toArray()).rejects.toThrow(
      /has 2 dimensions.*column v have 9/,
    );
  });
});

describe("rows of several vectors", () => {
  it.each(["l2", "cosine", "dot"] as const)("are found as the reference finds them by %s", async (metric) => {
    const name = `multi_${metric}`;
    const next = randomNumbers(77);
    const lists = Array.from({ length: 60 }, () =>
      next() < 0.1
        ? null
        : Array.from({ length: Math.floor(next() * 4) }, () => randomVector("float32", 4, next)),
    );
    const type = listOf(vectorType("float32", 4));
    const ids = int32s([...lists.keys()]);
    const data = new ArrowTable({ id: ids, v: vectorFromArray(lists, type) });
    await namespace.createTable({ id: [name] }, tableToIPC(data, "stream"));
    const table = await connection.openTable(name);
    for (const count of [1, 3]) {
      const vectors = Array.from({ length: count }, () => randomVector("float32", 4, next));
      let query = table.query().nearestTo(vectors[0]).distanceType(metric).limit(20);
      for (const vector of vectors.slice(1)) query = query.addQueryVector(vector);
      const ours = await namespace.queryTable({ id: [name], vector: vectors, k: 20, distanceType: metric });
      expectSame(answerOf(await ours.toArrow()), answerOf(await query.toArrow()));
    }
  });
});
