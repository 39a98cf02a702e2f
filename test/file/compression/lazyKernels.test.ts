/** The kernels of bundles for browsers give the bytes of the plain form, as soon as they are loaded. */

import { beforeAll, describe, expect, it, vi } from "vitest";
import {
  PACK_UNIT,
  packedUnitBytes,
  ROW_START,
  unpackBitsPlainly,
} from "../../../src/file/compression/bitpack.js";
import { packBitsPlainly } from "../../../src/file/compression/bitpackEncoder.js";
import * as lazyKernels from "../../../src/file/compression/lazyKernels.js";

const WIDTHS = [8, 16, 32, 64] as const;

describe("kernels that are loaded when they are first asked for", () => {
  const packers = lazyKernels.packKernels(ROW_START);
  const unpackers = lazyKernels.unpackKernels(ROW_START);

  beforeAll(async () => {
    expect(packers[8].get()).toBeNull();
    expect(lazyKernels.fsstDecoder.get()).toBeNull();
    await vi.waitFor(() => expect(packers[8].get() && lazyKernels.fsstDecoder.get()).not.toBeNull());
  });

  it.each(WIDTHS)("pack and unpack words of %d bits as the plain form does", (wordBits) => {
    const packedBits = wordBits - 3;
    const words = new Uint8Array((wordBits / 8) * PACK_UNIT);
    for (let byte = 0; byte < words.length; byte++) words[byte] = byte * 73 + 29 * (byte >> 5);
    // The highest three bits of each word stay clear.
    for (let word = 0; word < PACK_UNIT; word++) words[(word + 1) * (wordBits / 8) - 1] &= 0x1f;
    const expected = new Uint8Array(packedUnitBytes(packedBits));
    packBitsPlainly(wordBits, packedBits, words, 0, expected, 0);
    const packed = new Uint8Array(expected.length);
    packers[wordBits].get()?.pack(packedBits, words, packed, 0);
    expect(packed).toEqual(expected);
    const plain = new Uint8Array(words.length);
    unpackBitsPlainly(wordBits, packedBits, expected, 0, plain, 0);
    expect(plain).toEqual(words);
    const unpacked = new Uint8Array(words.length);
    unpackers[wordBits].get()?.unpack(packedBits, expected, unpacked, 0);
    expect(unpacked).toEqual(words);
  });

  it("are not used while they are switched off", () => {
    const packer = lazyKernels.packKernels(ROW_START)[16];
    packer.isOn = false;
    expect(packer.get()).toBeNull();
    packer.isOn = true;
    expect(packer.get()).not.toBeNull();
  });
});
