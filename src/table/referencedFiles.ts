/**
 * Names of the files that versions refer to. Names are random, so a name is enough to tell one file of a table and
 * its branches from all others, wherever the directory has been moved since a manifest noted its place.
 */

import type { ManifestFile } from "./manifest.js";
import { deletionFileName, indexDirectoryName } from "./paths.js";

export class ReferencedFiles {
  /** Data files, by their names below `data/`. */
  readonly data = new Set<string>();
  readonly deletions = new Set<string>();
  readonly transactions = new Set<string>();
  /** Directories of index segments. */
  readonly indices = new Set<string>();

  /** @throws CorruptFileError for a damaged manifest */
  add(file: ManifestFile): void {
    for (const fragment of file.manifest.fragments) {
      for (const { path } of fragment.files) this.data.add(path);
      if (fragment.deletionFile !== undefined) {
        this.deletions.add(deletionFileName(fragment.id, fragment.deletionFile));
      }
    }
    if (file.manifest.transactionFile !== "") this.transactions.add(file.manifest.transactionFile);
    for (const { uuid } of file.indexSection?.indices ?? []) {
      if (uuid !== undefined) this.indices.add(indexDirectoryName(uuid.uuid));
    }
  }
}
