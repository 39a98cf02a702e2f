/** DescribeTableStorage: returns what takes the space of a version. Not in the namespace spec. */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { InvalidTableStateError } from "../../errors.js";
import type {
  DescribeTableStorageResponse,
  StoredFile,
  StoredFragment,
  StoredIndex,
} from "../../namespace/storage.js";
import { join } from "../../platform/native.js";
import { jointCoverageOf } from "../../table/commit/indexCoverage.js";
import { namedIndexes } from "../../table/commit/namedIndexes.js";
import {
  resolveDataFile,
  resolveDeletionFile,
  resolveIndexDirectory,
} from "../../table/fragments/fileLookup.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { OperationContext } from "../context.js";
import type { OperationBody } from "../operation.js";
import { progressIn } from "../progress.js";
import { openSnapshot } from "../snapshot.js";
import { describedColumns, namesOfColumns } from "../verify/describedFile.js";

type Version = OpenVersion<OperationContext>;

export const describeTableStorage: OperationBody<"describeTableStorage"> = async (
  context,
  request,
  access,
) => {
  const tell = progressIn("fragments", request);
  const snapshot = await openSnapshot(context, request, access);
  if (snapshot === null) throw new InvalidTableStateError("the table is only declared: it has no files");
  const { fragments: all } = snapshot.file.manifest;
  const fragments: StoredFragment[] = [];
  const byColumn = new Map<string, number>();
  for (const [index, fragment] of all.entries()) {
    request.signal?.throwIfAborted();
    const files: StoredFile[] = [];
    for (const dataFile of fragment.files) {
      const stored = await storedFile(snapshot, dataFile);
      for (const { name, bytes } of stored.columns) byColumn.set(name, (byColumn.get(name) ?? 0) + bytes);
      files.push(stored);
    }
    const deletions = await resolveDeletionFile(snapshot.table, snapshot.file.manifest, fragment);
    const deletionBytes = deletions === null ? 0 : ((await context.disk.stat(deletions))?.size ?? 0);
    const deletedRows = fragment.physicalRows - liveRowCount(fragment);
    fragments.push({ id: fragment.id, rows: fragment.physicalRows, deletedRows, deletionBytes, files });
    tell?.(index + 1, all.length);
    await yieldToEventLoop();
  }
  const indexes = await storedIndexes(snapshot);
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  return {
    version: snapshot.version,
    bytes:
      snapshot.file.byteLength +
      sum(fragments.map(({ files, deletionBytes }) => deletionBytes + sum(files.map(({ bytes }) => bytes)))) +
      sum(indexes.map(({ bytes }) => bytes)),
    columns: Array.from(byColumn, ([name, bytes]) => ({ name, bytes })).sort((a, b) => b.bytes - a.bytes),
    fragments,
    indexes,
  } satisfies DescribeTableStorageResponse;
};

/** Returns a path relative to the table, if it lies there. */
const shortPath = ({ table: { root } }: Version, path: string): string =>
  path.startsWith(root) ? path.slice(root.length + 1).replaceAll("\\", "/") : path;

async function storedFile(
  version: Version,
  dataFile: Version["file"]["manifest"]["fragments"][number]["files"][number],
): Promise<StoredFile> {
  const { table, file } = version;
  const path = await resolveDataFile(table, file.manifest, dataFile);
  const metadata = await table.environment.openDataFile(path);
  const columns = describedColumns(metadata, namesOfColumns(file.manifest.fields, dataFile));
  const size = dataFile.fileSizeBytes || ((await table.disk.stat(path))?.size ?? 0);
  return {
    path: shortPath(version, path),
    bytes: size,
    columns: columns.map(({ pages: _, ...column }) => column),
  };
}

async function storedIndexes(version: Version): Promise<StoredIndex[]> {
  const { table, file } = version;
  const indexes: StoredIndex[] = [];
  for (const { name, segments } of namedIndexes(file)) {
    const files: { path: string; bytes: number }[] = [];
    for (const segment of segments) {
      const directory = await resolveIndexDirectory(table, file.manifest, segment);
      for (const { name: fileName, kind } of (await table.disk.list(directory)) ?? []) {
        if (kind !== "file") continue;
        const path = join(directory, fileName);
        files.push({ path: shortPath(version, path), bytes: (await table.disk.stat(path))?.size ?? 0 });
      }
    }
    const covered = jointCoverageOf(segments);
    indexes.push({
      indexName: name,
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      files,
      ...(covered !== null && { fragmentIds: [...covered].sort((left, right) => left - right) }),
    });
  }
  return indexes;
}
