/** Buffers of a 2.0 page, which the arrays in it name by index. */

import { BufferKind, type BufferReference } from "../../format/encodings20.js";
import { corruptPage, type PageOrigin, unsupportedPage } from "../container/page.js";

export interface PageBuffers {
  readonly buffers: readonly Uint8Array[];
  readonly origin: PageOrigin;
}

/** @throws CorruptFileError for a missing buffer, UnsupportedError for one outside the page */
export function bufferAt(page: PageBuffers, reference: BufferReference | undefined): Uint8Array {
  if (reference !== undefined && reference.bufferType !== BufferKind.PAGE) {
    throw unsupportedPage(page.origin, "buffers outside the page");
  }
  const index = reference?.bufferIndex ?? 0;
  const buffer = page.buffers[index];
  if (buffer === undefined) {
    throw corruptPage(page.origin, `buffer ${index} of a page of ${page.buffers.length} buffers`);
  }
  return buffer;
}

/** Buffers of a page being written, in the order of its tree of arrays. */
export class PageBufferList {
  readonly buffers: (readonly Uint8Array[])[] = [];

  /** Adds a buffer that consists of the pieces, back to back. */
  add(...pieces: readonly Uint8Array[]): BufferReference {
    this.buffers.push(pieces);
    return { bufferIndex: this.buffers.length - 1, bufferType: BufferKind.PAGE };
  }
}
