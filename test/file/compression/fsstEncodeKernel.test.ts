import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesOf } from "../../../src/bytes/view.js";
import { decodeFsst, decodeFsstSymbols } from "../../../src/file/compression/fsst.js";
import {
  ENCODED_BYTES,
  ENCODED_VALUES,
  fsstEncoder,
} from "../../../src/file/compression/fsstEncodeKernel.js";
import { encodeFsst } from "../../../src/file/compression/fsstEncoder.js";
import { Random } from "../../support/generators.js";

const origin = { path: "/t.lance", byteOffset: 0 };

/** Makes values of `byteCount` bytes in all, in memory that begins and ends with other bytes. */
function randomValues(random: Random, byteCount: number, kind: string, longest: number) {
  const bytes = new Uint8Array(byteCount);
  if (kind === "noise") random.fill(bytes);
  else {
    const words = ["the ", "http://", "é", "a", "0123456789", "\u0000\u0000\u0000", "zz"];
    const pieces = (kind === "few" ? words.slice(0, 3) : words).map((word) => new TextEncoder().encode(word));
    for (let offset = 0; offset < byteCount; ) {
      const piece = pieces[random.below(pieces.length)];
      bytes.set(piece.subarray(0, byteCount - offset), offset);
      offset += piece.length;
      // A byte without a symbol.
      if (kind === "rare" && random.below(20) === 0 && offset < byteCount)
        bytes[offset++] = random.below(256);
    }
  }
  const ends = [0];
  for (let index = 0; index < byteCount; ) {
    index = Math.min(byteCount, index + random.below(longest + 1));
    ends.push(index);
    if (random.below(10) === 0) ends.push(index);
  }
  return { offsets: Int32Array.from(ends), bytes };
}

function withoutKernel<Result>(work: () => Result): Result {
  fsstEncoder.isOn = false;
  try {
    return work();
  } finally {
    fsstEncoder.isOn = true;
  }
}

describe("the FSST encoding kernel", () => {
  it("runs here", () => {
    expect(fsstEncoder.get()).not.toBeNull();
  });

  it("makes the codes of the plain loop for any values", () => {
    const seed = Date.now() & 0x7fffffff;
    console.log(`FSST encoding kernel: seed ${seed}`);
    let encoded = 0;
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        fc.constantFrom(32 * 1024, ENCODED_BYTES - 1, ENCODED_BYTES, 3 * ENCODED_BYTES + 17),
        fc.constantFrom("words", "few", "rare", "noise"),
        fc.constantFrom(1, 3, 40, 1000, ENCODED_BYTES, 2 * ENCODED_BYTES),
        (contents, byteCount, kind, longest) => {
          const { offsets, bytes } = randomValues(new Random(contents), byteCount, kind, longest);
          const codes = encodeFsst(offsets, bytes, true);
          const plainly = withoutKernel(() => encodeFsst(offsets, bytes, true));
          if (codes === null || plainly === null) {
            expect([codes, plainly]).toEqual([null, null]);
            return;
          }
          expect(Buffer.compare(codes.bytes, plainly.bytes)).toBe(0);
          expect(Buffer.compare(bytesOf(codes.offsets), bytesOf(plainly.offsets))).toBe(0);
          expect(Buffer.compare(codes.symbolTable, plainly.symbolTable)).toBe(0);
          encoded++;
          const symbols = decodeFsstSymbols(codes.symbolTable, origin);
          if (symbols === null) throw new Error("a table that is switched off");
          expect(Buffer.compare(decodeFsst(symbols, codes.offsets.slice(), codes.bytes, origin), bytes)).toBe(
            0,
          );
        },
      ),
      { seed, numRuns: 25 },
    );
    expect(encoded).toBeGreaterThan(5);
  });

  it("takes blocks of very many values", () => {
    const offsets = Int32Array.from({ length: 3 * ENCODED_VALUES + 2 }, (_, value) => value * 2);
    const bytes = new Uint8Array(offsets[offsets.length - 1]).fill(0x61);
    const codes = encodeFsst(offsets, bytes);
    expect(codes?.bytes.length).toBe(offsets.length - 1);
  });
});
