/**
 * The blob layout of 2.1: an inner layout whose values are descriptors (../blobs/blobDescriptors.ts), and
 * layers of its own. All values of the inner layout are valid. An event without a value is a descriptor of no
 * bytes:
 *
 *     position, bits 0–15   repetition level        bits 16–31   definition level, not 0
 *
 * The descriptor of a value has no room for levels, so a blob cannot be in a list.
 */

import type { LeafLayout } from "../../arrow/columns/column.js";
import type { BlobLayout, PageLayout } from "../../format/encodings.js";
import { marksOf } from "../blobs/blobDescriptors.js";
import { DESCRIPTOR_BYTES } from "../blobs/descriptorLayouts.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";
import type { Layers } from "../events/levels.js";
import type { PageEvents } from "./miniBlock.js";

/** Layout of the descriptors, as a layout of 16-byte values. */
export function descriptorLayout(leaf: LeafLayout, page: BlobLayout, origin: PageOrigin): PageLayout {
  const { innerLayout } = page;
  if (leaf.kind !== "fixed" || leaf.byteWidth !== DESCRIPTOR_BYTES) {
    throw corruptPage(origin, "blobs in a column of values");
  }
  if (innerLayout === undefined) throw corruptPage(origin, "blob page without a layout of its descriptors");
  if (innerLayout.blob !== undefined) throw corruptPage(origin, "blob page in another");
  const { miniBlock } = innerLayout;
  const pair = miniBlock?.valueCompression?.packedStruct;
  if (miniBlock === undefined || pair === undefined) return innerLayout;
  if (pair.bitsPerValue.join() !== "64,64") {
    throw unsupportedPage(origin, `blob descriptors of ${pair.bitsPerValue.join(" and ")} bits`);
  }
  return { miniBlock: { ...miniBlock, valueCompression: pair.values } };
}

export function blobEvents(
  descriptors: PageEvents["values"],
  { listDepth, maximumDefinition }: Layers,
  origin: PageOrigin,
): PageEvents {
  if (listDepth > 0) throw unsupportedPage(origin, "blobs in lists");
  if (descriptors.kind !== "fixed" || descriptors.validity !== null) {
    throw corruptPage(origin, "descriptors of blobs that are null");
  }
  const marks = marksOf(descriptors.values, descriptors.length, origin);
  const definition = new Uint16Array(marks.length);
  for (let index = 0; index < marks.length; index++) {
    if ((marks[index] & 0xffff) !== 0) throw unsupportedPage(origin, "repetition levels of blobs");
    definition[index] = marks[index] >>> 16;
    if (definition[index] > maximumDefinition) {
      throw corruptPage(origin, `level ${definition[index]} where ${maximumDefinition} is the largest`);
    }
  }
  return {
    values: descriptors,
    levels: { repetition: null, definition: maximumDefinition === 0 ? null : definition },
  };
}
