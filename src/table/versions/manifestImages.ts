/**
 * Reads many manifests one after the other, for a caller that looks at each one once. Thousands of manifests
 * of a megabyte share a few pieces of memory, and bypass the cache of manifests. Fragments are not decoded:
 * versions share most fragments, byte for byte, so a caller needs only the difference from one version to the
 * next.
 */

import { yieldToEventLoop } from "../../async/eventLoop.js";
import { mapAhead } from "../../async/parallel.js";
import { sharedPrefix, sharedSuffix } from "../../bytes/commonEnds.js";
import { firstIndex } from "../../bytes/search.js";
import { InternalError } from "../../errors.js";
import { FieldRanges } from "../../format/fieldRanges.js";
import { DataFragment, FRAGMENTS_FIELD } from "../../format/table.js";
import type { Disk, ReadHandle } from "../../io/disk/disk.js";
import { isSameBytes } from "../../platform/native.js";
import { decodeManifestFile, type EncodedManifest, type ManifestFile, refuseOversized } from "./manifest.js";
import type { VersionEntry } from "./versions.js";

/** Maximum number of manifests that are read concurrently. */
const PARALLELISM = 16;
/** Approximate bytes of concurrent reads; a larger manifest is read alone. */
const READ_BYTES = 16 * 1024 * 1024;
/** Factor by which memory exceeds the need, because the next manifest is mostly larger. */
const GROWTH = 1.25;
const LEAST_MEMORY_BYTES = 4096;
/** Number of nearby fragments of another manifest that each fragment is compared with. */
const LOOK_AHEAD = 8;

export class ManifestImage {
  readonly #fragments = new FieldRanges(FRAGMENTS_FIELD);
  readonly #whenFree: (image: ManifestImage) => void;
  #memory = new Uint8Array(0);
  #content = this.#memory;
  #key = "";
  #file: ManifestFile | null = null;
  #encoded: EncodedManifest | null = null;
  #keepers = 0;

  constructor(whenFree: (image: ManifestImage) => void) {
    this.#whenFree = whenFree;
  }

  /** Path and identity of the file that was read, in one string. */
  get key(): string {
    return this.#key;
  }

  /** Decoded head, index section and transaction. */
  get file(): ManifestFile {
    if (this.#file === null) throw new InternalError("a manifest was looked at before it was decoded");
    return this.#file;
  }

  /**
   * Keeps the image unchanged until {@link letGo} was called as often as this method. Without a call, it
   * lasts for one visit.
   */
  keep(): void {
    this.#keepers++;
  }

  letGo(): void {
    if (--this.#keepers === 0) this.#whenFree(this);
  }

  /** @throws CorruptFileError */
  fragmentAt(index: number): DataFragment {
    const byteOffset = this.#fields.byteOffset + this.#fragments.startAt(index);
    return DataFragment.decode(this.#encodedFragment(index), { path: this.file.path, byteOffset });
  }

  /**
   * Yields the indexes of the fragments that `otherImage` lacks; of all fragments without it. It may also
   * yield fragments that `otherImage` has: between the common beginning and the common end, it compares a
   * fragment only with nearby ones.
   */
  *unsharedWith(otherImage: ManifestImage | null): Generator<number, void, undefined> {
    const mine = this.#fragments;
    const [start, end] = otherImage === null ? [0, mine.count] : this.#differenceFrom(otherImage);
    let next = start;
    for (let index = start; index < end; index++) {
      const twin = otherImage === null ? -1 : this.#twinOf(index, otherImage, next);
      if (twin < 0) yield index;
      else next = twin;
      next++;
    }
  }

  /** Returns the index of the same fragment in another manifest, from `from` on; -1 if it is not nearby. */
  #twinOf(index: number, otherImage: ManifestImage, from: number): number {
    const bytes = this.#encodedFragment(index);
    const last = Math.min(from + LOOK_AHEAD, otherImage.#fragments.count);
    for (let candidate = from; candidate < last; candidate++) {
      if (isSameBytes(bytes, otherImage.#encodedFragment(candidate))) return candidate;
    }
    return -1;
  }

  /**
   * Returns the range of fragments between the common beginning and the common end.
   * @returns index of the first of them, and one past the last
   */
  #differenceFrom(otherImage: ManifestImage): readonly [start: number, end: number] {
    const mine = this.#fragments;
    const others = otherImage.#fragments;
    if (mine.count === 0 || others.count === 0) return [0, mine.count];
    const last = mine.count - 1;
    const bytes = this.#fragmentBytes();
    const otherBytes = otherImage.#fragmentBytes();
    const prefixEnd = mine.tagAt(0) + sharedPrefix(bytes, otherBytes);
    const start = firstIndex(0, mine.count, (index) => mine.endAt(index) > prefixEnd);
    const suffixStart = mine.endAt(last) - sharedSuffix(bytes, otherBytes);
    let end = firstIndex(0, mine.count, (index) => mine.tagAt(index) >= suffixStart);
    // Equal bytes at the end may belong to one longer fragment of the other manifest.
    const moreThere = others.count - mine.count;
    const shift = others.endAt(others.count - 1) - mine.endAt(last);
    const isFragmentThere = (index: number): boolean =>
      index + moreThere >= 0 && others.tagAt(index + moreThere) === mine.tagAt(index) + shift;
    while (end < mine.count && !isFragmentThere(end)) end++;
    return [start, Math.max(start, end)];
  }

  #encodedFragment(index: number): Uint8Array {
    return this.#fields.bytes.subarray(this.#fragments.startAt(index), this.#fragments.endAt(index));
  }

  /** Returns the bytes from the first fragment's tag to the last one's end. */
  #fragmentBytes(): Uint8Array {
    const fragments = this.#fragments;
    return this.#fields.bytes.subarray(fragments.tagAt(0), fragments.endAt(fragments.count - 1));
  }

  get #fields(): EncodedManifest {
    if (this.#encoded === null) throw new InternalError("a manifest was looked at before it was decoded");
    return this.#encoded;
  }

  /** Reads an open manifest file into the memory of the image. */
  async read(handle: ReadHandle): Promise<void> {
    const { path, size, identity } = handle;
    refuseOversized(path, size);
    this.#file = null;
    this.#encoded = null;
    if (this.#memory.length < size) {
      this.#memory = new Uint8Array(Math.max(LEAST_MEMORY_BYTES, Math.ceil(size * GROWTH)));
    }
    this.#content = this.#memory.subarray(0, size);
    await readAll(handle, this.#content);
    this.#key = fileKey(path, identity);
  }

  /** @throws CorruptFileError */
  decode(path: string): void {
    this.#file = decodeManifestFile(this.#content, path);
    this.#encoded = this.#file.encoded;
    const { bytes, byteOffset } = this.#fields;
    this.#fragments.locate(bytes, { path, byteOffset });
  }
}

/** Joins the path and identity of a file to one string. */
export const fileKey = (path: string, identity: string): string => `${path}\0${identity}`;

async function readAll(handle: ReadHandle, target: Uint8Array): Promise<void> {
  if (target.length === 0) return;
  if (handle.readInto === undefined) {
    target.set(await handle.read(0, target.length));
    return;
  }
  await handle.readInto(target, {
    byteOffsets: Float64Array.of(0),
    lengths: Float64Array.of(target.length),
    positions: Float64Array.of(0),
  });
}

/** Reads any number of manifests in the memory of a few. */
export class ManifestReader {
  readonly #disk: Disk;
  readonly #free: ManifestImage[] = [];
  /** Bytes of the manifest read last, as an estimate for the next. */
  #lastBytes = READ_BYTES;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /**
   * Calls `visit` with each manifest that still exists, in order.
   * @throws CorruptFileError, UnsupportedError, and the errors of `visit`
   */
  async forEach<Entry extends VersionEntry>(
    entries: readonly Entry[],
    visit: (image: ManifestImage, entry: Entry) => Promise<void>,
  ): Promise<void> {
    const images = mapAhead(entries, async (entry) => ({ entry, image: await this.#read(entry) }), {
      weigh: () => Math.max(this.#lastBytes, READ_BYTES / PARALLELISM),
      maxWeight: READ_BYTES,
    });
    for await (const { entry, image } of images) {
      if (image === null) continue;
      await yieldToEventLoop();
      image.decode(entry.path);
      this.#lastBytes = image.file.byteLength;
      image.keep();
      await visit(image, entry);
      image.letGo();
    }
  }

  async #read({ path }: VersionEntry): Promise<ManifestImage | null> {
    const handle = await this.#disk.open(path);
    if (handle === null) return null;
    try {
      const image = this.#free.pop() ?? new ManifestImage((free) => void this.#free.push(free));
      await image.read(handle);
      return image;
    } finally {
      await handle.close();
    }
  }
}
