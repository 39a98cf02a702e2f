/** Bitmaps as Arrow and Lance keep them: bit `i` is bit `i mod 8` of byte `i div 8`, least significant first. */

/**
 * Copies `count` bits. Source and target must not overlap; the target's bits from `targetBit` up to the end of
 * the last byte touched must be zero, and both ranges must be inside their arrays.
 */
export function copyBits(
  source: Uint8Array,
  sourceBit: number,
  target: Uint8Array,
  targetBit: number,
  count: number,
): void {
  let from = sourceBit;
  let to = targetBit;
  let left = count;
  if (left > 0 && (to & 7) !== 0) {
    const room = Math.min(8 - (to & 7), left);
    target[Math.floor(to / 8)] |= readBits(source, from, room) << (to & 7);
    from += room;
    to += room;
    left -= room;
  }
  let byte = Math.floor(to / 8);
  const whole = Math.floor(left / 8);
  let read = Math.floor(from / 8);
  const shift = from & 7;
  if (shift === 0) {
    if (whole > 0) target.set(source.subarray(read, read + whole), byte);
  } else {
    for (let end = byte + whole; byte < end; byte++, read++) {
      target[byte] = (source[read] >>> shift) | (source[read + 1] << (8 - shift));
    }
  }
  const tail = left - whole * 8;
  if (tail > 0) target[Math.floor(to / 8) + whole] |= readBits(source, from + whole * 8, tail);
}

/** The `count` ≤ 8 bits from `bit` on. */
function readBits(source: Uint8Array, bit: number, count: number): number {
  const byte = Math.floor(bit / 8);
  const shift = bit & 7;
  let bits = source[byte] >>> shift;
  if (shift + count > 8) bits |= source[byte + 1] << (8 - shift);
  return bits & ((1 << count) - 1);
}

/** Number of one bits among the `count` bits from `bit` on. */
export function countOnes(bytes: Uint8Array, bit: number, count: number): number {
  let ones = 0;
  let position = bit;
  const end = bit + count;
  while (position < end && (position & 7) !== 0) {
    ones += (bytes[Math.floor(position / 8)] >>> (position & 7)) & 1;
    position++;
  }
  let byte = Math.floor(position / 8);
  for (const last = Math.floor(end / 8); byte < last; byte++, position += 8) {
    let bits = bytes[byte];
    bits -= (bits >>> 1) & 0x55;
    bits = (bits & 0x33) + ((bits >>> 2) & 0x33);
    ones += (bits + (bits >>> 4)) & 0x0f;
  }
  for (; position < end; position++) ones += (bytes[Math.floor(position / 8)] >>> (position & 7)) & 1;
  return ones;
}
