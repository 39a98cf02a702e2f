/** The columns that searches add: their order, and tables that have columns of their names. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as arrow from "apache-arrow";
import { DirectoryNamespace, InvalidInputError, type QueryTableRequest } from "tiltyard";
import { type Connection, connect, type Table as TheirTable } from "tiltyard-reference/session.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { columnsOf, fieldOf, float64s, int32s, utf8s } from "../../support/arrowColumns.js";
import { openBothEngines } from "../../support/bothEngines.js";
import { type RestServer, startRestServer } from "../../support/restServer.js";

const KEY = "secret";
const COUNT = 12;
const textOf = (row: number): string => (row % 4 === 3 ? "a kitten" : "a puppy plays with a kitten");

const textQuery = (query: string) => ({ stringQuery: { query } });

let server: RestServer;
let remote: Connection;

const { root, namespace, connection: native } = await openBothEngines({});
beforeAll(async () => {
  server = await startRestServer(namespace, { auth: { apiKeys: [KEY] } });
  remote = await connect("db://tests", { apiKey: KEY, hostOverride: server.url });
});
afterAll(async () => {
  remote.close();
  await server[Symbol.asyncDispose]();
});

async function indexText(table: string): Promise<void> {
  const { jobId } = await namespace.createTableIndex({ id: [table], column: "text", indexType: "FTS" });
  await namespace.waitForJob({ jobId });
}

type Query = ReturnType<ReturnType<TheirTable["query"]>["nearestTo"]>;

describe("the order of columns", () => {
  let ofEngine: TheirTable;
  let ofServer: TheirTable;
  beforeAll(async () => {
    const rows = Array.from({ length: COUNT }, (_, id) => ({
      id,
      text: `a kitten${" or more".repeat(id)}`,
      vector: [id, 1],
    }));
    await namespace.createTable({ id: ["ordered"] }, rows);
    await indexText("ordered");
    ofEngine = await native.openTable("ordered");
    ofServer = await remote.openTable("ordered");
  });

  const KINDS: Readonly<
    Record<string, { their: (table: TheirTable) => Query; ours: Partial<QueryTableRequest> }>
  > = {
    scan: { their: (table) => table.query() as unknown as Query, ours: {} },
    filter: {
      their: (table) => table.query().where("id > 3") as unknown as Query,
      ours: { filter: "id > 3" },
    },
    vector: { their: (table) => table.query().nearestTo([0, 1]), ours: { vector: [0, 1] } },
    "filtered vector": {
      their: (table) => table.query().nearestTo([0, 1]).where("id > 0").postfilter().distanceRange(0, 90),
      ours: { vector: [0, 1], filter: "id > 0", prefilter: false, lowerBound: 0, upperBound: 90 },
    },
    "several vectors": {
      their: (table) => table.query().nearestTo([0, 1]).addQueryVector([3, 1]),
      ours: {
        vector: [
          [0, 1],
          [3, 1],
        ],
      },
    },
    text: {
      their: (table) => table.query().fullTextSearch("kitten") as unknown as Query,
      ours: { fullTextQuery: textQuery("kitten") },
    },
    hybrid: {
      their: (table) => table.query().fullTextSearch("kitten").nearestTo([0, 1]),
      ours: { fullTextQuery: textQuery("kitten"), vector: [0, 1] },
    },
  };
  const DISTANCE = ["vector", "filtered vector", "several vectors"];
  /** Aliases are in the order of their texts, in which LanceDB's remote client sends them. */
  const SELECTIONS: readonly { columns: string[] | Record<string, string> | undefined; of?: string[] }[] = [
    { columns: undefined },
    { columns: [] },
    { columns: ["*"] },
    { columns: ["text", "id"] },
    { columns: ["_rowid", "id"] },
    { columns: ["_rowaddr", "_rowid", "id"] },
    { columns: ["_rowoffset", "id"] },
    { columns: { id: "id", next: "id + 1" } },
    { columns: { id: "id", row: "_rowid" } },
    { columns: ["_distance", "id"], of: DISTANCE },
    { columns: ["id", "_distance", "text"], of: DISTANCE },
    { columns: { far: "_distance * 2", id: "id" }, of: DISTANCE },
    { columns: { _distance: "_distance", id: "id" }, of: DISTANCE },
    { columns: ["id", "query_index"], of: ["several vectors"] },
    { columns: { id: "id", query_index: "query_index" }, of: ["several vectors"] },
    { columns: { id: "id", which: "query_index" }, of: ["several vectors"] },
    { columns: ["_score", "id"], of: ["text"] },
    { columns: { id: "id", twice: "_score * 2" }, of: ["text"] },
  ];
  const names = (schema: { fields: readonly { name: string; nullable: boolean }[] }): string[] =>
    schema.fields.map(({ name, nullable }) => `${name}${nullable ? "?" : ""}`);

  it.each(Object.keys(KINDS))("is the reference's: %s", async (kind) => {
    const { their, ours } = KINDS[kind];
    for (const { columns, of } of SELECTIONS) {
      if (of !== undefined && !of.includes(kind)) continue;
      // Without a row there is no batch, and LanceDB returns an empty table.
      if (Array.isArray(columns) && columns.length === 0 && !("vector" in ours || "fullTextQuery" in ours))
        continue;
      for (const withRowId of [false, true]) {
        const asked = (table: TheirTable) => {
          const query = their(table).limit(3);
          if (columns !== undefined) query.select(columns);
          return withRowId ? query.withRowId() : query;
        };
        const label = `${JSON.stringify(columns)}, row ids: ${withRowId}`;
        const wanted = names((await asked(ofEngine).toArrow()).schema);
        // LanceDB drops a row id that only the selection asks for.
        const isDropped = kind === "hybrid" && JSON.stringify(columns)?.includes('"_rowid"') && !withRowId;
        const selection =
          Array.isArray(columns) || columns === undefined ? columns : { columnAliases: columns };
        const result = await namespace.queryTable({
          id: ["ordered"],
          ...ours,
          columns: selection,
          withRowId,
          limit: 3,
        });
        // LanceDB's answers of two searches have no distance.
        const shownNames = names(result.schema).filter((name) => kind !== "hybrid" || name !== "_distance?");
        if (!isDropped) expect(shownNames, label).toEqual(wanted);
        expect(names((await asked(ofServer).toArrow()).schema), `over HTTP, ${label}`).toEqual(wanted);
      }
    }
  });

  it("has row ids before relevance, and highlights last", async () => {
    const search = {
      id: ["ordered"],
      fullTextQuery: textQuery("kitten"),
      highlight: true,
      withRowId: true,
      columns: ["id"],
    };
    const text = await namespace.queryTable(search);
    expect(names(text.schema)).toEqual(["id?", "_score?", "_rowid?", "_highlights"]);
    const hybrid = await namespace.queryTable({ ...search, vector: [0, 1] });
    const wanted = ["id?", "_distance?", "_score?", "_rowid?", "_relevance_score", "_highlights"];
    expect(names(hybrid.schema)).toEqual(wanted);
    const named = await namespace.queryTable({ ...search, columns: ["_highlights", "id"] });
    expect(names(named.schema)).toEqual(["_highlights", "id?", "_score?", "_rowid?"]);
    const [first] = await named.toArray();
    expect(first._highlights).toEqual([{ column: "text", item: null, start: 2, end: 8 }]);
  });

  it("does not change what LanceDB's client finds by vector and text at once", async () => {
    const search = (table: TheirTable) =>
      table.query().nearestTo([0, 1]).fullTextSearch("kitten").limit(5).toArray();
    const ids = (rows: readonly { id: number }[]) => rows.map(({ id }) => id).sort();
    expect(ids(await search(ofServer))).toEqual(ids(await search(ofEngine)));
  });
});

const FOUND = ["_distance", "query_index", "_score", "_relevance_score", "_highlights"];

interface Search {
  readonly request: Omit<QueryTableRequest, "id">;
  readonly adds: readonly string[];
}

const NEAR = { vector: [0, 1], limit: 4 };
const SEARCHES: Readonly<Record<string, Search>> = {
  vector: { request: NEAR, adds: ["_distance"] },
  "vector without index": { request: { ...NEAR, bypassVectorIndex: true }, adds: ["_distance"] },
  "several vectors": {
    request: {
      vector: [
        [0, 1],
        [9, 1],
      ],
      limit: 2,
    },
    adds: ["query_index", "_distance"],
  },
  "vector in a range": { request: { ...NEAR, lowerBound: 4, upperBound: 50 }, adds: ["_distance"] },
  text: { request: { fullTextQuery: textQuery("kitten"), limit: 4 }, adds: ["_score"] },
  "highlighted text": {
    request: { fullTextQuery: textQuery("kitten"), limit: 4, highlight: true },
    adds: ["_score", "_highlights"],
  },
  hybrid: {
    request: { ...NEAR, fullTextQuery: textQuery("kitten"), highlight: true },
    adds: ["_distance", "_score", "_relevance_score", "_highlights"],
  },
  scan: { request: { limit: 4 }, adds: [] },
};

interface SavedColumn {
  readonly values: () => arrow.Vector;
  /** A filter on the column, and the filter that selects the same rows by their ids. */
  readonly filter: (name: string) => readonly [byColumn: string, byId: string];
  /** True if the filter names the column itself, rather than a member. */
  readonly namesColumn: boolean;
}

const ROWS = Array.from({ length: COUNT }, (_, row) => row);
const TYPES: Readonly<Record<string, SavedColumn>> = {
  float64: {
    values: () => float64s(ROWS.map((row) => 100.5 + row)),
    filter: (name) => [`${name} > 105`, "id > 4"],
    namesColumn: true,
  },
  int32: {
    values: () => int32s(ROWS.map((row) => 100 + row)),
    filter: (name) => [`${name.toUpperCase()} > 104`, "id > 4"],
    namesColumn: true,
  },
  text: {
    values: () => utf8s(ROWS.map((row) => `saved ${row}`)),
    filter: (name) => [`${name} IN ('saved 5', 'saved 7')`, "id IN (5, 7)"],
    namesColumn: true,
  },
  struct: {
    values: () =>
      columnsOf(new arrow.Struct([fieldOf("a", new arrow.Int32()), fieldOf("b", new arrow.Utf8())]))(
        ROWS.map((row) => ({ a: row, b: `saved ${row}` })),
      ),
    filter: (name) => [`${name}.a > 4`, "id > 4"],
    namesColumn: false,
  },
};

async function makeTable(table: string, column: Record<string, arrow.Vector>): Promise<void> {
  const vectors = new arrow.FixedSizeList(2, fieldOf("item", new arrow.Float32()));
  const rows = new arrow.Table({
    id: int32s(ROWS),
    text: utf8s(ROWS.map(textOf)),
    vector: columnsOf(vectors)(ROWS.map((row) => [row, 1])),
    ...column,
  });
  await namespace.createTable({ id: [table], mode: "overwrite" }, rows);
  await indexText(table);
  const index = { id: [table], column: "vector", indexType: "IVF_FLAT", numPartitions: 1 } as const;
  const { jobId } = await namespace.createTableIndex(index);
  await namespace.waitForJob({ jobId });
}

type Rows = Record<string, unknown>[];

const plain = (rows: readonly unknown[]): Rows =>
  JSON.parse(
    JSON.stringify(rows, (_, value) => {
      if (typeof value === "bigint") return Number(value);
      return value instanceof Float32Array ? [...value] : value;
    }),
  );

const inProcess = async (table: string, request: Search["request"]): Promise<Rows> =>
  plain(await (await namespace.queryTable({ ...request, id: [table] })).toArray());

/** @throws InvalidInputError with the detail of an answer of status 400 */
async function overHttp(table: string, request: Search["request"]): Promise<Rows> {
  const { vector, fullTextQuery, columns, limit, highlight, filter, prefilter, withRowId } = request;
  const isList = Array.isArray(vector) && Array.isArray(vector[0]);
  const body = {
    ...{ k: limit, highlight, filter, prefilter, with_row_id: withRowId },
    ...{ lower_bound: request.lowerBound, upper_bound: request.upperBound },
    bypass_vector_index: request.bypassVectorIndex,
    columns:
      typeof columns === "object" && "columnAliases" in columns
        ? { column_aliases: columns.columnAliases }
        : columns,
    vector: vector && (isList ? { multi_vector: vector } : { single_vector: vector }),
    full_text_query: fullTextQuery && { string_query: { query: "kitten" } },
  };
  const answer = await fetch(`${server.url}/v1/table/${table}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": KEY },
    body: JSON.stringify(body),
  });
  if (answer.status === 400)
    throw new InvalidInputError(((await answer.json()) as { detail: string }).detail);
  expect(answer.status).toBe(200);
  const rows = arrow.tableFromIPC(new Uint8Array(await answer.arrayBuffer())).toArray();
  return plain(rows);
}

const outcome = async (rows: Promise<Rows>): Promise<Rows | string> =>
  rows.catch((error: unknown) => {
    if (error instanceof InvalidInputError) return error.message;
    throw error;
  });

describe.each(FOUND)("a table with a column %s", (name) => {
  const refusal = `columns: ${name} is what a search gives; return the column under another name`;
  beforeAll(() => makeTable("plain", {}));

  const types = Object.entries(TYPES).filter(
    ([type]) => name === "_distance" || ["float64", "text"].includes(type),
  );
  describe.each(types)("of %s", (type, { values, filter, namesColumn }) => {
    const table = `${name}_${type}`;
    const saved = plain([...values()]) as unknown[];
    beforeAll(() => makeTable(table, { [name]: values() }));

    it.each(Object.entries(SEARCHES))("is told apart from what is found: %s", async (kind, {
      request,
      adds,
    }) => {
      const isShared = adds.includes(name);
      const [byColumn, byId] = filter(name);
      const ways = type === "float64" ? { inProcess, overHttp } : { inProcess };
      for (const [way, ask] of Object.entries(ways)) {
        const label = `${way}, `;
        const matches = await inProcess("plain", { ...request, columns: ["id"] });
        expect(matches.length).toBeGreaterThan(0);
        expect(await ask(table, { ...request, columns: ["id"] }), `${label}without it`).toEqual(matches);

        const withSaved = matches.map((row) => ({ ...row, [name]: saved[row.id as number] }));
        const named = await outcome(ask(table, { ...request, columns: ["id", name] }));
        expect(named, `${label}named`).toEqual(isShared ? refusal : withSaved);
        const all = await outcome(ask(table, request));
        if (isShared) expect(all, `${label}all columns`).toBe(refusal);
        else expect((all as Rows).map((row) => row[name])).toEqual(withSaved.map((row) => row[name]));

        const columnAliases = { id: "id", saved: name };
        const renamed = matches.map((row) => ({ ...row, saved: saved[row.id as number] }));
        expect(await ask(table, { ...request, columns: { columnAliases } }), `${label}renamed`).toEqual(
          renamed,
        );
        const covered = await outcome(
          ask(table, { ...request, columns: { columnAliases: { [name]: "id" } } }),
        );
        if (isShared) expect(covered, `${label}covered`).toBe(refusal);
        else expect(covered).not.toBeTypeOf("string");

        const wanted = await inProcess("plain", { ...request, filter: byId, columns: ["id"] });
        const filtered = await ask(table, { ...request, filter: byColumn, columns: ["id"] });
        expect(filtered, `${label}filtered first`).toEqual(wanted);
        const after = { ...request, prefilter: false, columns: ["id"] };
        const filteredAfter = await outcome(ask(table, { ...after, filter: byColumn }));
        const isVector = kind !== "scan" && "vector" in request;
        const isAmbiguous =
          isShared && isVector && namesColumn && ["_distance", "query_index"].includes(name);
        if (isAmbiguous)
          expect(filteredAfter, `${label}filtered after`).toMatch(
            /^filter: \S+ is ambiguous, as the table has/,
          );
        else expect(filteredAfter).toEqual(await inProcess("plain", { ...after, filter: byId }));

        if (type !== "text" && type !== "struct") {
          const computed = await ask(table, {
            ...request,
            columns: { columnAliases: { id: "id", next: `${name} + 1` } },
          });
          expect(computed.map((row: Rows[number]) => row.next)).toEqual(
            matches.map((row) => Number(saved[row.id as number]) + 1),
          );
        }
      }
    });
  });

  it("is sorted and filtered by like any other", async () => {
    const request = {
      filter: `${name} < 105`,
      orderBy: [{ columnName: name, ascending: false }],
      columns: ["id", name],
    };
    const wanted = [4, 3, 2, 1, 0].map((row) => ({ id: row, [name]: 100.5 + row }));
    expect(await inProcess(`${name}_float64`, request)).toEqual(wanted);
  });
});

it.each(Object.entries(SEARCHES))("results that are kept as a table are searched again: %s", async (_, {
  request,
  adds,
}) => {
  await makeTable("origin", {});
  const kept = `kept_${adds.length}`;
  const rows = await (await namespace.queryTable({ ...request, id: ["origin"], limit: 8 })).toArrow();
  await namespace.createTable({ id: [kept], mode: "overwrite" }, rows);
  await indexText(kept);
  for (const again of Object.values(SEARCHES)) {
    const matches = await inProcess(kept, { ...again.request, columns: ["id"] });
    expect(matches.length).toBeGreaterThan(0);
    for (const row of matches) {
      if (!again.adds.includes("_distance") || row._distance === null) continue;
      const near = again.adds.includes("query_index") ? [0, 9][row.query_index as number] : 0;
      expect(row._distance).toBe(((row.id as number) - near) ** 2);
    }
    const shared = again.adds.find((name) => adds.includes(name));
    const all = await outcome(inProcess(kept, again.request));
    if (shared === undefined) expect(all).toHaveLength(matches.length);
    else expect(all).toMatch(/^columns: \w+ is what a search gives; return the column under another name$/);
    expect(await outcome(overHttp(kept, again.request))).toEqual(all);
  }
});

describe("a table that another program gave a column of a reserved name", () => {
  const SYSTEM = [
    "_rowid",
    "_rowaddr",
    "_rowoffset",
    "_row_created_at_version",
    "_row_last_updated_at_version",
  ];

  it.each(SYSTEM)("%s is returned as the table's, or refused", async (name) => {
    const table = `system${name}`;
    const written = `X${name.slice(1)}`;
    const rows = ROWS.map((row) => ({ id: row, vector: [row, 1], [written]: `saved ${row}` }));
    await native.createTable(table, rows);
    rename(join(root, `${table}.lance`), written, name);
    await using opened = new DirectoryNamespace({ root, durability: "none" });
    const ask = async (request: Search["request"]) =>
      outcome((async () => plain(await (await opened.queryTable({ ...request, id: [table] })).toArray()))());
    const saved = ROWS.slice(0, 2).map((row) => ({ id: row, [name]: `saved ${row}` }));
    expect(await ask({ columns: ["id", name], limit: 2 })).toEqual(saved);
    const isRowId = name === "_rowid";
    const refusal = "columns: _rowid is what withRowId gives; return the column under another name";
    const withIds = saved.map((row) => ({ ...row, _rowid: row.id }));
    expect(await ask({ columns: ["id", name], limit: 2, withRowId: true })).toEqual(
      isRowId ? refusal : withIds,
    );
    expect(await ask({ columns: ["id"], limit: 2, withRowId: true })).toEqual([
      { id: 0, _rowid: 0 },
      { id: 1, _rowid: 1 },
    ]);
    expect(await ask({ filter: `${name} = 'saved 3'`, columns: ["id"] })).toEqual([{ id: 3 }]);
    const first = { columnName: name, ascending: false };
    expect(await ask({ orderBy: [first], limit: 1, columns: ["id"] })).toEqual([{ id: 9 }]);
    const near = { vector: [0, 1], limit: 1, withRowId: true };
    expect(await ask({ ...near, columns: ["id"] })).toEqual([{ id: 0, _distance: 0, _rowid: 0 }]);
    if (isRowId) expect(await ask(near)).toBe(refusal);
  });
});

/** Gives a column another name of the same length, in the manifests and data files of a table. */
function rename(directory: string, from: string, to: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = readFileSync(path, "latin1");
    if (bytes.includes(from)) writeFileSync(path, bytes.replaceAll(from, to), "latin1");
  }
}

it.each(["id", "id + 1"])("a row id is not covered by a column under its name: %s", async (expression) => {
  const table = `covering_${expression.length}`;
  await makeTable(table, {});
  const columns = { columnAliases: { _rowid: expression } };
  const refusal = "columns: _rowid is what withRowId gives; return the column under another name";
  for (const ask of [inProcess, overHttp]) {
    expect(await outcome(ask(table, { columns, withRowId: true }))).toBe(refusal);
    const [first] = await ask(table, { columns, limit: 1 });
    expect(first).toEqual({ _rowid: expression === "id" ? 0 : 1 });
    expect(await ask(table, { columns: ["_rowid", "id"], withRowId: true, limit: 1 })).toEqual([
      { id: 0, _rowid: 0 },
    ]);
  }
});
