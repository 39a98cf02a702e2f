/**
 * VerifyTable: reads every file of a branch, all rows of a version, and compares its indexes with the rows.
 * This operation is not in the namespace spec.
 */

import { requireTableDirectory } from "../../catalog/locations/tables.js";
import { CorruptFileError, InvalidTableStateError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import { confirmDirectory } from "../../io/disk/confinement.js";
import type { VerifyTableRequest, VerifyTableResponse } from "../../namespace/storage.js";
import { liveRowCount } from "../../table/fragments/tableStatistics.js";
import { isMainBranch } from "../../table/refs/refNames.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { type TableAt, tableAt } from "../../table/versions/tableAt.js";
import type { VersionEntry } from "../../table/versions/versions.js";
import type { Access } from "../access.js";
import type { OperationContext } from "../context.js";
import type { OperationBody } from "../operation.js";
import { progressIn } from "../progress.js";
import { optionalString, requireTableId } from "../request.js";
import { openAtAnyVersion, openDescribed, requestedPoint } from "../snapshot.js";
import { Damages } from "../verify/damages.js";
import { VerifiedFiles, verifyRefs } from "../verify/versionFiles.js";
import { verifyIndexes, verifyRows } from "../verify/versionRows.js";

export const verifyTable: OperationBody<"verifyTable"> = async (context, request, access) => {
  const { signal } = request;
  const tell = progressIn("rows", request);
  const damages = new Damages();
  const { table, wanted } = await wantedOf(context, request, access, damages);
  const files = new VerifiedFiles(table, damages, signal);
  const entries = await files.versions();
  if (entries.length === 0 && damages.count === 0) {
    throw new InvalidTableStateError(
      `table ${formatIdentifier(requireTableId(request.id))} is only declared: it has no versions to verify`,
    );
  }
  let readable: { readonly entry: VersionEntry; readonly file: ManifestFile } | null = null;
  const records = new Set<string>();
  for (const entry of entries.toReversed()) {
    signal?.throwIfAborted();
    const file = await files.checkVersion(entry);
    if (file !== null) records.add(file.head.transactionFile);
    const isWanted = wanted === null ? readable === null : entry.version === wanted;
    if (file !== null && isWanted) readable = { entry, file };
  }
  await files.checkLostVersions(entries, records);
  await verifyRefs(table, damages);
  const counts = { readableRows: 0, damagedRows: 0, checkedIndexes: 0 };
  if (readable !== null) {
    const version = { ...readable.entry, table, file: readable.file };
    const total = readable.file.manifest.fragments.reduce((sum, each) => sum + liveRowCount(each), 0);
    tell?.(0, total);
    const before = damages.count;
    Object.assign(counts, await verifyRows(version, damages, (rows) => tell?.(rows, total), signal));
    counts.checkedIndexes = await verifyIndexes(version, damages, signal);
    if (damages.count > before) files.damaged.add(readable.entry.version);
  }
  const soundVersion = entries.findLast(({ version }) => !files.damaged.has(version))?.version;
  const { checkedVersions, checkedFiles, checkedBytes } = files;
  return {
    isSound: damages.count === 0,
    ...(readable !== null && { version: readable.entry.version }),
    damages: damages.listed,
    damageCount: damages.count,
    unchecked: damages.unchecked,
    ...{ checkedVersions, checkedFiles, checkedBytes },
    ...counts,
    ...(soundVersion !== undefined && { newestSoundVersion: soundVersion }),
  } satisfies VerifyTableResponse;
};

/**
 * Returns the table or branch. If its latest version cannot be read, only its directory is looked for.
 * @throws TableNotFoundError; TableBranchNotFoundError
 */
async function tableOf(
  context: OperationContext,
  request: VerifyTableRequest,
  damages: Damages,
): Promise<TableAt<OperationContext>> {
  const id = requireTableId(request.id);
  const branch = optionalString(request.branch, "branch");
  try {
    return (await openAtAnyVersion(context, { id, branch })).table;
  } catch (error) {
    if (!(error instanceof CorruptFileError)) throw error;
    const directory = await requireTableDirectory(context, id);
    await confirmDirectory(context.confinement, directory);
    const { path, byteOffset, message } = error;
    const remedy = "Restore the file from a backup.";
    damages.add({ kind: "reference", path, byteOffset, message, remedy });
    return tableAt(context, directory, isMainBranch(branch) ? null : branch);
  }
}

/** Returns the table or branch, and the number of the version whose rows are read; null for the newest. */
async function wantedOf(
  context: OperationContext,
  request: VerifyTableRequest,
  access: Access,
  damages: Damages,
): Promise<{ readonly table: TableAt<OperationContext>; readonly wanted: number | null }> {
  const { version, tag, asOf } = requestedPoint(request);
  if (version === undefined && tag === undefined && asOf === undefined) {
    return { table: await tableOf(context, request, damages), wanted: null };
  }
  try {
    const { snapshot } = await openDescribed(context, request, access);
    if (snapshot !== null) return { table: snapshot.table, wanted: snapshot.version };
  } catch (error) {
    if (!(error instanceof CorruptFileError)) throw error;
  }
  return { table: await tableOf(context, request, damages), wanted: version ?? null };
}
