/** DescribeTableFile: returns the columns and pages of a file. Not in the namespace spec. */

import { InvalidInputError, InvalidTableStateError } from "../../errors.js";
import type { DescribeTableFileResponse } from "../../namespace/storage.js";
import { join } from "../../platform/native.js";
import { resolveDataFile } from "../../table/fragments/fileLookup.js";
import { isDataFileName, isFileName } from "../../table/versions/paths.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import type { OperationContext } from "../context.js";
import type { OperationBody } from "../operation.js";
import { openSnapshot } from "../snapshot.js";
import { describedColumns, namesInFile, namesOfColumns } from "../verify/describedFile.js";

/** Characters of a metadata value that are returned. */
const MAX_METADATA = 1000;

export const describeTableFile: OperationBody<"describeTableFile"> = async (context, request, access) => {
  const { path: relative, ...table } = request;
  const parts = partsOf(relative);
  const snapshot = await openSnapshot(context, table, access);
  if (snapshot === null) throw new InvalidTableStateError("the table is only declared: it has no files");
  const { path, names } = await located(snapshot, parts);
  const stat = await context.disk.stat(path);
  if (stat?.kind !== "file") throw new InvalidInputError(`path: there is no file ${relative} in the table`);
  const file = await context.openDataFile(path);
  const columns = describedColumns(file, names ?? namesInFile(file));
  const metadata = [...(file.descriptor.schema?.metadata ?? [])].map(
    ([key, bytes]) => [key, new TextDecoder().decode(bytes.subarray(0, MAX_METADATA))] as const,
  );
  return {
    path,
    bytes: stat.size,
    formatVersion: file.version,
    rows: file.rowCount,
    hasChecksums: file.checksums !== null,
    otherBytes: stat.size - columns.reduce((sum, { bytes }) => sum + bytes, 0),
    columns,
    ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata) }),
  } satisfies DescribeTableFileResponse;
};

/** Splits a path below the table's directory. @throws InvalidInputError for a path that leads elsewhere */
function partsOf(path: unknown): readonly string[] {
  const [directory, ...rest] = typeof path === "string" ? path.replaceAll("\\", "/").split("/") : [];
  const isData = directory === "data" && rest.length > 0 && isDataFileName(rest.join("/"));
  const isIndex = directory === "_indices" && rest.length === 2 && rest.every(isFileName);
  if (isData || isIndex) return [directory, ...rest];
  throw new InvalidInputError("path: must be data/<file> or _indices/<uuid>/<file>, relative to the table");
}

/** Returns the path of a file, and the names of its columns if it is a data file of the version. */
async function located(
  { table, file }: OpenVersion<OperationContext>,
  [directory, ...rest]: readonly string[],
): Promise<{ readonly path: string; readonly names: ReadonlyMap<number, string> | null }> {
  const name = rest.join("/");
  if (directory === "data") {
    for (const { files } of file.manifest.fragments) {
      for (const dataFile of files) {
        if (dataFile.path !== name) continue;
        const path = await resolveDataFile(table, file.manifest, dataFile);
        return { path, names: namesOfColumns(file.manifest.fields, dataFile) };
      }
    }
  }
  const path = join(table.root, directory, ...rest);
  const isPresent = (await table.disk.stat(path)) !== null;
  return { path: isPresent ? path : join(table.mainRoot, directory, ...rest), names: null };
}
