/** Calls that read rows: pages of the grid, rows that a filter selects, and single values. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { isUint8Array } from "../../bytes/anyRealm.js";
import { InvalidInputError } from "../../errors.js";
import { formatQuotedPath } from "../../ident.js";
import type { LazyBlob, QueryPlanNode, QueryResult, QueryTableRequest } from "../../namespace/queries.js";
import type { JsonField } from "../../namespace/tables.js";
import { shortly } from "../../optionMembers.js";
import type { CellAnswer, CellPreview, MatchesAnswer, PlanAnswer, RowsAnswer } from "./answers.js";
import { CallMembers } from "./callMembers.js";
import { imageType, NestedWriter, previewOf, previewOfBytes } from "./cellPreviews.js";
import type { CallContext } from "./context.js";

/** Rows of an answer. */
const MAX_ROWS = 500;
const MAX_COLUMNS = 1024;
/** Approximate bytes of rows in memory at once. */
const BATCH_BYTES = 2 ** 22;
/** Row ids of an answer. */
const MAX_MATCHES = 50_000;
/** Characters of a whole value. */
const MAX_CELL_CHARACTERS = 2 ** 18;
/** Items of a list in a whole value. */
const MAX_CELL_ITEMS = 10_000;
/** Bytes of an image. */
const MAX_IMAGE_BYTES = 2 ** 24;

const ROW_ID = "_rowid";

/** Returns rows at offsets, or with row ids, in the order of the request. */
export async function rows(context: CallContext, request: unknown): Promise<RowsAnswer> {
  const members = CallMembers.ofTable(request, ["offset", "count", "rowIds", "columns"]);
  const columns = members.optionalTexts("columns", MAX_COLUMNS)?.map(columnPath);
  const rowIds = members.optionalTexts("rowIds", MAX_ROWS);
  const selection =
    rowIds !== undefined
      ? { rowIds }
      : offsetsOf(members.integer("offset", 0, 2 ** 50), members.integer("count", 1, MAX_ROWS));
  const result = await context.namespace.takeTableRows({
    ...context.base,
    ...members.table,
    ...selection,
    columns,
    withRowId: true,
    batchBytes: BATCH_BYTES,
  });
  const answer = await previewRows(context, members, result);
  return rowIds === undefined ? answer : inOrder(answer, rowIds);
}

/** Returns the path of a top-level column. */
export const columnPath = (name: string): string => formatQuotedPath([name]);

const offsetsOf = (offset: number, count: number): { readonly offsets: readonly number[] } => ({
  offsets: Array.from({ length: count }, (_, index) => offset + index),
});

function inOrder(answer: RowsAnswer, rowIds: readonly string[]): RowsAnswer {
  const positions = new Map(answer.rowIds.map((id, position) => [id, position]));
  const kept = rowIds.filter((id) => positions.has(id));
  return { ...answer, rows: kept.map((id) => answer.rows[positions.get(id) as number]), rowIds: kept };
}

/** Reads a result and returns previews of its rows. The column of row ids is left out. */
export async function previewRows(
  context: CallContext,
  members: CallMembers,
  result: Pick<QueryResult, "schema" | "rows">,
  hidden: ReadonlySet<string> = new Set(),
): Promise<RowsAnswer> {
  const columns = result.schema.fields
    .map(({ name }) => name)
    .filter((name) => name !== ROW_ID && !hidden.has(name));
  const blobs = columns.filter((_, index) => isBlobField(result.schema.fields, columns[index]));
  const previews: CellPreview[][] = [];
  const rowIds: string[] = [];
  for await (const row of result.rows({ dates: "iso", bigints: "string" })) {
    rowIds.push(String(row[ROW_ID]));
    previews.push(columns.map((name) => previewOf(row[name])));
    if (previews.length % 32 === 0) await yieldToEventLoop();
  }
  for (const name of blobs)
    await previewBlobs(context, members, { name, index: columns.indexOf(name) }, rowIds, previews);
  return { columns, rows: previews, rowIds };
}

interface ArrowField {
  readonly name: string;
  readonly metadata: ReadonlyMap<string, string>;
}

/** True for a column of blobs, whose values in results are descriptors. */
function isBlobField(fields: readonly ArrowField[], name: string): boolean {
  const metadata = fields.find((field) => field.name === name)?.metadata;
  return (
    metadata?.get("lance-encoding:blob") === "true" ||
    metadata?.get("ARROW:extension:name") === "lance.blob.v2"
  );
}

/** Puts the beginnings of blobs in the place of their descriptors. */
async function previewBlobs(
  context: CallContext,
  members: CallMembers,
  column: { readonly name: string; readonly index: number },
  rowIds: readonly string[],
  previews: CellPreview[][],
): Promise<void> {
  if (rowIds.length === 0) return;
  const request = { ...context.base, ...members.table, column: columnPath(column.name), rowIds };
  const blobs = await context.namespace.takeBlobs(request);
  for (const [row, blob] of blobs.entries()) {
    previews[row][column.index] = blob === null ? null : await previewOfBlob(blob);
  }
}

async function previewOfBlob(blob: LazyBlob): Promise<CellPreview> {
  if (blob.uri !== null)
    return { kind: "nested", text: blob.uri.slice(0, 240), isCut: blob.uri.length > 240 };
  return previewOfBytes(await blob.read(0, 16), blob.size);
}

const MATCH_MEMBERS = ["filter", "orderBy", "offset", "limit"];

/** Returns the row ids that a filter selects, in an order. */
export async function matches(context: CallContext, request: unknown): Promise<MatchesAnswer> {
  const members = CallMembers.ofTable(request, MATCH_MEMBERS);
  const query = matchesQuery(context, members);
  const limit = query.limit - 1;
  const result = await context.namespace.queryTable(query);
  const rowIds: string[] = [];
  for await (const batch of result) {
    const ids = batch.getChild(ROW_ID);
    for (let row = 0; row < batch.numRows; row++) rowIds.push(String(ids?.get(row)));
    await yieldToEventLoop();
  }
  return { rowIds: rowIds.slice(0, limit), hasMore: rowIds.length > limit };
}

/** Returns the query for the row ids. It asks for one row more, which tells if there are more. */
function matchesQuery(
  context: CallContext,
  members: CallMembers,
): QueryTableRequest & { readonly limit: number } {
  return {
    ...context.base,
    ...members.table,
    ...filterMember(members),
    ...orderOf(members),
    columns: [ROW_ID],
    offset: members.integer("offset", 0, 2 ** 40),
    limit: members.integer("limit", 1, MAX_MATCHES) + 1,
  };
}

/** Returns the plan by which the engine finds the rows that a filter selects. It runs the query. */
export async function matchesPlan(context: CallContext, request: unknown): Promise<PlanAnswer> {
  return planOf(context, matchesQuery(context, CallMembers.ofTable(request, MATCH_MEMBERS)), true);
}

/** Returns the plan of a query. */
export async function planOf(
  context: CallContext,
  request: QueryTableRequest,
  isMeasured: boolean,
): Promise<PlanAnswer> {
  const { signal, principal, id, branch, ...query } = request;
  const base = { signal, principal, id, branch, format: "Json" as const };
  const text = isMeasured
    ? await context.namespace.analyzeTableQueryPlan({ ...base, ...query })
    : await context.namespace.explainTableQueryPlan({ ...base, query });
  return { plan: JSON.parse(text) as QueryPlanNode, isMeasured };
}

/** Returns the number of rows that a filter selects. */
export async function countMatches(
  context: CallContext,
  request: unknown,
): Promise<{ readonly count: number }> {
  const members = CallMembers.ofTable(request, ["filter"]);
  const asked = { ...context.base, ...members.table, ...filterMember(members) };
  return { count: await context.namespace.countTableRows(asked) };
}

/** Returns the member of a request to the engine. An empty filter selects all rows. */
export function filterMember(members: CallMembers): { readonly filter?: string } {
  const filter = members.optionalText("filter") ?? "";
  return filter === "" ? {} : { filter };
}

function orderOf(members: CallMembers): { readonly orderBy?: { columnName: string; ascending: boolean } } {
  const value = members.value("orderBy");
  if (value === undefined) return {};
  const order = new CallMembers(value, ["column", "ascending"]);
  const ascending = order.value("ascending");
  if (typeof ascending !== "boolean") {
    throw new InvalidInputError(`ascending: must be a boolean, not ${shortly(ascending)}`);
  }
  return { orderBy: { columnName: columnPath(order.text("column")), ascending } };
}

/** Returns a whole value as text. */
export async function cell(context: CallContext, request: unknown): Promise<CellAnswer> {
  const members = CallMembers.ofTable(request, ["rowId", "column"]);
  const value = await readValue(context, members);
  if (typeof value === "string") return cutText(value);
  if (isUint8Array(value)) {
    const head = value.subarray(0, 4096);
    return { text: hexDump(head), isCut: head.length < value.length };
  }
  const writer = new NestedWriter(MAX_CELL_CHARACTERS, MAX_CELL_ITEMS);
  writer.write(value, 0);
  return { text: writer.text, isCut: writer.isCut };
}

const cutText = (text: string): CellAnswer => ({
  text: text.slice(0, MAX_CELL_CHARACTERS),
  isCut: text.length > MAX_CELL_CHARACTERS,
});

/** Returns the bytes of an image. Null: the value is no image that pages may show. */
export async function image(
  context: CallContext,
  request: unknown,
): Promise<{ readonly media: string; readonly bytes: Uint8Array } | null> {
  const members = CallMembers.ofTable(request, ["rowId", "column"]);
  const value = await readValue(context, members);
  if (!isUint8Array(value) || value.length > MAX_IMAGE_BYTES) return null;
  const media = imageType(value);
  return media === null ? null : { media, bytes: value };
}

/** Reads one value. The bytes of a blob are read up to the bound of images. */
async function readValue(context: CallContext, members: CallMembers): Promise<unknown> {
  const rowIds = [members.text("rowId")];
  const column = members.text("column");
  const selection = { columnAliases: { value: columnPath(column) } };
  const asked = { ...context.base, ...members.table, rowIds };
  const { schema } = await context.namespace.describeTable({ ...context.base, ...members.table });
  if (isBlobColumn(schema?.fields ?? [], column)) {
    const [blob] = await context.namespace.takeBlobs({ ...asked, column: columnPath(column) });
    return blob === null || blob === undefined
      ? null
      : (blob.uri ?? (await blob.read(0, MAX_IMAGE_BYTES + 1)));
  }
  const result = await context.namespace.takeTableRows({ ...asked, columns: selection });
  const [row] = await result.toArray({ dates: "iso", bigints: "string" });
  if (row === undefined) throw new InvalidInputError(`rowId: the version has no row ${rowIds[0]}`);
  return row.value;
}

function isBlobColumn(fields: readonly JsonField[], name: string): boolean {
  const metadata = fields.find((field) => field.name === name)?.metadata;
  return (
    metadata?.["lance-encoding:blob"] === "true" || metadata?.["ARROW:extension:name"] === "lance.blob.v2"
  );
}

/** Returns bytes as lines of 16 in hexadecimal, with their printable characters. */
function hexDump(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let offset = 0; offset < bytes.length; offset += 16) {
    const line = bytes.subarray(offset, offset + 16);
    const hex = [...line].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = [...line]
      .map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "."))
      .join("");
    lines.push(`${offset.toString(16).padStart(6, "0")}  ${hex.padEnd(47)}  ${text}`);
  }
  return lines.join("\n");
}
