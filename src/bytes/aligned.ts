/**
 * Typed arrays need an address that is a multiple of their element. Buffers of a file start aligned in memory
 * and so do most of their parts; the few that do not are copied.
 */

/** `bytes`, or a copy of them, at an address that is a multiple of `alignment`. */
export const alignedBytes = (bytes: Uint8Array, alignment: number): Uint8Array =>
  bytes.byteOffset % alignment === 0 ? bytes : new Uint8Array(bytes);

/** The next multiple of 8. */
export const alignTo8 = (size: number): number => Math.ceil(size / 8) * 8;

/**
 * How far bytes begin behind a multiple of 8. Engines copy between shared memory and other memory eight bytes at a time
 * where both begin equally far behind one, and byte by byte, which takes many times as long, everywhere else.
 */
export const phaseOf = ({ byteOffset }: ArrayBufferView): number => byteOffset & 7;
