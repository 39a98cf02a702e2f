/** ListTableIndices: lists the indexes of a version by name. */

import { pageOf } from "../../catalog/listing.js";
import { compareNames } from "../../catalog/rows/catalogRows.js";
import type { TableIndex } from "../../namespace/indexes.js";
import { countIndexedRows, type NamedIndex, namedIndexes } from "../../table/commit/namedIndexes.js";
import { INDEX_ID_BYTES } from "../../table/fragments/fileLookup.js";
import { indexDirectoryName } from "../../table/versions/paths.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { OperationContext } from "../context.js";
import type { OperationBody } from "../operation.js";
import { optionalPage } from "../requestValues.js";
import { openSnapshot } from "../snapshot.js";
import { detailsText } from "./detailsText.js";
import { columnPaths, typeOfIndex } from "./recordedIndex.js";

export const listTableIndices: OperationBody<"listTableIndices"> = async (context, request, access) => {
  const page = optionalPage(request);
  const snapshot = await openSnapshot(context, request, access);
  // A declared table.
  if (snapshot === null) return { indexes: [] };
  const indexes = new Map(namedIndexes(snapshot.file).map((index) => [index.name, index]));
  const { names, ...rest } = pageOf([...indexes.keys()].sort(compareNames), page);
  const pathsOf = columnPaths(snapshot);
  const indexList: TableIndex[] = [];
  for (const name of names) {
    const index = indexes.get(name);
    if (index !== undefined) indexList.push(await describe(snapshot, index, pathsOf(index)));
  }
  return { indexes: indexList, ...rest };
};

async function describe(
  snapshot: OpenVersion<OperationContext>,
  index: NamedIndex,
  columns: readonly string[],
): Promise<TableIndex> {
  const { name, segments } = index;
  const [first] = segments;
  const { indexed, unindexed } = countIndexedRows(snapshot.file.manifest, index);
  const type = await typeOfIndex(snapshot, index);
  const created = segments.flatMap(({ createdAt }) => (createdAt === undefined ? [] : [createdAt]));
  const files = segments.flatMap((segment) => segment.files);
  const id = first.uuid?.uuid ?? new Uint8Array(0);
  return {
    indexName: name,
    indexUuid: id.length === INDEX_ID_BYTES ? indexDirectoryName(id) : "",
    columns,
    status: "SUCCEEDED",
    indexType: type.indexType,
    typeUrl: first.indexDetails?.typeUrl ?? "",
    numIndexedRows: indexed,
    numUnindexedRows: unindexed,
    // An index may be recorded without its files.
    ...(files.length > 0 && { sizeBytes: files.reduce((sum, file) => sum + file.sizeBytes, 0) }),
    numSegments: segments.length,
    ...(created.length > 0 && { createdAt: timeText(Math.min(...created)) }),
    indexVersion: first.indexVersion ?? 0,
    indexDetails: detailsText(first, type),
  };
}

/** Maximum number of milliseconds of a date. */
const MAX_MS = 8.64e15;
const timeText = (ms: number): string => new Date(Math.min(ms, MAX_MS)).toISOString();
