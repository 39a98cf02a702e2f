import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CodeSymbols } from "../../../src/arrow/columns/lazyValues.js";
import { CorruptFileError } from "../../../src/errors.js";
import { decodeFsst, decodeFsstPieces, decodeFsstPlainly } from "../../../src/file/compression/fsst.js";
import { fsstDecoder } from "../../../src/file/compression/fsstDecodeKernel.js";
import { Random } from "../../support/generators.js";

const BLOCK_CODES = fsstDecoder.get()?.blockCodes ?? 0;

const origin = { path: "/t.lance", byteOffset: 0 };

function randomSymbols(random: Random, count: number): CodeSymbols {
  const low = new Int32Array(256);
  const high = new Int32Array(256);
  const lengths = new Uint8Array(256);
  for (let code = 0; code < count; code++) {
    lengths[code] = 1 + random.below(8);
    const bytes = new Uint8Array(8);
    random.fill(bytes.subarray(0, lengths[code]));
    const view = new DataView(bytes.buffer);
    low[code] = view.getInt32(0, true);
    high[code] = view.getInt32(4, true);
  }
  return { count, low, high, lengths };
}

function outcome(decode: typeof decodeFsst, symbols: CodeSymbols, offsets: Int32Array, codes: Uint8Array) {
  const positions = offsets.slice();
  try {
    const bytes = decode(symbols, positions, codes, origin);
    return { bytes: Buffer.from(bytes).toString("latin1"), positions };
  } catch (error) {
    expect(error).toBeInstanceOf(CorruptFileError);
    return "corrupt";
  }
}

describe("the FSST decoding kernel", () => {
  it("runs here", () => {
    expect(fsstDecoder.get()).not.toBeNull();
  });

  it("agrees with the plain loop on any codes", () => {
    const seed = Date.now() & 0x7fffffff;
    console.log(`FSST decoding kernel: seed ${seed}`);
    let intact = 0;
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        fc.constantFrom(255, 254, 100, 1, 0),
        fc.constantFrom(2048, BLOCK_CODES - 1, BLOCK_CODES, BLOCK_CODES + 1, 3 * BLOCK_CODES + 17),
        fc.constantFrom("symbols", "anything", "escapes"),
        fc.nat(9),
        fc.boolean(),
        (contents, count, codeCount, kind, start, keepWhole) => {
          const random = new Random(contents);
          const symbols = randomSymbols(random, count);
          const codes = new Uint8Array(start + codeCount + random.below(3));
          random.fill(codes);
          if (kind !== "anything") {
            for (let offset = 0; offset < codes.length; offset++) {
              const escaped = count === 0 || random.below(kind === "escapes" ? 3 : 500) === 0;
              // Any byte may follow an escape, and stands for itself.
              if (escaped) codes[offset++] = 255;
              else codes[offset] %= count;
            }
          }
          const ends = [start];
          for (let index = start; index < start + codeCount; ) {
            const length = Math.min(random.below(40), start + codeCount - index);
            // Values end anywhere, or never split an escape.
            let end = index;
            if (keepWhole) while (end < index + length) end += codes[end] === 255 ? 2 : 1;
            else end = index + length;
            ends.push(end);
            index = end;
            if (random.below(10) === 0) ends.push(index);
          }
          const offsets = Int32Array.from(ends);
          const padded = new Uint8Array(codes.length + 2);
          padded.set(codes);
          const byKernel = outcome(decodeFsst, symbols, offsets, padded);
          expect(byKernel).toEqual(outcome(decodeFsstPlainly, symbols, offsets, padded.subarray(start)));
          // Pieces end where values do.
          const inPieces: typeof decodeFsst = (symbols, offsets, codes, origin) => {
            const cuts = [...offsets].filter((_, value) => value % 7 === 0);
            const pieces = cuts.map((from, piece) => codes.subarray(from, cuts[piece + 1] ?? offsets.at(-1)));
            const first = offsets[0];
            for (let value = 0; value < offsets.length; value++) offsets[value] -= first;
            return decodeFsstPieces(symbols, offsets, pieces, origin);
          };
          expect(outcome(inPieces, symbols, offsets, padded)).toEqual(byKernel);
          if (byKernel !== "corrupt") intact++;
        },
      ),
      { seed, numRuns: 120 },
    );
    expect(intact).toBeGreaterThan(10);
  });
});
