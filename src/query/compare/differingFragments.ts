/** Finds the fragments in which two versions may differ. All others have the same rows in both. */

import { toHex } from "../../bytes/hex.js";
import type { DataFragment } from "../../format/table.js";
import type { TableField } from "../../schema/schema.js";
import { resolveDataFile, resolveDeletionFile } from "../../table/fragments/fileLookup.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";

/** One side of a comparison: a version, and the fields whose values are compared. */
export interface FieldsOfVersion {
  readonly version: Pick<OpenVersion, "table" | "file">;
  readonly fields: readonly TableField[];
}

/** Returns the fragments of each side that the other side does not have with the same files and rows. */
export async function differingFragments(
  a: FieldsOfVersion,
  b: FieldsOfVersion,
): Promise<readonly [readonly DataFragment[], readonly DataFragment[]]> {
  const [ofA, ofB] = [await contentsOf(a), await contentsOf(b)];
  const only = (mine: Contents, theirs: Contents) =>
    [...mine].flatMap(([content, fragment]) => (theirs.has(content) ? [] : [fragment]));
  return [only(ofA, ofB), only(ofB, ofA)];
}

/** Fragments by a text that is equal for equal rows. */
type Contents = ReadonlyMap<string, DataFragment>;

async function contentsOf({ version, fields }: FieldsOfVersion): Promise<Contents> {
  const ids = new Set(fields.flatMap(idsOf));
  const { table, file } = version;
  const contents = new Map<string, DataFragment>();
  for (const fragment of file.manifest.fragments) {
    const files: string[] = [];
    for (const dataFile of fragment.files) {
      const places = dataFile.fields.flatMap((id, index) =>
        ids.has(id) ? [`${id}:${dataFile.columnIndices[index]}`] : [],
      );
      if (places.length === 0) continue;
      files.push(`${await resolveDataFile(table, file.manifest, dataFile)}|${places}`);
    }
    const deletions = await resolveDeletionFile(table, file.manifest, fragment);
    const { id, physicalRows, inlineRowIds, externalRowIds } = fragment;
    const rowIds = inlineRowIds === undefined ? "" : toHex(inlineRowIds);
    const content = [id, physicalRows, files.sort(), deletions, rowIds, externalRowIds ?? null];
    contents.set(JSON.stringify(content), fragment);
  }
  return contents;
}

const idsOf = ({ id, children }: TableField): number[] => [id, ...children.flatMap(idsOf)];
