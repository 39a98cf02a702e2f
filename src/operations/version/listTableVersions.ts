/** ListTableVersions: lists the records of a table's versions, page by page. */

import { mapAhead } from "../../async/parallel.js";
import { InvalidInputError } from "../../errors.js";
import type { TableVersion } from "../../namespace/versions.js";
import { readManifestAt } from "../../table/versions/openVersion.js";
import type { TableAt } from "../../table/versions/tableAt.js";
import { listVersions, type VersionEntry } from "../../table/versions/versions.js";
import type { OperationBody } from "../operation.js";
import { optionalBoolean, optionalCount, optionalString } from "../request.js";
import { openAtAnyVersion } from "../snapshot.js";
import type { ReadBefore } from "./versionChanges.js";
import { describeReadVersion, readVersion } from "./versionOf.js";

/** Maximum number of manifests read concurrently. */
const PARALLELISM = 16;

export const listTableVersions: OperationBody<"listTableVersions"> = async (context, request) => {
  const limit = optionalCount(request.limit, "limit", 1);
  const descending = optionalBoolean(request.descending, "descending") ?? false;
  const after = parsePageToken(request.pageToken);
  const { table } = await openAtAnyVersion(context, request);
  const entries = await listVersions(table);
  const isLater = ({ version }: VersionEntry) =>
    after === null || (descending ? version < after : version > after);
  const rest = entries.filter(isLater);
  const count = Math.min(limit ?? rest.length, rest.length);
  const page = descending ? rest.slice(rest.length - count) : rest.slice(0, count);
  const versions = await recordsOf(table, entries, page, request.signal);
  if (descending) versions.reverse();
  if (count === rest.length) return { versions };
  return { versions, pageToken: String(page[descending ? 0 : count - 1].version) };
};

/** Returns the records of consecutive versions, ascending. Each manifest is read once. */
async function recordsOf(
  table: TableAt,
  entries: readonly VersionEntry[],
  page: readonly VersionEntry[],
  signal: AbortSignal | undefined,
): Promise<TableVersion[]> {
  if (page.length === 0) return [];
  const entry = entries[entries.indexOf(page[0]) - 1];
  const limit = { weigh: () => 1, maxWeight: PARALLELISM, signal };
  let previous: { readonly version: number; readonly read: ReadBefore } | null =
    entry === undefined
      ? null
      : { version: entry.version, read: () => readManifestAt(table.environment, entry) };
  const records: TableVersion[] = [];
  for await (const read of mapAhead(page, (entry) => readVersion(table, entry), limit)) {
    if (read === null) continue;
    const { file } = read;
    const before = previous?.version === file.head.version - 1 ? previous.read : () => null;
    records.push(await describeReadVersion(table, read, before));
    previous = { version: file.head.version, read: () => file };
  }
  return records;
}

/** Returns the last version of the previous page; null at the start. */
function parsePageToken(value: unknown): number | null {
  const token = optionalString(value, "pageToken") ?? "";
  if (token === "") return null;
  const version = Number(token);
  if (!/^\d+$/.test(token) || !Number.isSafeInteger(version)) {
    throw new InvalidInputError("pageToken: is not a token of this operation");
  }
  return version;
}
