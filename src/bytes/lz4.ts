/**
 * The LZ4 block format. A block is a chain of sequences:
 *
 *     token           1 byte: high half literal count, low half match length − 4
 *     literal count   when the high half is 15: bytes added up to and including the first that is not 255
 *     literals
 *     match distance  u16, little-endian, 1 … bytes written so far
 *     match length    when the low half is 15: as above
 *
 * The last sequence ends after its literals; it holds the last five bytes at least, and no match begins in
 * the last twelve. The decoder checks every count before it moves a byte. Its time and its writes are
 * therefore bounded by the output for any input.
 */

/**
 * Decodes `input` into `output`; returns false if `input` is not a block that fills `output` exactly.
 * @param from start of the block's output; matches may reach into the output of earlier blocks before it
 */
export function decodeLz4Block(input: Uint8Array, output: Uint8Array, from = 0): boolean {
  const inputEnd = input.length;
  const outputEnd = output.length;
  let read = 0;
  let written = from;
  if (inputEnd === 0) return false;
  for (;;) {
    if (read >= inputEnd) return false;
    const token = input[read++];
    let literals = token >>> 4;
    if (literals === 15) {
      let more = 255;
      while (more === 255) {
        if (read >= inputEnd) return false;
        more = input[read++];
        literals += more;
      }
    }
    if (literals > inputEnd - read || literals > outputEnd - written) return false;
    if (literals < 32) {
      for (let end = read + literals; read < end; ) output[written++] = input[read++];
    } else {
      output.set(input.subarray(read, read + literals), written);
      read += literals;
      written += literals;
    }
    if (read === inputEnd) return written === outputEnd;

    if (inputEnd - read < 2) return false;
    const distance = input[read] | (input[read + 1] << 8);
    read += 2;
    if (distance === 0 || distance > written) return false;
    let length = token & 15;
    if (length === 15) {
      let more = 255;
      while (more === 255) {
        if (read >= inputEnd) return false;
        more = input[read++];
        length += more;
      }
    }
    length += 4;
    if (length > outputEnd - written) return false;
    if (distance >= length && length >= 32) {
      output.copyWithin(written, written - distance, written - distance + length);
      written += length;
    } else {
      for (let source = written - distance, end = written + length; written < end; ) {
        output[written++] = output[source++];
      }
    }
  }
}

/** Number of bytes that a block decodes to; -1 if its chain of sequences does not end with the block. */
export function lz4BlockLength(input: Uint8Array): number {
  const inputEnd = input.length;
  let read = 0;
  let length = 0;
  for (;;) {
    if (read >= inputEnd) return -1;
    const token = input[read++];
    let literals = token >>> 4;
    if (literals === 15) {
      let more = 255;
      while (more === 255) {
        if (read >= inputEnd) return -1;
        more = input[read++];
        literals += more;
      }
    }
    read += literals;
    length += literals;
    if (read === inputEnd) return length;
    read += 2;
    length += (token & 15) + 4;
    if ((token & 15) === 15) {
      let more = 255;
      while (more === 255) {
        if (read >= inputEnd) return -1;
        more = input[read++];
        length += more;
      }
    }
  }
}
