/** Makes the heads of a table's latest version (http/publishedHeads.ts). */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { CorruptFileError, UnsupportedError } from "../../errors.js";
import { type DataFileMetadata, openDataFile } from "../../file/container/reader.js";
import { sliceable } from "../../file/pages/pageSlice.js";
import type { IndexMetadata, Manifest } from "../../format/table.js";
import type { Disk, ReadHandle } from "../../io/disk/disk.js";
import { join } from "../../platform/native.js";
import {
  resolveDataFile,
  resolveDeletionFile,
  resolveIndexDirectory,
} from "../../table/fragments/fileLookup.js";
import { readManifestFile } from "../../table/versions/manifest.js";
import { listVersions } from "../../table/versions/versions.js";
import type { FileHead, FilePiece } from "../http/publishedHeads.js";

/** Files up to this size are in the heads as a whole. */
const WHOLE_BYTES = 16 * 1024;
/** Maximum bytes of a larger file's end. */
const MAX_TAIL_BYTES = 32 * 1024;
/** Maximum bytes of all words of a file that tell where rows are. */
const MAX_WORD_BYTES = 16 * 1024;
/** Maximum bytes of all heads of a table. Files beyond it have only their sizes told. */
const MAX_HEAD_BYTES = 512 * 1024;
/** Maximum number of files in the heads. */
const MAX_FILES = 10_000;

/** Directory of a table's own indexes. Those of a branch lie below it. */
const INDICES = "_indices/";

/** Heads of a table, and the names of its latest version's index directories. */
export interface TableHeads {
  readonly heads: ReadonlyMap<string, FileHead>;
  readonly indices: readonly string[];
}

/** Returns the heads of the latest version of a table; null if it has no version. */
export async function headsOfTable(disk: Disk, root: string): Promise<TableHeads | null> {
  const table = { disk, root };
  const latest = (await listVersions(table)).at(-1);
  if (latest === undefined) return null;
  const file = await readManifestFile(disk, latest.path);
  if (file === null) return null;
  const { manifest, indexSection } = file;
  const collector = new HeadCollector(disk, root);
  await collector.add(latest.path);
  const indices = await addIndexes(collector, table, manifest, indexSection?.indices ?? []);
  for (const fragment of manifest.fragments) {
    if (collector.isFull) break;
    const deletions = await resolveDeletionFile(table, manifest, fragment);
    if (deletions !== null) await collector.add(deletions);
    for (const each of fragment.files) await collector.add(await resolveDataFile(table, manifest, each));
    await yieldToEventLoop();
  }
  return { heads: collector.heads, indices };
}

/** Adds the files of indexes. Returns the names of their directories in the table. */
async function addIndexes(
  collector: HeadCollector,
  table: { readonly disk: Disk; readonly root: string },
  manifest: Manifest,
  entries: readonly IndexMetadata[],
): Promise<string[]> {
  const names: string[] = [];
  for (const entry of entries) {
    if (entry.uuid === undefined) continue;
    const directory = await resolveIndexDirectory(table, manifest, entry);
    const below = collector.below(directory);
    if (below === null) continue;
    const files = await table.disk.list(directory);
    if (files === null) continue;
    if (below.startsWith(INDICES)) names.push(below.slice(INDICES.length));
    for (const { name, kind } of files) if (kind === "file") await collector.add(join(directory, name));
  }
  return names;
}

class HeadCollector {
  readonly heads = new Map<string, FileHead>();
  readonly #disk: Disk;
  readonly #root: string;
  #byteLength = 0;

  constructor(disk: Disk, root: string) {
    this.#disk = disk;
    this.#root = root;
  }

  get isFull(): boolean {
    return this.heads.size >= MAX_FILES;
  }

  /** Returns a path below the directory of the table, with `/`; null for any other. */
  below(path: string): string | null {
    const prefix = join(this.#root, "x").slice(0, -1);
    return path.startsWith(prefix) ? path.slice(prefix.length).replaceAll("\\", "/") : null;
  }

  /** Adds a file of the table. Files elsewhere and missing ones are left out. */
  async add(path: string): Promise<void> {
    const below = this.below(path);
    if (below === null || this.isFull || this.heads.has(below)) return;
    const handle = await this.#disk.open(path);
    if (handle === null) return;
    try {
      const pieces = await piecesOf(handle, path);
      const byteLength = pieces.reduce((sum, { bytes }) => sum + bytes.length, 0);
      const fits = this.#byteLength + byteLength <= MAX_HEAD_BYTES;
      if (fits) this.#byteLength += byteLength;
      this.heads.set(below, { size: handle.size, pieces: fits ? pieces : [] });
    } finally {
      await handle.close();
    }
  }
}

/** Reads the parts of a file that its readers read first. */
async function piecesOf(handle: ReadHandle, path: string): Promise<FilePiece[]> {
  const { size } = handle;
  if (size === 0) return [];
  if (size <= WHOLE_BYTES) return [{ start: 0, bytes: await handle.read(0, size) }];
  const metadata = await metadataOf(handle, path);
  if (metadata === null) return [];
  let pagesEnd = 0;
  const words: { start: number; end: number }[] = [];
  for (const { pages } of metadata.columns) {
    for (const page of pages) {
      for (const { byteOffset, length } of page.bufferRanges)
        pagesEnd = Math.max(pagesEnd, byteOffset + length);
      const way = sliceable(page);
      if (way?.kind !== "miniBlock") continue;
      for (const buffer of way.buffers) {
        const { byteOffset, length } = page.bufferRanges[buffer];
        words.push({ start: byteOffset, end: byteOffset + length });
      }
    }
  }
  const tailStart = Math.max(pagesEnd, size - MAX_TAIL_BYTES);
  const pieces: FilePiece[] = [];
  for (const { start, end } of shortest(words, tailStart))
    pieces.push({ start, bytes: await handle.read(start, end - start) });
  pieces.push({ start: tailStart, bytes: await handle.read(tailStart, size - tailStart) });
  return pieces;
}

/** Returns null for a file that is no data file, or in a form that this release does not read. */
async function metadataOf(handle: ReadHandle, path: string): Promise<DataFileMetadata | null> {
  try {
    const metadata = await openDataFile(handle, path);
    return metadata.legacy === undefined ? metadata : null;
  } catch (error) {
    if (error instanceof CorruptFileError || error instanceof UnsupportedError) return null;
    throw error;
  }
}

/** Returns the shortest words that fit together, ascending and without overlaps. */
function shortest(
  words: readonly { start: number; end: number }[],
  before: number,
): { start: number; end: number }[] {
  const byLength = words.filter(({ end }) => end <= before);
  byLength.sort((a, b) => a.end - a.start - (b.end - b.start));
  let byteLength = 0;
  const fitting = byLength.filter(({ start, end }) => (byteLength += end - start) <= MAX_WORD_BYTES);
  fitting.sort((a, b) => a.start - b.start);
  return fitting.filter(({ start }, index) => index === 0 || start >= fitting[index - 1].end);
}
