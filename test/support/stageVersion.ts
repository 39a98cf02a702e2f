/** Staged manifests, as clients leave them for createTableVersion. */

import { join } from "node:path";
import { Transaction } from "../../src/format/table.js";
import { newTransaction } from "../../src/table/commit/transaction.js";
import { encodeRowIds } from "../../src/table/fragments/rowSequences.js";
import { hasStableRowIds } from "../../src/table/versions/flags.js";
import { findLatestVersion } from "../../src/table/versions/latestVersion.js";
import { ManifestCache } from "../../src/table/versions/manifestCache.js";
import { encodeManifestFile } from "../../src/table/versions/manifestEncoder.js";
import { manifestName, versionsDirectory } from "../../src/table/versions/paths.js";
import { writeFile } from "./suite/rootFiles.js";
import { suiteDisk } from "./suite/suiteDisk.js";

/**
 * Stages a version, in the directory of a table or branch, with all rows of the latest twice. The copy has
 * new row ids and the deleted rows. Returns the path of the file.
 */
export async function stageDoubled(tableRoot: string, version: number): Promise<string> {
  const disk = suiteDisk();
  const latest = await findLatestVersion({ disk, root: tableRoot });
  const file = latest && (await new ManifestCache(2 ** 20).read(disk, latest.path));
  if (file === null) throw new Error(`no table at ${tableRoot}`);
  const { manifest, indexSectionBytes } = file;
  const first = (manifest.maxFragmentId ?? -1) + 1;
  let { nextRowId } = manifest;
  const again = manifest.fragments.map((fragment, index) => {
    const copy = { ...fragment, id: first + index };
    // Its name contains the fragment's id.
    copy.deletionFile = undefined;
    if (hasStableRowIds(manifest)) {
      copy.inlineRowIds = encodeRowIds({ step: 1, values: [nextRowId], counts: [fragment.physicalRows] });
      nextRowId += fragment.physicalRows;
    }
    return copy;
  });
  const doubled = {
    ...manifest,
    version,
    fragments: [...manifest.fragments, ...again],
    nextRowId,
    maxFragmentId: again.length === 0 ? manifest.maxFragmentId : first + again.length - 1,
  };
  const append = newTransaction(latest?.version ?? 0, "append", { fragments: manifest.fragments });
  const transactionBytes = Transaction.encode(append);
  const { chunks } = encodeManifestFile({ manifest: doubled, indexSectionBytes, transactionBytes });
  const path = join(versionsDirectory(tableRoot), `${manifestName(version, "V2")}-${crypto.randomUUID()}`);
  await writeFile(path, new Uint8Array(await new Blob([...chunks] as BlobPart[]).arrayBuffer()));
  return path;
}
