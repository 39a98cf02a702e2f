/**
 * Stores blob values in their files while a data file is written, and replaces them with descriptors. Values
 * in the data file begin at multiples of 64. Values go to the disk as they come, without a copy.
 */

import type { Column, FixedColumn, LeafColumn, PackedStructColumn } from "../../arrow/columns/column.js";
import { mapLeaf } from "../../arrow/columns/spine.js";
import { isValid } from "../../arrow/columns/validity.js";
import { InternalError, InvalidInputError, UnsupportedError } from "../../errors.js";
import type { Disk } from "../../io/disk/disk.js";
import type { ByteRange } from "../../io/disk/ranges.js";
import { DescriptorRows, setDescriptor } from "../blobs/blobDescriptors.js";
import { DESCRIPTOR_LAYOUT } from "../blobs/descriptorLayouts.js";
import { SideFiles } from "../blobs/sideFiles.js";
import { visibleLeaf } from "../blobs/visibleLeaf.js";
import { BlobChecksumList } from "../container/blobChecksumList.js";
import type { BlobPlacement, SizePlacement } from "../container/blobPlacement.js";
import type { FileAppender } from "../container/fileAppender.js";

export class BlobWriter {
  readonly #sideFiles: SideFiles;
  readonly #checksums = new BlobChecksumList();

  /**
   * @param path of the data file
   * @param file the appender of the data file
   */
  constructor(
    disk: Disk,
    path: string,
    private readonly file: FileAppender,
  ) {
    this.#sideFiles = new SideFiles(disk, path);
  }

  /**
   * Writes the values of a spine's leaf.
   * @param path of the column, for messages
   * @returns the spine with descriptors as its leaf
   * @throws InvalidInputError for a struct that does not hold a blob, UnsupportedError for a blob outside the
   *   table
   */
  async place(spine: Column, placement: BlobPlacement, path: string): Promise<Column> {
    const { leaf, isVisible } = visibleLeaf(spine);
    const placed =
      placement.kind === "inFile"
        ? await this.#placeInFile(leaf, isVisible)
        : await this.#placeBySize(leaf, isVisible, placement, path);
    return mapLeaf(spine, () => placed);
  }

  /**
   * Writes the checksums of all values to the data file.
   * @returns their location; null if there are none
   */
  writeChecksums(): ByteRange | null {
    if (this.#checksums.count === 0) return null;
    const buffer = this.#checksums.encode();
    const range = { byteOffset: this.file.position, length: buffer.length };
    this.file.append(buffer);
    this.file.pad();
    return range;
  }

  /** Completes the side files. They and their names then survive a power cut. */
  async finish(): Promise<void> {
    await this.#sideFiles.finish();
  }

  /** Gives up and removes the side files. */
  async abort(): Promise<void> {
    await this.#sideFiles.abort();
  }

  async #placeInFile(leaf: LeafColumn, isVisible: (index: number) => boolean): Promise<FixedColumn> {
    if (leaf.kind !== "variable") throw new InternalError(`a column of kind ${leaf.kind} cannot hold blobs`);
    const { length, validity } = leaf;
    const descriptors = new Uint8Array(length * DESCRIPTOR_LAYOUT.byteWidth);
    for (let index = 0; index < length; index++) {
      if (!isVisible(index)) continue;
      const value = valueAt(leaf, index);
      if (value.length > 0) setDescriptor(descriptors, index, await this.#inline(value), value.length);
    }
    return { ...DESCRIPTOR_LAYOUT, length, validity, values: descriptors };
  }

  async #placeBySize(
    leaf: LeafColumn,
    isVisible: (index: number) => boolean,
    placement: SizePlacement,
    path: string,
  ): Promise<PackedStructColumn> {
    if (leaf.kind !== "packedStruct")
      throw new InternalError(`a column of kind ${leaf.kind} cannot hold blobs`);
    const { length, validity, children } = leaf;
    const rows = new DescriptorRows(length);
    for (let index = 0; index < length; index++) {
      if (!isVisible(index)) continue;
      const value = dataAt(children, index, path);
      if (value.length > placement.sharedBytes || value.length > placement.inlineBytes) {
        const position = await this.#sideFiles.put(value, placement);
        this.#checksums.add(position.number, position.byteOffset, value);
        rows.setAside(index, position, value.length);
      } else {
        rows.setInline(index, await this.#inline(value), value.length);
      }
    }
    return rows.column(validity);
  }

  /** @returns position of the value in the data file */
  async #inline(value: Uint8Array): Promise<number> {
    const { position } = this.file;
    if (value.length === 0) return position;
    this.#checksums.add(0, position, value);
    this.file.append(value);
    this.file.pad();
    await this.file.relieve();
    return position;
  }
}

/** Returns the value in a struct of data, URI and maybe the range within the file of the URI. */
function dataAt([data, uri, ...range]: readonly LeafColumn[], index: number, path: string): Uint8Array {
  if (data.kind !== "variable") throw new InternalError(`a column of kind ${data.kind} cannot hold blobs`);
  const has = (member: LeafColumn): boolean => isValid(member.validity, index);
  if (has(data) === has(uri)) {
    const which = has(data) ? "both" : "neither";
    throw new InvalidInputError(`column ${path}: a blob has ${which} of data and uri`);
  }
  if (has(uri)) {
    throw new UnsupportedError(
      `column ${path}: a blob has a uri, and blobs that stay outside the table are not written by this release`,
    );
  }
  if (range.some(has)) {
    throw new InvalidInputError(`column ${path}: a blob without a uri has position and size`);
  }
  return valueAt(data, index);
}

function valueAt({ offsets, bytes }: Extract<LeafColumn, { kind: "variable" }>, index: number): Uint8Array {
  return bytes.subarray(Number(offsets[index]), Number(offsets[index + 1]));
}
