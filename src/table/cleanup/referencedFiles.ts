/**
 * Collects the names of files that versions refer to. Names are random, so a name identifies one file of a
 * table and its branches, even if the directory has moved since a manifest recorded its location.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import type { DataFragment } from "../../format/table.js";
import { isSameBytes } from "../../platform/native.js";
import type { ManifestFile } from "../versions/manifest.js";
import type { ManifestImage } from "../versions/manifestImages.js";
import { deletionFileName, indexDirectoryName } from "../versions/paths.js";

export class ReferencedFiles {
  /** Names of data files below `data/`. */
  readonly data = new Set<string>();
  readonly deletions = new Set<string>();
  readonly transactions = new Set<string>();
  /** Names of the directories of index segments. */
  readonly indices = new Set<string>();

  /** @throws CorruptFileError if the manifest is damaged */
  add(file: ManifestFile): void {
    for (const fragment of file.manifest.fragments) this.addFragment(fragment);
    this.addTransaction(file);
    this.addIndices(file);
  }

  addFragment({ id, files, deletionFile }: DataFragment): void {
    for (const { path } of files) this.data.add(path);
    if (deletionFile !== undefined) this.deletions.add(deletionFileName(id, deletionFile));
  }

  addTransaction({ head }: ManifestFile): void {
    if (head.transactionFile !== "") this.transactions.add(head.transactionFile);
  }

  /** @throws CorruptFileError */
  addIndices({ indexSection }: ManifestFile): void {
    for (const { uuid } of indexSection?.indices ?? []) {
      if (uuid !== undefined) this.indices.add(indexDirectoryName(uuid.uuid));
    }
  }
}

/**
 * Files of the remaining and of the removed versions. Add versions in their order: of each one, only the
 * difference to the one before is decoded.
 */
export class VersionFiles {
  readonly needed = new ReferencedFiles();
  /** Files of removed versions; may omit files that were already recorded as needed. */
  readonly released = new ReferencedFiles();
  #lastNeeded: ManifestImage | null = null;
  #lastAdded: ManifestImage | null = null;

  /** @throws CorruptFileError */
  async addNeeded(image: ManifestImage): Promise<void> {
    await this.#add(image, this.needed, this.#lastNeeded);
    image.keep();
    this.#lastNeeded?.letGo();
    this.#lastNeeded = image;
    this.#noteAdded(image);
  }

  /** @throws CorruptFileError */
  async addReleased(image: ManifestImage): Promise<void> {
    await this.#add(image, this.released, this.#lastAdded);
    this.#noteAdded(image);
  }

  #noteAdded(image: ManifestImage): void {
    image.keep();
    this.#lastAdded?.letGo();
    this.#lastAdded = image;
  }

  async #add(image: ManifestImage, files: ReferencedFiles, previous: ManifestImage | null): Promise<void> {
    files.addTransaction(image.file);
    if (!hasSameIndices(image.file, previous?.file)) files.addIndices(image.file);
    for (const index of image.unsharedWith(previous)) {
      files.addFragment(image.fragmentAt(index));
      await yieldToEventLoop();
    }
  }
}

function hasSameIndices({ indexSectionBytes }: ManifestFile, otherFile: ManifestFile | undefined): boolean {
  const others = otherFile?.indexSectionBytes ?? null;
  return indexSectionBytes !== null && others !== null && isSameBytes(indexSectionBytes, others);
}
