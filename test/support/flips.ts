/** Yields the bytes with each single bit flipped, and the index of that bit. */
export function* flipsOf(bytes: Uint8Array): Generator<{ flipped: Uint8Array; bit: number }> {
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = bytes.slice();
    flipped[bit >> 3] ^= 1 << (bit & 7);
    yield { flipped, bit };
  }
}
