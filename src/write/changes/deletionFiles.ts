/**
 * Marks rows of fragments as deleted: writes a new deletion file for each fragment that keeps some rows.
 * Fragments that keep none need no file, they go. The files lie in the table's or branch's own directory,
 * also for fragments whose data files lie elsewhere. They are invisible until a manifest names them.
 */

import { mapParallel } from "../../async/parallel.js";
import { InternalError } from "../../errors.js";
import { type DataFragment, DeletionFile } from "../../format/table.js";
import type { WriteHandle } from "../../io/disk/disk.js";
import { codeOf } from "../../io/disk/errno.js";
import { join } from "../../platform/native.js";
import type { FragmentSource } from "../../query/columns/fragmentColumns.js";
import { encodeDeletions, sealedDeletions } from "../../table/fragments/deletions.js";
import { TableGoneError } from "../../table/versions/identity.js";
import { deletionFileName, deletionsDirectory } from "../../table/versions/paths.js";
import type { OpenVersion } from "../../table/versions/tableAt.js";

/** Files written, or looked at, at the same time. */
const PARALLELISM = 8;
/** Attempts to create a file in a directory that others may remove while it is empty. */
const MAX_CREATE_ATTEMPTS = 3;

/** The fragments in which rows were marked. */
export interface MarkedFragments {
  /** Those that keep some rows, with their new deletion files. */
  readonly updatedFragments: DataFragment[];
  /** Those that keep none. */
  readonly removedFragmentIds: number[];
}

/** Fragments whose deleted rows are remembered while their rows are selected, marked and moved. */
const REMEMBERED_FRAGMENTS = 16;

/** The same source, which reads each deletion file once for all that is done with a fragment in a row. */
export function rememberingDeletions(source: FragmentSource): FragmentSource {
  const known = new Map<number, Promise<Uint32Array | null>>();
  return {
    ...source,
    readDeletions(fragment) {
      let deletions = known.get(fragment.id);
      if (deletions === undefined) {
        deletions = source.readDeletions(fragment);
        known.set(fragment.id, deletions);
        const [oldest] = known.keys();
        if (known.size > REMEMBERED_FRAGMENTS) known.delete(oldest);
      }
      return deletions;
    },
  };
}

export class DeletionMarks {
  readonly #base: OpenVersion;
  readonly #source: Pick<FragmentSource, "readDeletions">;
  readonly #directory: string;
  /** The fragments with their new deletion files; null for those that keep no rows. By id. */
  readonly #marked = new Map<number, DataFragment | null>();
  /** Bytes of each file, by path; files that are incomplete included. */
  readonly #written = new Map<string, number>();
  /** True if the directory is there for good, because versions have files in it. */
  #isMade: boolean;
  #rowCount = 0;

  /**
   * @param base the version that has the rows
   * @param source of its rows
   */
  constructor(base: OpenVersion, source: Pick<FragmentSource, "readDeletions">) {
    this.#base = base;
    this.#source = source;
    this.#directory = deletionsDirectory(base.table.root);
    this.#isMade = base.file.manifest.fragments.some(hasDeletionsHere);
  }

  /** Rows marked so far. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /**
   * Marks rows of a fragment, for which this is called once. Calls for several fragments may overlap.
   * @param rows physical rows, ascending and each once; none of them is deleted yet
   * @throws CorruptFileError for a damaged deletion file; TableGoneError where the table was dropped
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

  /** Call it once all rows are marked: then the files survive a power cut. */
  async finish(): Promise<MarkedFragments> {
    const { disk } = this.#base.table;
    if (this.#written.size > 0) await disk.syncDirectory(this.#directory);
    const fragments = [...this.#marked].sort(([a], [b]) => a - b);
    return {
      updatedFragments: fragments.flatMap(([, fragment]) => fragment ?? []),
      removedFragmentIds: fragments.flatMap(([id, fragment]) => (fragment === null ? id : [])),
    };
  }

  /** True if all the files are still where they were written, and complete. */
  async areInPlace(): Promise<boolean> {
    const { disk } = this.#base.table;
    const files = [...this.#written];
    const stats = await mapParallel(files, PARALLELISM, ([path]) => disk.stat(path));
    return stats.every((stat, index) => stat?.size === files[index][1]);
  }

  /** Removes the files; for when the commit failed. */
  async discard(): Promise<void> {
    if (this.#written.size === 0) return;
    const { disk } = this.#base.table;
    await mapParallel([...this.#written.keys()], PARALLELISM, (path) => disk.remove(path));
    this.#written.clear();
    await disk.removeEmptyDirectory(this.#directory);
  }

  async #write(fragmentId: number, offsets: Uint32Array): Promise<DeletionFile> {
    const { version: readVersion } = this.#base;
    const { fileType, bytes } = await encodeDeletions(offsets);
    const [id] = crypto.getRandomValues(new BigUint64Array(1));
    const numDeletedRows = offsets.length;
    const file = DeletionFile.create({ fileType, readVersion, id, numDeletedRows });
    const name = deletionFileName(fragmentId, file);
    const pieces = sealedDeletions(bytes, fileType, name);
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
        // A failing writer has just removed the directory because it was empty, or is removing it.
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

/** The rows deleted so far; `all` where none is left once `count` more are deleted. */
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

/** The elements of both, ascending and each once. */
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
