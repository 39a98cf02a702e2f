/** Calls about versions, branches and tags, and the changes that a page with `write` may make. */

import { InvalidInputError, PermissionDeniedError } from "../../errors.js";
import type { DifferencesAnswer, HistoryAnswer, JobsAnswer, RefsAnswer } from "./answers.js";
import { CallMembers } from "./callMembers.js";
import { previewOf } from "./cellPreviews.js";
import type { CallContext } from "./context.js";
import { columnPath } from "./rowCalls.js";

const VERSIONS_PER_PAGE = 200;
const MAX_DIFFERENCES = 500;
const MAX_VERSION = Number.MAX_SAFE_INTEGER;

/** Returns the versions of a branch, newest first. */
export async function history(context: CallContext, request: unknown): Promise<HistoryAnswer> {
  const members = new CallMembers(request, ["id", "branch", "pageToken"]);
  const pageToken = members.optionalText("pageToken");
  const answer = await context.namespace.listTableVersions({
    ...context.base,
    ...members.table,
    descending: true,
    limit: VERSIONS_PER_PAGE,
    ...(pageToken !== undefined && { pageToken }),
  });
  return {
    versions: answer.versions.map((version) => ({ ...version, manifestPath: "" })),
    pageToken: answer.pageToken,
  };
}

/** Returns branches and tags. */
export async function refs(context: CallContext, request: unknown): Promise<RefsAnswer> {
  const { id } = new CallMembers(request, ["id"]).table;
  const [{ branches }, { tags }] = await Promise.all([
    context.namespace.listTableBranches({ ...context.base, id }),
    context.namespace.listTableTags({ ...context.base, id }),
  ]);
  return { branches, tags };
}

/** Returns rows that differ between two versions. */
export async function differences(context: CallContext, request: unknown): Promise<DifferencesAnswer> {
  const members = new CallMembers(request, ["id", "branch", "from", "to", "on", "limit"]);
  const limit = members.integer("limit", 1, MAX_DIFFERENCES);
  const on = members.optionalTexts("on", 16)?.map(columnPath);
  const result = await context.namespace.diffTableVersions({
    ...context.base,
    ...members.table,
    from: members.integer("from", 0, MAX_VERSION),
    to: members.integer("to", 0, MAX_VERSION),
    ...(on !== undefined && { on }),
  });
  let columns: string[] = [];
  const rows: DifferencesAnswer["rows"][number][] = [];
  for await (const { kind, row, before } of result.rows({ dates: "iso", bigints: "string" })) {
    if (rows.length === limit) return { columns, rows, hasMore: true };
    if (columns.length === 0) columns = Object.keys(row);
    const cells = (values: Readonly<Record<string, unknown>>) =>
      columns.map((name) => previewOf(values[name]));
    rows.push({
      kind,
      cells: cells(row),
      before: before === undefined || before === null ? null : cells(before),
    });
  }
  return { columns, rows, hasMore: false };
}

/** Returns the jobs of a table, or all. */
export async function jobs(context: CallContext, request: unknown): Promise<JobsAnswer> {
  const members = new CallMembers(request, ["id"]);
  const id = members.value("id") === undefined ? {} : { id: members.table.id };
  const { jobs: list } = await context.namespace.listJobs({ ...context.base, ...id });
  return { jobs: list };
}

// ------------------------------------------------------------------------------------------------ changes

/** @throws PermissionDeniedError unless the inspector was made with `write` */
function requireWrite({ isWritable }: CallContext): void {
  if (!isWritable) {
    throw new PermissionDeniedError("this inspector only reads; its operator allows changes with write");
  }
}

/** Ends a job. */
export async function endJob(context: CallContext, request: unknown): Promise<object> {
  requireWrite(context);
  const members = new CallMembers(request, ["jobId"]);
  return context.namespace.cancelJob({ ...context.base, jobId: members.text("jobId") });
}

/** Commits the content of an older version as the new latest version. */
export async function restore(context: CallContext, request: unknown): Promise<object> {
  requireWrite(context);
  const members = CallMembers.ofTable(request, ["message"]);
  const { version, ...table } = members.table;
  if (version === undefined) throw new InvalidInputError("version: must name the version to restore");
  const message = members.optionalText("message");
  return context.namespace.restoreTable({ ...context.base, ...table, version, message });
}

/** Gives a version a tag. */
export async function setTag(context: CallContext, request: unknown): Promise<object> {
  requireWrite(context);
  const members = CallMembers.ofTable(request, ["tag"]);
  const version = members.integer("version", 0, MAX_VERSION);
  const tag = members.text("tag");
  return context.namespace.createTableTag({ ...context.base, ...members.table, version, tag });
}

/** Removes a tag. */
export async function removeTag(context: CallContext, request: unknown): Promise<object> {
  requireWrite(context);
  const members = new CallMembers(request, ["id", "tag"]);
  const tag = members.text("tag");
  return context.namespace.deleteTableTag({ ...context.base, id: members.table.id, tag });
}
