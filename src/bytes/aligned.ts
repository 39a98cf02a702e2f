/**
 * Typed arrays need an address that is a multiple of their element's size. Buffers of a file start aligned in
 * memory, and so do most of their parts; the few others are copied.
 */

/** `bytes`, or a copy of them, at an address that is a multiple of `alignment`. */
export const alignedBytes = (bytes: Uint8Array, alignment: number): Uint8Array =>
  bytes.byteOffset % alignment === 0 ? bytes : new Uint8Array(bytes);

/** Rounds up to a multiple of 8. */
export const alignTo8 = (size: number): number => Math.ceil(size / 8) * 8;

/**
 * Distance of a view from the multiple of 8 before it. Engines copy between shared and other memory 8 bytes
 * at a time if both sides have the same phase. Otherwise they copy byte by byte, many times as slowly.
 */
export const phaseOf = ({ byteOffset }: ArrayBufferView): number => byteOffset & 7;
