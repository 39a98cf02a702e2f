/**
 * Low bits of the codes of rotated vectors, 1 to 8 per value, in blocks of 64 values. A block has `bits` × 8
 * bytes. Value i of a block lies here; n..m are its bits, lowest first, and "i / 16" rounds down:
 *
 *     bits  value bits   byte                        bit
 *     1     0            i / 8                       i % 8
 *     2, 3  0..1         i % 16                      2 · (i / 16)
 *     3     2            16 + i % 8                  i / 8
 *     4     0..3         8 · (i / 16) + i % 8        4 · (i / 8 % 2)
 *     5     0..3         16 · (i / 32) + i % 16      4 · (i / 16 % 2)
 *     5     4            32 + i % 8                  i / 8
 *     6, 7  0..5, i<48   i                           0
 *     6, 7  2k, 2k+1     16 · k + i - 48             6       (i ≥ 48, k = 0..2)
 *     7     6            48 + i % 8                  i / 8
 *     8     0..7         i                           0
 */

const BLOCK = 64;

/** Some bits of a value, and where a block has them. */
interface Part {
  readonly shift: number;
  readonly count: number;
  readonly byte: number;
  readonly bit: number;
}

/** Returns the bytes of a vector's low bits. */
export const lowBitBytes = (dimension: number, bits: number): number =>
  bits === 0 ? 0 : Math.ceil(dimension / BLOCK) * bits * 8;

/** Packs the low bits of a vector. @param to zeroed */
export function packLowBits(bits: number, values: Uint8Array, to: Uint8Array): void {
  const parts = partsOf(bits);
  for (let index = 0; index < values.length; index++) {
    const start = Math.floor(index / BLOCK) * bits * 8;
    for (const { shift, count, byte, bit } of parts[index % BLOCK])
      to[start + byte] |= ((values[index] >>> shift) & ((1 << count) - 1)) << bit;
  }
}

/** Unpacks the low bits of a vector. */
export function unpackLowBits(bits: number, packed: Uint8Array, to: Uint8Array): void {
  const parts = partsOf(bits);
  for (let index = 0; index < to.length; index++) {
    const start = Math.floor(index / BLOCK) * bits * 8;
    let value = 0;
    for (const { shift, count, byte, bit } of parts[index % BLOCK])
      value |= ((packed[start + byte] >>> bit) & ((1 << count) - 1)) << shift;
    to[index] = value;
  }
}

const layouts = new Map<number, readonly (readonly Part[])[]>();

/** Returns the parts of each value of a block. */
function partsOf(bits: number): readonly (readonly Part[])[] {
  const layout = layouts.get(bits) ?? Array.from({ length: BLOCK }, (_, index) => valueParts(bits, index));
  layouts.set(bits, layout);
  return layout;
}

function valueParts(bits: number, index: number): Part[] {
  const highest = { shift: bits - 1, count: 1, byte: 8 * (bits - 1) + (index % 8), bit: index >>> 3 };
  switch (bits) {
    case 1:
      return [{ shift: 0, count: 1, byte: index >>> 3, bit: index % 8 }];
    case 2:
      return [{ shift: 0, count: 2, byte: index % 16, bit: 2 * (index >>> 4) }];
    case 4:
      return [{ shift: 0, count: 4, byte: 8 * (index >>> 4) + (index % 8), bit: 4 * ((index >>> 3) % 2) }];
    case 5: {
      const byte = 16 * (index >>> 5) + (index % 16);
      return [{ shift: 0, count: 4, byte, bit: 4 * ((index >>> 4) % 2) }, highest];
    }
    case 6:
      return index < 48
        ? [{ shift: 0, count: 6, byte: index, bit: 0 }]
        : [0, 1, 2].map((k) => ({ shift: 2 * k, count: 2, byte: 16 * k + index - 48, bit: 6 }));
    case 3:
    case 7:
      return [...valueParts(bits - 1, index), highest];
    default:
      return [{ shift: 0, count: 8, byte: index, bit: 0 }];
  }
}
