/**
 * Decodes the manifest file, which describes one version of a table. All integers are
 * little-endian.
 *
 *     u32 length, IndexSection      at manifest.indexSection; absent without indexes
 *     u32 length, Transaction       at manifest.transactionSection; the change that made this version
 *     check block, 16 bytes         ours (bytes/checkBlock.ts); no offset of the reference leads to it
 *     u32 length, Manifest          at manifestPosition, up to the footer
 *     footer, 16 bytes              0  8  i64 manifestPosition
 *                                   8  2  u16 0, u16 2 (for any data format)
 *                                  12  4  "LANC"
 *
 * A file with a check block either decodes to the written content or is refused. A file without one (the
 * reference's) is only checked for being well formed.
 */

import { performance } from "../../async/timers.js";
import { CHECK_BLOCK_BYTES, lookAtCheckBlock } from "../../bytes/checkBlock.js";
import { CorruptFileError, UnsupportedError } from "../../errors.js";
import { IndexSection, Manifest, ManifestHead, ManifestSummary, Transaction } from "../../format/table.js";
import type { Disk } from "../../io/disk/disk.js";
import { isSameBytes } from "../../platform/native.js";

export const MANIFEST_FOOTER_BYTES = 16;
export const MANIFEST_PREFIX_BYTES = 4;
// Shared, because making a decoder costs more than decoding most texts.
const TEXT = new TextDecoder();
export const MANIFEST_FOOTER_MAGIC = new TextEncoder().encode("LANC");
export const MANIFEST_FOOTER_MAJOR = 0;
export const MANIFEST_FOOTER_MINOR = 2;
/** Maximum size in bytes of a manifest that is read. */
const MAX_MANIFEST_BYTES = 2 ** 30;
/** Bytes at the end of a manifest that are read as it is opened: most manifests as a whole. */
const TAIL_BYTES = 64 * 1024;
/** Milliseconds for which a look at a file stays valid. */
const SEEN_MS = 1000;

/** State that the manifests of one table share: each decodes only its difference to the last decoded one. */
export interface ManifestFamily {
  /** Manifest that was decoded or made last, as long as somebody else references it. */
  lastDecoded: WeakRef<Manifest> | null;
}

/** Records which of a version's files were looked at recently. */
export interface SeenFiles {
  /**
   * Returns true if an opened file was compared with the disk a moment ago, for this version. Files never
   * change while versions name them, but one restored from a backup must be noticed.
   */
  hasSeen(opened: object): boolean;
  /** Records that an opened file matches the disk. */
  see(opened: object): void;
}

interface ManifestFileParts {
  readonly head: ManifestHead;
  readonly manifest: Manifest | EncodedManifest;
  /** Bytes of the index section's message; null if the table has no indexes. */
  readonly indexSectionBytes: Uint8Array | null;
  /** Bytes of the inline transaction's message; null if there is none. */
  readonly transactionBytes: Uint8Array | null;
  /** Consecutive pieces of the file. */
  readonly content: readonly Uint8Array[];
  readonly family?: ManifestFamily | null;
}

/**
 * A manifest file. Its parts are decoded when first read, because a version committed in between matters only
 * for its transaction. Readers share the values and must not change them.
 */
export class ManifestFile implements SeenFiles {
  /** Path of the file that was read. */
  readonly path: string;
  readonly head: ManifestHead;
  readonly indexSectionBytes: Uint8Array | null;
  readonly transactionBytes: Uint8Array | null;
  /** Size of the file in bytes. */
  readonly byteLength: number;
  readonly #content: readonly Uint8Array[];
  #manifest: Manifest | EncodedManifest;
  readonly #family: ManifestFamily | null;
  #summary: ManifestSummary | undefined;
  #indexSection: IndexSection | undefined;
  #transaction: Transaction | undefined;
  /** Time of the last look at each opened file, by `performance.now()`. */
  #seen = new WeakMap<object, number>();

  constructor(path: string, parts: ManifestFileParts) {
    this.path = path;
    this.head = parts.head;
    this.#manifest = parts.manifest;
    this.indexSectionBytes = parts.indexSectionBytes;
    this.transactionBytes = parts.transactionBytes;
    this.byteLength = parts.content.reduce((sum, piece) => sum + piece.length, 0);
    this.#content = parts.content;
    this.#family = parts.family ?? null;
  }

  hasSeen(opened: object): boolean {
    const seenMs = this.#seen.get(opened);
    return seenMs !== undefined && performance.now() - seenMs < SEEN_MS;
  }

  see(opened: object): void {
    this.#seen.set(opened, performance.now());
  }

  /** Forgets the recorded looks: a manifest of equal content replaced this one, and may name other files. */
  forgetSeen(): void {
    this.#seen = new WeakMap();
  }

  /** The decoded manifest; null if it is not decoded yet. */
  get decoded(): Manifest | null {
    return "bytes" in this.#manifest ? null : this.#manifest;
  }

  /** Returns true if both files have the same bytes, and so are one version of one table. */
  isCopyOf(otherFile: ManifestFile): boolean {
    return this === otherFile || isSameContent(this.#content, otherFile.#content);
  }

  /** Returns true if the file consists of these bytes. */
  hasContent(bytes: Uint8Array): boolean {
    return isSameContent(this.#content, [bytes]);
  }

  /** Returns this file with a manifest that also states what the stored one omits. */
  completed(manifest: Manifest): ManifestFile {
    const { path, head, indexSectionBytes, transactionBytes } = this;
    const content = this.#content;
    return new ManifestFile(path, { head, manifest, indexSectionBytes, transactionBytes, content });
  }

  /** The encoded manifest; null once it is decoded. */
  get encoded(): EncodedManifest | null {
    return "bytes" in this.#manifest ? this.#manifest : null;
  }

  /** @throws CorruptFileError */
  get manifest(): Manifest {
    if ("bytes" in this.#manifest) {
      const { bytes, byteOffset } = this.#manifest;
      const similar = this.#family?.lastDecoded?.deref();
      this.#manifest = Manifest.decode(bytes, { path: this.path, byteOffset }, similar);
      if (this.#family !== null) this.#family.lastDecoded = new WeakRef(this.#manifest);
    }
    return this.#manifest;
  }

  /**
   * The manifest with only the counts of its fragments, whose files take most of the time to decode.
   * @throws CorruptFileError
   */
  get summary(): ManifestSummary {
    if (!("bytes" in this.#manifest)) return this.#manifest;
    const { bytes, byteOffset } = this.#manifest;
    this.#summary ??= ManifestSummary.decode(bytes, { path: this.path, byteOffset });
    return this.#summary;
  }

  /** @throws CorruptFileError */
  get indexSection(): IndexSection | null {
    if (this.indexSectionBytes === null) return null;
    const byteOffset = (this.head.indexSection ?? 0) + MANIFEST_PREFIX_BYTES;
    this.#indexSection ??= IndexSection.decode(this.indexSectionBytes, { path: this.path, byteOffset });
    return this.#indexSection;
  }

  /** @throws CorruptFileError */
  get transaction(): Transaction | null {
    if (this.transactionBytes === null) return null;
    const byteOffset = (transactionStart(this.head) ?? 0) + MANIFEST_PREFIX_BYTES;
    this.#transaction ??= Transaction.decode(this.transactionBytes, { path: this.path, byteOffset });
    return this.#transaction;
  }
}

/** The message, and its byte offset in the file. */
export interface EncodedManifest {
  readonly bytes: Uint8Array;
  readonly byteOffset: number;
}

/**
 * Decodes a manifest file.
 * @throws CorruptFileError
 */
export function decodeManifestFile(
  file: Uint8Array,
  path: string,
  family: ManifestFamily | null = null,
): ManifestFile {
  const footerStart = file.length - MANIFEST_FOOTER_BYTES;
  if (footerStart < MANIFEST_PREFIX_BYTES) {
    throw new CorruptFileError(path, 0, `${file.length} bytes are too few for a manifest`);
  }
  if (!bytesAt(file, footerStart + 12, MANIFEST_FOOTER_MAGIC)) {
    throw new CorruptFileError(path, footerStart + 12, "the file does not end in the magic of a manifest");
  }
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const position = view.getBigUint64(footerStart, true);
  if (position > BigInt(footerStart - MANIFEST_PREFIX_BYTES)) {
    throw new CorruptFileError(path, footerStart, `manifest position ${position} is outside the file`);
  }
  const manifestStart = Number(position);
  const manifestLength = view.getUint32(manifestStart, true);
  if (manifestStart + MANIFEST_PREFIX_BYTES + manifestLength !== footerStart) {
    throw new CorruptFileError(path, manifestStart, `manifest of ${manifestLength} bytes does not fit`);
  }
  const blockStart = manifestStart - CHECK_BLOCK_BYTES;
  if (lookAtCheckBlock(file, blockStart) === "damaged") {
    throw new CorruptFileError(path, blockStart, "the manifest fails its checksum");
  }
  const byteOffset = manifestStart + MANIFEST_PREFIX_BYTES;
  const bytes = file.subarray(byteOffset, footerStart);
  const head = ManifestHead.decode(bytes, { path, byteOffset });
  const section = (name: string, start: number | undefined): Uint8Array | null => {
    if (start === undefined) return null;
    if (start + MANIFEST_PREFIX_BYTES > manifestStart) {
      throw new CorruptFileError(path, manifestStart, `${name} position ${start} is outside the file`);
    }
    const end = start + MANIFEST_PREFIX_BYTES + view.getUint32(start, true);
    if (end > manifestStart) throw new CorruptFileError(path, start, `${name} runs into the manifest`);
    return file.subarray(start + MANIFEST_PREFIX_BYTES, end);
  };
  return new ManifestFile(path, {
    head,
    manifest: { bytes, byteOffset },
    indexSectionBytes: section("index section", head.indexSection),
    transactionBytes: section("transaction", transactionStart(head)),
    content: [file],
    family,
  });
}

/** Returns the file offset of the inline transaction; undefined if there is none. */
const transactionStart = (head: ManifestHead): number | undefined =>
  head.transactionSection ?? head.transactionSection14;

function bytesAt(file: Uint8Array, offset: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index++) {
    if (file[offset + index] !== expected[index]) return false;
  }
  return true;
}

/**
 * Reads a manifest file; null if it does not exist.
 * @throws CorruptFileError
 */
export async function readManifestFile(disk: Disk, path: string): Promise<ManifestFile | null> {
  const read = await readManifestBytes(disk, path);
  return read === null ? null : decodeManifestFile(read.bytes, path);
}

/** Reads the bytes of a manifest file and its identity; null if it does not exist. */
export async function readManifestBytes(
  disk: Disk,
  path: string,
): Promise<{ bytes: Uint8Array; identity: string } | null> {
  const handle = await disk.open(path, TAIL_BYTES);
  if (handle === null) return null;
  try {
    refuseOversized(path, handle.size);
    const tail = handle.takeTail?.() ?? null;
    const isWhole = tail !== null && tail.length === handle.size;
    return { bytes: isWhole ? tail : await handle.read(0, handle.size), identity: handle.identity };
  } finally {
    await handle.close();
  }
}

/** @throws UnsupportedError for a manifest that is too large to read */
export function refuseOversized(path: string, size: number): void {
  if (size <= MAX_MANIFEST_BYTES) return;
  throw new UnsupportedError(`manifest ${path} of ${size} bytes is beyond ${MAX_MANIFEST_BYTES}`);
}

/** Returns the metadata of a version's Arrow schema, with replacement characters for invalid UTF-8. */
export function schemaMetadataOf(manifest: Pick<Manifest, "schemaMetadata">): Map<string, string> {
  return new Map(Array.from(manifest.schemaMetadata, ([key, value]) => [key, TEXT.decode(value)]));
}

/** Returns true if consecutive pieces hold the same bytes, however they are cut. */
function isSameContent(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  const lengthOf = (pieces: readonly Uint8Array[]) => pieces.reduce((sum, { length }) => sum + length, 0);
  if (lengthOf(a) !== lengthOf(b)) return false;
  let [indexA, indexB, startA, startB] = [0, 0, 0, 0];
  while (indexA < a.length && indexB < b.length) {
    const [pieceA, pieceB] = [a[indexA], b[indexB]];
    const length = Math.min(pieceA.length - startA, pieceB.length - startB);
    if (!isSameBytes(pieceA.subarray(startA, startA + length), pieceB.subarray(startB, startB + length))) {
      return false;
    }
    startA += length;
    startB += length;
    if (startA === pieceA.length) [indexA, startA] = [indexA + 1, 0];
    if (startB === pieceB.length) [indexB, startB] = [indexB + 1, 0];
  }
  return true;
}
