/** ListTableVersions: lists the records of a table's versions, page by page. */

import { mapParallel } from "../../async/parallel.js";
import { InvalidInputError } from "../../errors.js";
import { listVersions } from "../../table/versions/versions.js";
import type { OperationBody } from "../operation.js";
import { optionalBoolean, optionalCount, optionalString } from "../request.js";
import { openAtAnyVersion } from "../snapshot.js";
import { versionOf } from "./versionOf.js";

/** Maximum number of manifests read concurrently. */
const PARALLELISM = 16;

export const listTableVersions: OperationBody<"listTableVersions"> = async (context, request) => {
  const limit = optionalCount(request.limit, "limit", 1);
  const descending = optionalBoolean(request.descending, "descending") ?? false;
  const after = parsePageToken(request.pageToken);
  const { table } = await openAtAnyVersion(context, request);
  const entries = await listVersions(table);
  if (descending) entries.reverse();
  const rest =
    after === null
      ? entries
      : entries.filter(({ version }) => (descending ? version < after : version > after));
  const page = limit === undefined ? rest : rest.slice(0, limit);
  const records = await mapParallel(page, PARALLELISM, (entry) => versionOf(table, entry));
  const versions = records.filter((record) => record !== null);
  if (page.length === rest.length) return { versions };
  return { versions, pageToken: String(page[page.length - 1].version) };
};

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
