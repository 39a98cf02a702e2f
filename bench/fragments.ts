/** Tables of many small fragments. */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type ColumnName, makeRows } from "./data.js";
import { openReference, referenceTable } from "./sides.js";

/**
 * Makes table `t`, by the reference, so that both sides read the same files; of one version, as the old ones
 * are nobody's concern.
 */
export async function makeFragments(
  root: string,
  fragments: number,
  rowCount: number,
  columns: readonly ColumnName[],
): Promise<void> {
  const connection = await openReference(root);
  const table = await connection.createTable("t", referenceTable(makeRows(rowCount, 0, columns)));
  for (let seed = 1; seed < fragments; seed++) {
    await table.add(referenceTable(makeRows(rowCount, seed, columns)));
  }
  connection.close();
  const versions = join(root, "t.lance", "_versions");
  // Of version 2^64 - n: the latest comes first.
  const manifests = (await readdir(versions)).filter((name) => name.endsWith(".manifest")).sort();
  for (const name of manifests.slice(1)) await rm(join(versions, name));
}
