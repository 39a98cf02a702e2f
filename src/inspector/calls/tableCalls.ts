/** Calls about tables as wholes: their list, and the description of one. */

import { InternalError } from "../../errors.js";
import { parseIdentifier } from "../../ident.js";
import type { DescribeTableFileResponse, DescribeTableStorageResponse } from "../../namespace/storage.js";
import { checkOptionMembers } from "../../optionMembers.js";
import type { AboutAnswer, GainAnswer, TableAnswer, TablesAnswer } from "./answers.js";
import { CallMembers } from "./callMembers.js";
import type { CallContext } from "./context.js";

/** Ids on a page of the list. */
const TABLES_PER_PAGE = 1000;

export async function about({ title, isWritable }: CallContext, request: unknown): Promise<AboutAnswer> {
  checkOptionMembers("request", request, []);
  return { title, isWritable };
}

export async function tables({ namespace, base }: CallContext, request: unknown): Promise<TablesAnswer> {
  const token = new CallMembers(request, ["pageToken"]).optionalText("pageToken");
  const answer = await namespace.listAllTables({
    ...base,
    limit: TABLES_PER_PAGE,
    includeDeclared: true,
    ...(token !== undefined && { pageToken: token }),
  });
  const ids = answer.tables.map((id) => parseIdentifier(id));
  return { tables: ids, ...(answer.pageToken !== undefined && { pageToken: answer.pageToken }) };
}

/** Returns fragments with their files and columns, and the indexes. */
export async function storage(
  { namespace, base }: CallContext,
  request: unknown,
): Promise<DescribeTableStorageResponse> {
  return namespace.describeTableStorage({ ...base, ...CallMembers.ofTable(request).table });
}

/** Returns the pages of a file of the table. */
export async function file(
  { namespace, base }: CallContext,
  request: unknown,
): Promise<DescribeTableFileResponse> {
  const members = CallMembers.ofTable(request, ["path"]);
  return namespace.describeTableFile({
    ...base,
    ...members.table,
    path: members.text("path"),
  });
}

/** Returns what a compaction would do now. It changes nothing. */
export async function gain({ namespace, base }: CallContext, request: unknown): Promise<GainAnswer> {
  const { id, branch } = new CallMembers(request, ["id", "branch"]).table;
  const answer = await namespace.optimizeTable({ ...base, id, branch, dryRun: true });
  if (!("fragmentsRemoved" in answer)) throw new InternalError("a dry run started a job");
  return { fragmentsRemoved: answer.fragmentsRemoved, fragmentsAdded: answer.fragmentsAdded };
}

export async function table({ namespace, base }: CallContext, request: unknown): Promise<TableAnswer> {
  const { id, branch, version } = CallMembers.ofTable(request).table;
  const asked = { ...base, id, branch, version };
  const description = await namespace.describeTable({ ...asked, loadDetailedMetadata: true });
  const pinned = { ...asked, version: description.version };
  const [stats, { indexes }] = description.isOnlyDeclared
    ? [await namespace.getTableStats(asked), { indexes: [] }]
    : await Promise.all([namespace.getTableStats(pinned), namespace.listTableIndices(pinned)]);
  const { schema, metadata, properties, isOnlyDeclared, stats: counts } = description;
  return {
    description: {
      version: description.version,
      schema,
      metadata,
      properties,
      isOnlyDeclared,
      stats: counts,
    },
    stats,
    indexes,
  };
}
