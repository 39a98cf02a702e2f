/** Order and equality of bytes: the first that differs decides, and what is a part of the other comes first. */

/** Below zero where the first comes first, 0 where both are the same. */
export const compareBytes = (a: Uint8Array, b: Uint8Array): number =>
  compareRanges(a, 0, a.length, b, 0, b.length);

/** The same for parts of both. */
export function compareRanges(
  a: Uint8Array,
  startA: number,
  endA: number,
  b: Uint8Array,
  startB: number,
  endB: number,
): number {
  let offset = startA;
  let bt = startB;
  while (offset < endA && bt < endB) {
    const difference = a[offset++] - b[bt++];
    if (difference !== 0) return difference;
  }
  return endA - offset - (endB - bt);
}
