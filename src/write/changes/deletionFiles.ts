/**
 * Marks rows of fragments as deleted. A fragment that keeps some rows gets a new deletion file; a fragment
 * that keeps none is removed. The files lie in the directory of the table or branch, even if its data files
 * lie elsewhere. They are invisible until a manifest names them.
 */

import { mapParallel } from "../../async/parallel.js";
import { InternalError } from "../../errors.js";
import { type DataFragment, DELETION_FILE_TYPE, DeletionFile } from "../../format/table.js";
import type { WriteHandle } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import { join } from "../../platform/native.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { encodeDeletions } from "../../table/fragments/deletions.js";
import { TableGoneError } from "../../table/versions/identity.js";
import { deletionFileName, deletionsDirectory } from "../../table/versions/paths.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";

/** Files that are written or checked at the same time. */
const PARALLELISM = 8;
/** Attempts to create a file in a directory that others may remove while it is empty. */
const MAX_CREATE_ATTEMPTS = 3;

/** Fragments in which rows were marked. */
export interface MarkedFragments {
  /** Fragments that keep some rows, with their new deletion files. */
  readonly updatedFragments: DataFragment[];
  /** Ids of fragments that keep no rows. */
  readonly removedFragmentIds: number[];
}

/** Fragments whose deleted rows are cached while their rows are selected, marked and moved. */
const REMEMBERED_FRAGMENTS = 16;

/** Wraps a source so that it reads each deletion file once for consecutive steps on a fragment. */
export function rememberingDeletions(source: FragmentSource): FragmentSource {
  const deletionsById = new Map<number, Promise<Uint32Array | null>>();
  return {
    ...source,
    readDeletions(fragment) {
      let deletions = deletionsById.get(fragment.id);
      if (deletions === undefined) {
        deletions = source.readDeletions(fragment);
        deletionsById.set(fragment.id, deletions);
        const [oldest] = deletionsById.keys();
        if (deletionsById.size > REMEMBERED_FRAGMENTS) deletionsById.delete(oldest);
      }
      return deletions;
    },
  };
}

export class DeletionMarks {
  readonly #base: OpenVersion;
  readonly #source: Pick<FragmentSource, "readDeletions">;
  readonly #directory: string;
  /** By fragment id: the fragment with its new deletion file; null if it keeps no rows. */
  readonly #marked = new Map<number, DataFragment | null>();
  /** By path: bytes of each file, including unfinished files. */
  readonly #written = new Map<string, number>();
  /** True if the directory is permanent, because versions have files in it. */
  #isMade: boolean;
  #rowCount = 0;

  constructor(base: OpenVersion, source: Pick<FragmentSource, "readDeletions">) {
    this.#base = base;
    this.#source = source;
    this.#directory = deletionsDirectory(base.table.root);
    this.#isMade = base.file.manifest.fragments.some(hasDeletionsHere);
  }

  /** Number of rows marked so far. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /**
   * Marks rows of a fragment; call it once for each fragment. Calls for several fragments may overlap.
   * @param rows physical rows, ascending and distinct; none of them is deleted yet
   * @throws CorruptFileError for a damaged deletion file; TableGoneError if the table was dropped
   */
  async mark(fragment: DataFragment, rows: Uint32Array): Promise<void> {
    const { id } = fragment;
    if (rows.length === 0) return;
    if (this.#marked.has(id)) throw new InternalError(`rows of fragment ${id} are marked twice`);
    this.#marked.set(id, null);
    this.#rowCount += rows.length;
    const before = await deletedBefore(this.#source, fragment, rows.length);
    if (before === "all") return;
    const deletionFile = await this.#write(id, before === null ? rows : union(before, rows));
    this.#marked.set(id, { ...fragment, deletionFile });
  }

  /** Makes the files survive a power cut; call it once all rows are marked. */
  async finish(): Promise<MarkedFragments> {
    const { disk } = this.#base.table;
    if (this.#written.size > 0) await disk.syncDirectory(this.#directory);
    const fragments = [...this.#marked].sort(([a], [b]) => a - b);
    return {
      updatedFragments: fragments.flatMap(([, fragment]) => fragment ?? []),
      removedFragmentIds: fragments.flatMap(([id, fragment]) => (fragment === null ? id : [])),
    };
  }

  /** True if all the files are still in place and complete. */
  async areInPlace(): Promise<boolean> {
    const { disk } = this.#base.table;
    const files = [...this.#written];
    const stats = await mapParallel(files, PARALLELISM, ([path]) => disk.stat(path));
    return stats.every((stat, index) => stat?.size === files[index][1]);
  }

  /** Removes the files after a failed commit. */
  async discard(): Promise<void> {
    if (this.#written.size === 0) return;
    const { disk } = this.#base.table;
    await mapParallel([...this.#written.keys()], PARALLELISM, (path) => disk.remove(path));
    this.#written.clear();
    await disk.removeEmptyDirectory(this.#directory);
  }

  async #write(fragmentId: number, offsets: Uint32Array): Promise<DeletionFile> {
    const { version: readVersion } = this.#base;
    const [id] = crypto.getRandomValues(new BigUint64Array(1));
    const numDeletedRows = offsets.length;
    const fileType = DELETION_FILE_TYPE.bitmap;
    const file = DeletionFile.create({ fileType, readVersion, id, numDeletedRows });
    const name = deletionFileName(fragmentId, file);
    const pieces = encodeDeletions(offsets, name);
    const path = join(this.#directory, name);
    const handle = await this.#create(path);
    try {
      await handle.write(pieces);
      await handle.sync();
    } finally {
      await handle.close();
    }
    this.#written.set(
      path,
      pieces.reduce((sum, piece) => sum + piece.length, 0),
    );
    return file;
  }

  async #create(path: string): Promise<WriteHandle> {
    const { disk, root } = this.#base.table;
    for (let attempt = 1; ; attempt++) {
      try {
        if (!this.#isMade || attempt > 1) await disk.makeDirectory(this.#directory, root);
        this.#written.set(path, 0);
        return await disk.create(path);
      } catch (error) {
        // A failed writer removed the directory because it was empty, or is removing it.
        const code = codeOf(error);
        const isLast = attempt === MAX_CREATE_ATTEMPTS;
        if (code === "ENOENT" && isLast) throw new TableGoneError(root, { cause: error });
        if ((code !== "ENOENT" && code !== "EEXIST") || isLast) throw error;
      }
    }
  }
}

/** True if a fragment has a deletion file in the directory of the table or branch itself. */
const hasDeletionsHere = ({ deletionFile }: DataFragment): boolean =>
  deletionFile !== undefined && deletionFile.baseId === undefined;

/** Returns the rows that are deleted already; `all` if deleting `count` more leaves no row. */
async function deletedBefore(
  source: Pick<FragmentSource, "readDeletions">,
  fragment: DataFragment,
  count: number,
): Promise<Uint32Array | "all" | null> {
  const { deletionFile, physicalRows } = fragment;
  if (deletionFile === undefined) return count === physicalRows ? "all" : null;
  if (deletionFile.numDeletedRows > 0 && deletionFile.numDeletedRows + count === physicalRows) return "all";
  const before = await source.readDeletions(fragment);
  return before !== null && before.length + count === physicalRows ? "all" : before;
}

/** Merges two ascending lists into one of distinct numbers. */
function union(a: Uint32Array, b: Uint32Array): Uint32Array {
  const all = new Uint32Array(a.length + b.length);
  let count = 0;
  let inA = 0;
  let inB = 0;
  while (inA < a.length && inB < b.length) {
    const [x, y] = [a[inA], b[inB]];
    if (x <= y) inA++;
    if (y <= x) inB++;
    all[count++] = Math.min(x, y);
  }
  all.set(a.subarray(inA), count);
  count += a.length - inA;
  all.set(b.subarray(inB), count);
  count += b.length - inB;
  return all.subarray(0, count);
}
