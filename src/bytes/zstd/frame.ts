/**
 * Zstandard frames (RFC 8878), without dictionaries: their parts, and the size of their content.
 *
 *     magic           28 B5 2F FD
 *     descriptor      bits 6–7 size of the content size (0, 2, 4, 8; 0 is 1 byte in a single segment),
 *                     bit 5 single segment, bit 3 reserved, bit 2 checksum, bits 0–1 size of a dictionary id
 *     window          1 byte, absent in a single segment
 *     content size
 *     blocks          3 bytes: bit 0 last, bits 1–2 kind (0 raw, 1 run of one byte, 2 compressed), then size
 *     checksum        4 bytes, if the descriptor says so; not verified
 *
 * A compressed block is a section of literals (Huffman-coded or plain) and one of sequences (three
 * interleaved FSE streams: literal length, match offset, match length), read from the back.
 */

export const MAXIMUM_BLOCK_BYTES = 128 * 1024;

interface ZstdFrameBound {
  /** Size that the frame states; null if it states none. */
  readonly contentSize: number | null;
  /** Maximum size according to its blocks. */
  readonly maximumSize: number;
}

/** Walks the blocks of a frame; null if `frame` is not exactly one frame without dictionary. */
export function zstdFrameBound(frame: Uint8Array): ZstdFrameBound | null {
  if (frame.length < 9) return null;
  if (frame[0] !== 0x28 || frame[1] !== 0xb5 || frame[2] !== 0x2f || frame[3] !== 0xfd) return null;
  const descriptor = frame[4];
  const singleSegment = (descriptor & 0x20) !== 0;
  if ((descriptor & 0x0b) !== 0) return null;
  let position = singleSegment ? 5 : 6;
  const sizeBytes = descriptor >>> 6 === 0 ? (singleSegment ? 1 : 0) : 1 << (descriptor >>> 6);
  if (position + sizeBytes > frame.length) return null;
  let contentSize: number | null = null;
  if (sizeBytes > 0) {
    contentSize = sizeBytes === 2 ? 256 : 0;
    for (let byte = sizeBytes - 1, scale = 256 ** byte; byte >= 0; byte--, scale /= 256) {
      contentSize += frame[position + byte] * scale;
    }
  }
  position += sizeBytes;
  let maximumSize = 0;
  for (let last = false; !last; ) {
    if (position + 3 > frame.length) return null;
    const header = frame[position] | (frame[position + 1] << 8) | (frame[position + 2] << 16);
    position += 3;
    last = (header & 1) !== 0;
    const kind = (header >>> 1) & 3;
    const size = header >>> 3;
    if (size > MAXIMUM_BLOCK_BYTES || kind === 3) return null;
    position += kind === 1 ? 1 : size;
    maximumSize += kind === 2 ? MAXIMUM_BLOCK_BYTES : size;
  }
  if ((descriptor & 0x04) !== 0) position += 4;
  if (position !== frame.length) return null;
  return { contentSize, maximumSize };
}
