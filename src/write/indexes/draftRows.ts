/**
 * Rows that files of an index were made of, by fragment: the live rows of the version that they were read
 * from. In a later version, the files serve every fragment whose live rows are all among them. Rows with new
 * values and restored rows are not among them; rows deleted since are harmless.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { CorruptFileError } from "../../errors.js";
import type { DataFragment } from "../../format/table.js";
import { type ReaderEnvironment, versionSource } from "../../query/indexes/versionSource.js";
import { isSameDeletion } from "../../table/fragments/deletions.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";
import { type IndexColumn, valuesKey } from "./indexColumn.js";

/** Offsets between two checks of the clock. */
const STEP_OFFSETS = 65_536;

const NONE = new Uint32Array(0);

export class DraftRows {
  readonly #base: OpenVersion<ReaderEnvironment>;
  readonly #column: IndexColumn;
  /** Fragments by {@link valuesKey}. */
  readonly #fragments: ReadonlyMap<string, DataFragment>;

  /** @param fragments of `base` that are read. Default: all */
  constructor(
    base: OpenVersion<ReaderEnvironment>,
    column: IndexColumn,
    fragments: readonly DataFragment[] = base.file.manifest.fragments,
  ) {
    this.#base = base;
    this.#column = column;
    this.#fragments = new Map(fragments.map((fragment) => [valuesKey(fragment, column), fragment]));
  }

  get fragmentCount(): number {
    return this.#fragments.size;
  }

  /** Returns the fragments of a version whose live rows are all among these. */
  async coveredIn(version: OpenVersion<ReaderEnvironment>): Promise<DataFragment[]> {
    const covered: DataFragment[] = [];
    for (const fragment of version.file.manifest.fragments) {
      const before = this.#fragments.get(valuesKey(fragment, this.#column));
      if (before !== undefined && (await this.#hasLiveRows(before, version, fragment)))
        covered.push(fragment);
    }
    return covered;
  }

  async #hasLiveRows(
    before: DataFragment,
    version: OpenVersion<ReaderEnvironment>,
    fragment: DataFragment,
  ): Promise<boolean> {
    const { deletionFile } = before;
    if (deletionFile === undefined || isSameDeletion(deletionFile, fragment.deletionFile)) return true;
    if (fragment.deletionFile === undefined) return false;
    const deletedBefore = await this.#deletedBefore(before);
    if (deletedBefore === null) return false;
    const deleted = (await versionSource(version).readDeletions(fragment)) ?? NONE;
    return isSubset(deletedBefore, deleted);
  }

  /** Returns null if that is unknown: a cleanup may have removed the version meanwhile. */
  async #deletedBefore(fragment: DataFragment): Promise<Uint32Array | null> {
    try {
      return (await versionSource(this.#base).readDeletions(fragment)) ?? NONE;
    } catch (error) {
      if (error instanceof CorruptFileError) return null;
      throw error;
    }
  }
}

/** True if all offsets are in the second list; both ascend. */
async function isSubset(offsets: Uint32Array, others: Uint32Array): Promise<boolean> {
  if (offsets.length > others.length) return false;
  let slot = 0;
  for (let index = 0; index < offsets.length; index++) {
    if (index % STEP_OFFSETS === 0) await yieldToEventLoop();
    while (slot < others.length && others[slot] < offsets[index]) slot++;
    if (others[slot] !== offsets[index]) return false;
  }
  return true;
}
