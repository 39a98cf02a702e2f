/** Calls that search: by text, by vector, by both, with their plans; and samples of vectors. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { performance } from "../../async/timers.js";
import { tagOf } from "../../bytes/anyRealm.js";
import { InvalidInputError } from "../../errors.js";
import type { QueryTableRequest } from "../../namespace/queries.js";
import type { FullTextQuery } from "../../namespace/textQueries.js";
import type {
  CellHighlight,
  CellPreview,
  NeighboursAnswer,
  PlanAnswer,
  SearchAnswer,
  VectorsAnswer,
} from "./answers.js";
import { CallMembers } from "./callMembers.js";
import { previewOf } from "./cellPreviews.js";
import type { CallContext } from "./context.js";
import { columnPath, filterMember, planOf, previewRows } from "./rowCalls.js";

const SEARCH_MEMBERS = [
  ...["columns", "filter", "text", "textColumns", "vector", "likeRow", "vectorColumn", "limit"],
  ...["nprobes", "refineFactor", "ef", "distanceType", "exact"],
];
const MAX_FOUND = 500;
const MAX_DIMENSION = 65_536;
/** Numbers of a sample of vectors, and its rows. */
const MAX_SAMPLE_VALUES = 2 ** 21;
const MAX_SAMPLE_ROWS = 5000;
/** Rows whose neighbours one call finds. */
const MAX_QUERIES = 50;

const ADDED = new Set(["_highlights"]);

/** Returns the rows that a search finds. */
export async function search(context: CallContext, request: unknown): Promise<SearchAnswer> {
  const members = CallMembers.ofTable(request, SEARCH_MEMBERS);
  const query = await queryOf(context, members);
  const started = performance.now();
  const result = await context.namespace.queryTable({ ...query, withRowId: true });
  const highlights: CellHighlight[][] = [];
  const watched = {
    schema: result.schema,
    async *rows(forms: Parameters<typeof result.rows>[0]) {
      for await (const row of result.rows(forms)) {
        highlights.push(highlightsOf(row._highlights));
        yield row;
      }
    },
  };
  const answer = await previewRows(context, members, watched, ADDED);
  return { ...answer, highlights, milliseconds: performance.now() - started };
}

function highlightsOf(value: unknown): CellHighlight[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter(({ item }) => item === null)
    .map(({ column, start, end }) => ({ column: String(column), start: Number(start), end: Number(end) }));
}

/** Returns the plan of a search. With `measure`, it runs the search. */
export async function plan(context: CallContext, request: unknown): Promise<PlanAnswer> {
  const members = CallMembers.ofTable(request, [...SEARCH_MEMBERS, "measure"]);
  const isMeasured = members.value("measure") !== false;
  return planOf(context, await queryOf(context, members), isMeasured);
}

/** @param rowVector vector to search by, in place of that of the request */
async function queryOf(
  context: CallContext,
  members: CallMembers,
  rowVector?: ArrayLike<number>,
): Promise<QueryTableRequest> {
  const columns = members.optionalTexts("columns", 1024)?.map(columnPath);
  const table = { ...context.base, ...members.table };
  const base: QueryTableRequest = {
    ...table,
    ...filterMember(members),
    columns,
    limit: members.integer("limit", 1, MAX_FOUND),
  };
  const text = fullTextOf(members);
  const distanceType = members.optionalText("distanceType");
  const vector = rowVector ?? (await vectorOf(context, members));
  if (text === null && vector === null) return base;
  return {
    ...base,
    ...(text !== null && { fullTextQuery: text, highlight: true }),
    ...(vector !== null && {
      vector,
      vectorColumn: columnPath(members.text("vectorColumn")),
      ...numbersOf(members, ["nprobes", "refineFactor", "ef"]),
      ...(distanceType !== undefined && { distanceType }),
      ...(members.value("exact") === true && { bypassVectorIndex: true }),
    }),
  };
}

function fullTextOf(members: CallMembers): FullTextQuery | null {
  const query = members.optionalText("text") ?? "";
  if (query === "") return null;
  const columns = members.optionalTexts("textColumns", 64);
  return { stringQuery: { query, ...(columns && { columns: columns.map(columnPath) }) } };
}

/** Returns the vector of a search: numbers, or those of a row. */
async function vectorOf(context: CallContext, members: CallMembers): Promise<ArrayLike<number> | null> {
  const vector = members.value("vector");
  if (vector !== undefined) {
    const isVector =
      Array.isArray(vector) &&
      vector.length <= MAX_DIMENSION &&
      vector.every((value) => typeof value === "number");
    if (!isVector) throw new InvalidInputError("vector: must be a list of numbers");
    return vector;
  }
  const rowId = members.optionalText("likeRow");
  if (rowId === undefined) return null;
  const [rowVector] = await vectorsOf(context, members, [rowId]);
  return rowVector;
}

/** Reads the vectors of rows, in the order of the ids. */
async function vectorsOf(
  context: CallContext,
  members: CallMembers,
  rowIds: readonly string[],
): Promise<ArrayLike<number>[]> {
  const name = members.text("vectorColumn");
  const result = await context.namespace.takeTableRows({
    ...context.base,
    ...members.table,
    rowIds,
    columns: { columnAliases: { value: columnPath(name) } },
    withRowId: true,
  });
  const vectors = new Map<string, ArrayLike<number>>();
  for await (const row of result.rows({ bigints: "string" })) {
    if (isVector(row.value)) vectors.set(String(row._rowid), row.value);
  }
  return rowIds.map((id) => {
    const vector = vectors.get(id);
    if (vector === undefined) throw new InvalidInputError(`likeRow: row ${id} has no vector in ${name}`);
    return vector;
  });
}

const isVector = (value: unknown): value is ArrayLike<number> =>
  (ArrayBuffer.isView(value) && tagOf(value) !== "DataView") ||
  (Array.isArray(value) && typeof value[0] === "number");

function numbersOf(members: CallMembers, names: readonly string[]): Readonly<Record<string, number>> {
  const present = names.filter((name) => members.value(name) !== undefined);
  return Object.fromEntries(present.map((name) => [name, members.integer(name, 1, 100_000)]));
}

/** Returns vectors of rows at even distances, for a map of the column. */
export async function vectors(context: CallContext, request: unknown): Promise<VectorsAnswer> {
  const members = CallMembers.ofTable(request, ["vectorColumn", "colour", "limit", "filter"]);
  const limit = members.integer("limit", 1, MAX_SAMPLE_ROWS);
  const column = members.text("vectorColumn");
  const colour = members.optionalText("colour") ?? null;
  const table = { ...context.base, ...members.table };
  const total = await context.namespace.countTableRows(table);
  const step = Math.max(1, Math.floor(total / limit));
  const offsets = Array.from({ length: Math.min(limit, total) }, (_, index) => index * step);
  const aliases = { value: columnPath(column), ...(colour !== null && { colour: columnPath(colour) }) };
  const result = await context.namespace.takeTableRows({
    ...table,
    offsets,
    columns: { columnAliases: aliases },
    withRowId: true,
    batchBytes: 2 ** 22,
  });
  const rowIds: string[] = [];
  const colours: CellPreview[] = [];
  const values: number[] = [];
  let dimension = 0;
  for await (const row of result.rows({ dates: "iso", bigints: "string" })) {
    if (!isVector(row.value) || values.length + row.value.length > MAX_SAMPLE_VALUES) continue;
    if (dimension === 0) dimension = row.value.length;
    if (row.value.length !== dimension) continue;
    for (let index = 0; index < dimension; index++) values.push(Number(row.value[index]));
    rowIds.push(String(row._rowid));
    colours.push(colour === null ? null : previewOf(row.colour));
    if (rowIds.length % 64 === 0) await yieldToEventLoop();
  }
  return { dimension, rowIds, values: await base64Of(new Float32Array(values)), colours };
}

/** Encodes numbers in pieces, because a sample takes megabytes. */
async function base64Of(values: Float32Array): Promise<string> {
  const bytes = new Uint8Array(values.length * 4);
  const view = new DataView(bytes.buffer);
  let text = "";
  const piece = 3 * 2 ** 12;
  for (let index = 0; index < values.length; index++) view.setFloat32(index * 4, values[index], true);
  for (let start = 0; start < bytes.length; start += piece) {
    text += btoa(String.fromCharCode(...bytes.subarray(start, start + piece)));
    await yieldToEventLoop();
  }
  return text;
}

/** Returns the nearest rows of some rows, and how long each search took. */
export async function neighbours(context: CallContext, request: unknown): Promise<NeighboursAnswer> {
  const members = CallMembers.ofTable(request, [
    ...["vectorColumn", "rowIds", "limit", "nprobes", "refineFactor", "ef"],
    ...["distanceType", "exact"],
  ]);
  const rowIds = members.optionalTexts("rowIds", MAX_QUERIES) ?? [];
  const queries = await vectorsOf(context, members, rowIds);
  const foundIds: string[][] = [];
  const milliseconds: number[] = [];
  for (const [index, vector] of queries.entries()) {
    const asked = await queryOf(context, members, vector);
    const started = performance.now();
    const result = await context.namespace.queryTable({ ...asked, columns: ["_rowid"] });
    const ids: string[] = [];
    for await (const row of result.rows({ bigints: "string" })) ids.push(String(row._rowid));
    milliseconds[index] = performance.now() - started;
    foundIds.push(ids);
    await yieldToEventLoop();
  }
  return { rowIds: foundIds, milliseconds };
}
