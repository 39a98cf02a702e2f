/** Finds the fragments in which two versions may differ. All others have the same rows in both. */

import { toHex } from "../../bytes/hex.js";
import type { DataFragment } from "../../format/table.js";
import type { TableField } from "../../schema/schema.js";
import { resolveDataFile, resolveDeletionFile } from "../../table/fragments/fileLookup.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";

type Version = Pick<OpenVersion, "table" | "file">;

/**
 * Returns the fragments of each version that the other version does not have with the same files and rows.
 * @param fields the fields whose values are compared
 */
export async function differingFragments(
  a: Version,
  b: Version,
  fields: readonly TableField[],
): Promise<readonly [readonly DataFragment[], readonly DataFragment[]]> {
  const ids = new Set(fields.flatMap(idsOf));
  const [ofA, ofB] = [await contentsOf(a, ids), await contentsOf(b, ids)];
  const only = (mine: Contents, theirs: Contents) =>
    [...mine].flatMap(([content, fragment]) => (theirs.has(content) ? [] : [fragment]));
  return [only(ofA, ofB), only(ofB, ofA)];
}

/** Fragments by a text. Two fragments with the same text have the same rows. */
type Contents = ReadonlyMap<string, DataFragment>;

async function contentsOf({ table, file }: Version, fieldIds: ReadonlySet<number>): Promise<Contents> {
  const contents = new Map<string, DataFragment>();
  for (const fragment of file.manifest.fragments) {
    const files: string[] = [];
    for (const dataFile of fragment.files) {
      const columns = dataFile.fields.flatMap((id, index) =>
        fieldIds.has(id) ? [`${id}:${dataFile.columnIndices[index]}`] : [],
      );
      if (columns.length === 0) continue;
      files.push(`${await resolveDataFile(table, file.manifest, dataFile)}|${columns}`);
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
