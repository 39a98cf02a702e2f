/** Bitmaps of Arrow and Lance: bit `i` is bit `i mod 8` of byte `i div 8`, least significant first. */

/**
 * Copies `count` bits within the ranges of both arrays, which must not overlap. The target's bits from
 * `targetBit` to the end of the last byte must be zero.
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

/** Reads `count` ≤ 8 bits. */
function readBits(source: Uint8Array, bit: number, count: number): number {
  const byte = Math.floor(bit / 8);
  const shift = bit & 7;
  let bits = source[byte] >>> shift;
  if (shift + count > 8) bits |= source[byte + 1] << (8 - shift);
  return bits & ((1 << count) - 1);
}

/** Minimum length for counting bits a word at a time. */
const MIN_WORD_BYTES = 16;

/** Number of one bits among `count` bits, starting with `bit`. */
export function countOnes(bytes: Uint8Array, bit: number, count: number): number {
  let ones = 0;
  let position = bit;
  const end = bit + count;
  while (position < end && (position & 7) !== 0) {
    ones += (bytes[Math.floor(position / 8)] >>> (position & 7)) & 1;
    position++;
  }
  let byte = Math.floor(position / 8);
  const last = Math.floor(end / 8);
  if (last - byte >= MIN_WORD_BYTES) {
    for (; ((bytes.byteOffset + byte) & 3) !== 0; byte++) ones += countSetBits(bytes[byte]);
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + byte, (last - byte) >>> 2);
    for (let index = 0; index < words.length; index++) ones += countSetBits(words[index]);
    byte += words.length * 4;
  }
  for (; byte < last; byte++) ones += countSetBits(bytes[byte]);
  position = Math.max(position, byte * 8);
  for (; position < end; position++) ones += (bytes[Math.floor(position / 8)] >>> (position & 7)) & 1;
  return ones;
}

/**
 * Positions of the one bits among the first `count`, ascending; null if all of them are one.
 * @param bytes at least as many as hold `count` bits
 */
export function positionsOfOnes(bytes: Uint8Array, count: number): Uint32Array | null {
  const ones = countOnes(bytes, 0, count);
  if (ones === count) return null;
  const positions = new Uint32Array(ones);
  let next = 0;
  // 32 bits at a time: in most bitmaps most words are zero, or have few ones.
  const wordCount = bytes.byteOffset % 4 === 0 ? count >>> 5 : 0;
  const words = new Int32Array(bytes.buffer, wordCount === 0 ? 0 : bytes.byteOffset, wordCount);
  for (let index = 0; index < wordCount; index++) {
    for (let word = words[index]; word !== 0; word &= word - 1) {
      positions[next++] = (index << 5) + 31 - Math.clz32(word & -word);
    }
  }
  for (let bit = wordCount << 5; next < ones; bit++) {
    const byte = bytes[bit >>> 3];
    if (byte === 0) bit |= 7;
    else if ((byte >>> (bit & 7)) & 1) positions[next++] = bit;
  }
  return positions;
}

export function countSetBits(word: number): number {
  let bits = word - ((word >>> 1) & 0x5555_5555);
  bits = (bits & 0x3333_3333) + ((bits >>> 2) & 0x3333_3333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}
