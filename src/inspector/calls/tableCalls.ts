/** Calls about tables as wholes: their list, and the description of one. */

import { parseIdentifier } from "../../ident.js";
import type { AboutAnswer, TableAnswer, TablesAnswer } from "./answers.js";
import { requireMembers, TABLE_MEMBERS, tableMembers } from "./callMembers.js";
import type { CallContext } from "./context.js";

/** Ids on a page of the list. */
const TABLES_PER_PAGE = 1000;

export async function about({ title, isWritable }: CallContext, request: unknown): Promise<AboutAnswer> {
  requireMembers(request, []);
  return { title, isWritable };
}

export async function tables({ namespace, base }: CallContext, request: unknown): Promise<TablesAnswer> {
  const { pageToken } = requireMembers(request, ["pageToken"]);
  const token = pageToken === undefined || pageToken === null ? undefined : String(pageToken);
  const answer = await namespace.listAllTables({
    ...base,
    limit: TABLES_PER_PAGE,
    includeDeclared: true,
    ...(token !== undefined && { pageToken: token }),
  });
  const ids = answer.tables.map((id) => parseIdentifier(id));
  return { tables: ids, ...(answer.pageToken !== undefined && { pageToken: answer.pageToken }) };
}

export async function table({ namespace, base }: CallContext, request: unknown): Promise<TableAnswer> {
  const { id, branch, version } = tableMembers(requireMembers(request, TABLE_MEMBERS));
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
