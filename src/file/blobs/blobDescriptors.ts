/**
 * Descriptors of blobs: they locate the values of a blob column. The values are outside the pages, anywhere
 * in the same file; the pages hold, per value, 16 bytes:
 *
 *     0  u64  position in the file        8  u64  bytes
 *
 * An empty value has position 0. A descriptor with 0 bytes and any other position is a null: position 1 in
 * version 2.0, the null's levels from 2.1 on (structural/blob.ts). In memory, descriptors are a column of
 * 16-byte values with a validity.
 *
 * Blobs of version 2, in files of 2.2, have packed structs of variable width as descriptors, in memory a
 * column of binaries:
 *
 *     0  u8   kind: 0 in the data file, 1 in a side file with others, 2 in one of its own, 3 outside the
 *             table
 *     1  u64  position          9  u64  bytes
 *
 * Side files are in a directory named like the data file without its suffix. The name of a side file is its
 * number in binary, lowest bit first, as 32 digits 0 and 1, and `.blob`.
 */

import type {
  FixedColumn,
  PackedStructColumn,
  Validity,
  VariableColumn,
} from "../../arrow/columns/column.js";
import { isValid } from "../../arrow/columns/validity.js";
import { writeUint64 } from "../../bytes/littleEndian.js";
import type { ByteRange } from "../../io/disk/ranges.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import { DESCRIPTOR_BYTES } from "./descriptorLayouts.js";

export interface BlobLocation {
  /** Path of the file; null for a value outside the table, which has only a URI. */
  readonly path: string | null;
  /** Number of the side file; 0 for the data file. */
  readonly sideFile: number;
  readonly byteOffset: number;
  readonly length: number;
  readonly uri: Uint8Array;
}

/** Location of a value in a side file. */
export interface SidePosition {
  /** Number of the side file. */
  readonly number: number;
  readonly byteOffset: number;
  /** True if the file holds only this value. */
  readonly isAlone: boolean;
}

const NO_URI = new Uint8Array(0);
const PACKED_BYTES = 25;
const KIND = { INLINE: 0, PACKED: 1, DEDICATED: 2, EXTERNAL: 3 } as const;
const DATA_FILE_SUFFIX = ".lance";

/**
 * Returns the location of each value in a column of descriptors of either kind; null for a null.
 * @param path of the data file
 * @throws CorruptFileError for invalid descriptors, UnsupportedError for an unknown kind
 */
export function blobLocations(column: FixedColumn | VariableColumn, path: string): (BlobLocation | null)[] {
  return Array.from({ length: column.length }, (_, index) => {
    if (column.kind === "variable") return packedDescriptorAt(column, index, path);
    const range = descriptorAt(column, index, path);
    return range === null ? null : { ...range, path, sideFile: 0, uri: NO_URI };
  });
}

function packedDescriptorAt(
  { offsets, bytes, validity }: VariableColumn,
  index: number,
  path: string,
): BlobLocation | null {
  if (!isValid(validity, index)) return null;
  const origin = { path, byteOffset: 0 };
  const start = Number(offsets[index]);
  const size = Number(offsets[index + 1]) - start;
  const view = new DataView(bytes.buffer, bytes.byteOffset + start, size);
  if (size < PACKED_BYTES || view.getUint32(21, true) !== size - PACKED_BYTES) {
    throw corruptPage(origin, `a descriptor of a blob in ${size} bytes`);
  }
  const kind = view.getUint8(0);
  const { byteOffset, length } = rangeAt(view, 1, path);
  const uri = bytes.subarray(start + PACKED_BYTES, start + size);
  switch (kind) {
    case KIND.INLINE:
      return { path, sideFile: 0, byteOffset, length, uri };
    case KIND.PACKED:
    case KIND.DEDICATED: {
      const sideFile = view.getUint32(17, true);
      if (sideFile === 0) throw corruptPage(origin, "a blob in a side file without a number");
      // The directory of side files is named like the data file without its suffix.
      if (!path.endsWith(DATA_FILE_SUFFIX))
        throw corruptPage(origin, "a blob in a side file without a data file");
      return { path: sideFilePath(path, sideFile), sideFile, byteOffset, length, uri };
    }
    case KIND.EXTERNAL:
      return { path: null, sideFile: 0, byteOffset, length, uri };
    default:
      throw unsupportedPage(origin, `blobs of kind ${kind}`);
  }
}

export const sideFileDirectory = (dataFilePath: string): string =>
  dataFilePath.slice(0, -DATA_FILE_SUFFIX.length);

/** @param number from 1 */
export function sideFilePath(dataFilePath: string, number: number): string {
  const bits = number.toString(2).padStart(32, "0").split("").reverse().join("");
  return `${sideFileDirectory(dataFilePath)}/${bits}.blob`;
}

/** Builds descriptors of version 2. A row describes an empty value until it is set. */
export class DescriptorRows {
  readonly #kinds: Uint8Array;
  readonly #positions: DataView;
  readonly #sizes: DataView;
  readonly #sideFiles: DataView;

  constructor(private readonly length: number) {
    this.#kinds = new Uint8Array(length);
    this.#positions = new DataView(new ArrayBuffer(length * 8));
    this.#sizes = new DataView(new ArrayBuffer(length * 8));
    this.#sideFiles = new DataView(new ArrayBuffer(length * 4));
  }

  setInline(index: number, byteOffset: number, byteCount: number): void {
    this.#set(index, KIND.INLINE, byteOffset, byteCount);
  }

  setAside(index: number, { number, byteOffset, isAlone }: SidePosition, size: number): void {
    this.#set(index, isAlone ? KIND.DEDICATED : KIND.PACKED, byteOffset, size);
    this.#sideFiles.setUint32(index * 4, number, true);
  }

  column(validity: Validity | null): PackedStructColumn {
    const length = this.length;
    const fixed = (bytes: Uint8Array): FixedColumn => ({
      kind: "fixed",
      length,
      validity: null,
      byteWidth: length === 0 ? 1 : bytes.length / length,
      values: bytes,
    });
    const uris: VariableColumn = {
      kind: "variable",
      length,
      validity: null,
      offsets: new Int32Array(length + 1),
      bytes: NO_URI,
    };
    const views = [this.#positions, this.#sizes, this.#sideFiles];
    const members = views.map(({ buffer }) => fixed(new Uint8Array(buffer)));
    return { kind: "packedStruct", length, validity, children: [fixed(this.#kinds), ...members, uris] };
  }

  #set(index: number, kind: number, byteOffset: number, byteCount: number): void {
    this.#kinds[index] = kind;
    writeUint64(this.#positions, index * 8, byteOffset);
    writeUint64(this.#sizes, index * 8, byteCount);
  }
}

export function setDescriptor(
  descriptors: Uint8Array,
  index: number,
  position: number,
  byteCount: number,
): void {
  const view = new DataView(descriptors.buffer, descriptors.byteOffset + index * DESCRIPTOR_BYTES);
  writeUint64(view, 0, position);
  writeUint64(view, 8, byteCount);
}

/** Returns the location of a value; null for a null. @throws CorruptFileError for a number beyond any file */
function descriptorAt({ values, validity }: FixedColumn, index: number, path: string): ByteRange | null {
  if (!isValid(validity, index)) return null;
  const view = new DataView(values.buffer, values.byteOffset + index * DESCRIPTOR_BYTES, DESCRIPTOR_BYTES);
  return rangeAt(view, 0, path);
}

function rangeAt(view: DataView, start: number, path: string): ByteRange {
  const byteOffset = view.getUint32(start, true) + view.getUint32(start + 4, true) * 2 ** 32;
  const length = view.getUint32(start + 8, true) + view.getUint32(start + 12, true) * 2 ** 32;
  if (Number.isSafeInteger(byteOffset + length)) return { byteOffset, length };
  throw corruptPage({ path, byteOffset: 0 }, `a blob of ${length} bytes at ${byteOffset}`);
}

/**
 * Returns the position of each descriptor of an empty value; 0 for all other descriptors.
 * @throws CorruptFileError for a position that does not fit 32 bits
 */
export function marksOf(values: Uint8Array, count: number, origin: PageOrigin): Uint32Array {
  const view = new DataView(values.buffer, values.byteOffset, count * DESCRIPTOR_BYTES);
  const marks = new Uint32Array(count);
  for (let index = 0, offset = 0; index < count; index++, offset += DESCRIPTOR_BYTES) {
    if (view.getUint32(offset + 8, true) !== 0 || view.getUint32(offset + 12, true) !== 0) continue;
    if (view.getUint32(offset + 4, true) !== 0)
      throw corruptPage(origin, "a blob of no bytes with a position");
    marks[index] = view.getUint32(offset, true);
  }
  return marks;
}
