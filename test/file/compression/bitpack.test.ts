import { beforeAll, describe, expect, it } from "vitest";
import {
  bitUnpackers,
  PACK_UNIT,
  packedUnitBytes,
  UNITS_BEFORE_KERNELS,
  unpackBits,
  unpackBitsPlainly,
} from "../../../src/file/compression/bitpack.js";
import {
  bitPackers,
  packBits,
  packBitsPlainly,
  requiredBits,
} from "../../../src/file/compression/bitpackEncoder.js";
import type { WordBits } from "../../../src/file/compression/bitpackKernel.js";

const FL = [0, 4, 2, 6, 1, 5, 3, 7];

/** Packs by the definition, bit by bit. */
function packSlowly(wordBits: WordBits, packedBits: number, values: bigint[]): Uint8Array {
  const lanes = PACK_UNIT / wordBits;
  const out = new Uint8Array(packedUnitBytes(packedBits));
  for (let lane = 0; lane < lanes; lane++) {
    for (let row = 0; row < wordBits; row++) {
      const value = values[FL[row >> 3] * 16 + (row & 7) * 128 + lane];
      for (let bit = 0; bit < packedBits; bit++) {
        if (((value >> BigInt(bit)) & 1n) === 0n) continue;
        const position = row * packedBits + bit;
        const word = Math.floor(position / wordBits) * lanes + lane;
        const outBit = word * wordBits + (position % wordBits);
        out[outBit >> 3] |= 1 << (outBit & 7);
      }
    }
  }
  return out;
}

function toBytes(wordBits: WordBits, values: bigint[]): Uint8Array {
  const width = wordBits / 8;
  const bytes = new Uint8Array(values.length * width);
  values.forEach((value, index) => {
    for (let byte = 0; byte < width; byte++)
      bytes[index * width + byte] = Number((value >> BigInt(8 * byte)) & 255n);
  });
  return bytes;
}

let state = 12345;
const random32 = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state ^ (state >>> 15);
};
const randomValue = (bits: number) =>
  ((BigInt(random32() >>> 0) << 32n) | BigInt(random32() >>> 0)) & ((1n << BigInt(bits)) - 1n);

describe("bit-packing", () => {
  const counting = Array.from({ length: PACK_UNIT }, (_, index) => BigInt(index));

  it("gives the words of the reference's files", () => {
    const wide = new Uint8Array(packedUnitBytes(10));
    packBits(64, 10, toBytes(64, counting), 0, wide, 0);
    const word64 = (index: number) => Buffer.from(wide.subarray(8 * index, 8 * index + 8)).toString("hex");
    expect([0, 1, 2, 15, 16].map(word64)).toEqual(
      [
        "0a02006010020000",
        "1a06016050120401",
        "2a0a026090220802",
        "fa3e0f63d0f23c0f",
        "407014030040e030",
      ].map((hex) => Buffer.from(hex, "hex").reverse().toString("hex")),
    );
  });

  beforeAll(() => {
    const unit = new Uint8Array(packedUnitBytes(1));
    for (let units = 0; units < UNITS_BEFORE_KERNELS; units++)
      unpackBits(8, 1, unit, 0, new Uint8Array(PACK_UNIT), 0);
  });

  it("runs in kernels here", () => {
    for (const wordBits of [8, 16, 32, 64] as const) {
      expect(bitPackers[wordBits].get()).not.toBeNull();
      expect(bitUnpackers[wordBits].get()).not.toBeNull();
    }
  });

  const forms = [
    ["", packBits, unpackBits, 0],
    [", in plain loops", packBitsPlainly, unpackBitsPlainly, 1],
  ] as const;
  for (const [form, pack, unpack, fewestBits] of forms)
    for (const wordBits of [8, 16, 32, 64] as const) {
      it(`${wordBits}-bit words: every width packs by the definition and unpacks again${form}`, () => {
        for (let packedBits = fewestBits as number; packedBits <= wordBits; packedBits++) {
          const values = Array.from({ length: PACK_UNIT }, () => randomValue(packedBits));
          const input = toBytes(wordBits, values);
          const packed = new Uint8Array(packedUnitBytes(packedBits)).fill(0xaa);
          pack(wordBits, packedBits, input, 0, packed, 0);
          expect(Buffer.compare(packed, packSlowly(wordBits, packedBits, values))).toBe(0);
          const output = new Uint8Array(input.length).fill(0xaa);
          unpack(wordBits, packedBits, packed, 0, output, 0);
          expect(Buffer.compare(output, input)).toBe(0);
        }
      });

      it(`${wordBits}-bit words: odd addresses give the same${form}`, () => {
        const packedBits = wordBits - 3;
        const values = Array.from({ length: PACK_UNIT }, () => randomValue(packedBits));
        const input = new Uint8Array(1 + (PACK_UNIT * wordBits) / 8);
        input.set(toBytes(wordBits, values), 1);
        const packed = new Uint8Array(7 + packedUnitBytes(packedBits) + 5).fill(0xaa);
        pack(wordBits, packedBits, input, 1, packed, 7);
        expect(packed.subarray(0, 7).every((byte) => byte === 0xaa)).toBe(true);
        expect(packed.subarray(-5).every((byte) => byte === 0xaa)).toBe(true);
        const output = new Uint8Array(input.length + 4).fill(0xaa);
        unpack(wordBits, packedBits, packed, 7, output, 3);
        expect(Buffer.compare(output.subarray(3, 3 + input.length - 1), input.subarray(1))).toBe(0);
        expect([...output.subarray(0, 3), ...output.subarray(-2)]).toEqual([0xaa, 0xaa, 0xaa, 0xaa, 0xaa]);
      });
    }

  for (const wordBits of [8, 16, 32, 64] as const) {
    it(`${wordBits}-bit words: the required width is that of the widest value`, () => {
      for (let bits = 0; bits <= wordBits; bits++) {
        const values = Array.from({ length: 50 }, () => randomValue(bits));
        if (bits > 0) values[31] |= 1n << BigInt(bits - 1);
        const bytes = new Uint8Array(1 + (50 * wordBits) / 8);
        bytes.set(toBytes(wordBits, values), 1);
        expect(requiredBits(wordBits, bytes, 1, 50)).toBe(bits);
        expect(requiredBits(wordBits, bytes.slice(1), 0, 50)).toBe(bits);
      }
    });
  }
});
