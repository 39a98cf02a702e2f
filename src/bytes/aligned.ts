/**
 * Typed arrays need an address that is a multiple of their element. Buffers of a file start aligned in memory
 * and so do most of their parts; the few that do not are copied.
 */

/** `bytes`, or a copy of them, at an address that is a multiple of `alignment`. */
export const alignedBytes = (bytes: Uint8Array, alignment: number): Uint8Array =>
  bytes.byteOffset % alignment === 0 ? bytes : new Uint8Array(bytes);

/** The next multiple of 8. */
export const alignTo8 = (size: number): number => Math.ceil(size / 8) * 8;
