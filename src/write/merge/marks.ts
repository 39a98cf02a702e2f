/** Marks of rows: a bit for each, least significant first. */

export const hasBit = (marks: Uint8Array, row: number): boolean =>
  ((marks[Math.floor(row / 8)] >>> (row & 7)) & 1) === 1;

export function setBit(marks: Uint8Array, row: number): void {
  marks[Math.floor(row / 8)] |= 1 << (row & 7);
}
