/**
 * The record that a backfill leaves when all values of a column fit their inputs:
 * `_tiltyard/computed/<field id>.json`, a JSON object with a checksum (bytes/sealedJson.ts):
 *
 *     {"version":7,"declaration":"…","fragments":{"0":"…","3":"…"}}
 *
 * It has a digest of the column's declaration, and one for each fragment of that version: of the files that
 * hold the column and its inputs. Files never change, so a fragment with the same files has the same values.
 * Without a matching record, the transactions tell the same (outdatedRows.ts).
 */

import { decodeSealedJson, encodeSealedJson } from "../../bytes/sealedJson.js";
import { CorruptFileError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { replaceFile } from "../../io/publish.js";
import { declarationOf } from "../../schema/computedFields.js";
import { decodeSchema, type TableField } from "../../schema/schema.js";
import { isCount, isJsonObject, isStringMap } from "../../table/versions/jsonValues.js";
import { computedDirectory, fittingRecordPath } from "../../table/versions/paths.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { type FittingVersion, relevantIds } from "./outdatedRows.js";
import { digestOf, filesWith } from "./storedFields.js";

const MAX_RECORD_BYTES = 256 * 1024 * 1024;

/** Reads the record of a column's last backfill; null if there is none for its declaration. */
export async function readFittingRecord(
  { table, file }: OpenVersion,
  field: TableField,
): Promise<FittingVersion | null> {
  let bytes: Uint8Array | null;
  try {
    bytes = await table.disk.readFile(fittingRecordPath(table.root, field.id), MAX_RECORD_BYTES);
  } catch (error) {
    if (error instanceof CorruptFileError) return null;
    throw error;
  }
  const record = bytes === null ? null : parseRecord(bytes);
  if (record === null) return null;
  const fields = decodeSchema(file.manifest.fields, file.path);
  if (record.declaration !== (await declarationDigest(field))) return null;
  const ids = relevantIds(fields, field);
  return {
    version: record.version,
    knows: async (fragment) => record.fragments[fragment.id] === (await fragmentDigest(fragment, ids)),
  };
}

/** Records that all values of a column fit in a version. */
export async function writeFittingRecord(
  { table, file, version }: OpenVersion,
  field: TableField,
): Promise<void> {
  const ids = relevantIds(decodeSchema(file.manifest.fields, file.path), field);
  const fragments: Record<string, string> = {};
  for (const fragment of file.manifest.fragments) {
    fragments[fragment.id] = await fragmentDigest(fragment, ids);
  }
  const record = { version, declaration: await declarationDigest(field), fragments };
  await table.disk.makeDirectory(computedDirectory(table.root), table.root);
  await replaceFile(table.disk, fittingRecordPath(table.root, field.id), encodeSealedJson(record), {
    sync: false,
  });
}

interface StoredRecord {
  readonly version: number;
  readonly declaration: string;
  readonly fragments: Readonly<Record<string, string>>;
}

/** Returns null for bytes that {@link writeFittingRecord} does not write. */
function parseRecord(bytes: Uint8Array): StoredRecord | null {
  const value = decodeSealedJson(bytes);
  if (!isJsonObject(value)) return null;
  const { version, declaration, fragments } = value;
  return isCount(version) && typeof declaration === "string" && isStringMap(fragments)
    ? { version, declaration, fragments }
    : null;
}

const declarationDigest = (field: TableField): Promise<string> =>
  digestOf(JSON.stringify([field.id, field.name, declarationOf(field)]));

const fragmentDigest = (
  { id, physicalRows, files }: DataFragment,
  ids: ReadonlySet<number>,
): Promise<string> => digestOf(JSON.stringify([id, physicalRows, filesWith(files, ids)]));
