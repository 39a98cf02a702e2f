/** The memory under typed arrays. */

/** Bytes under a view; no copy. */
export const bytesOf = (view: ArrayBufferView): Uint8Array =>
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
