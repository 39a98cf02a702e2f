import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeFsst, decodeFsstSymbols } from "../../../src/file/compression/fsst.js";
import { encodeFsst, encodeFsstInSteps } from "../../../src/file/compression/fsstEncoder.js";
import { Random } from "../../support/generators.js";

const origin = { path: "/t.lance", byteOffset: 0 };

function join(values: readonly Uint8Array[]): { offsets: Int32Array; bytes: Uint8Array } {
  const offsets = new Int32Array(values.length + 1);
  values.forEach((value, index) => {
    offsets[index + 1] = offsets[index] + value.length;
  });
  const bytes = new Uint8Array(offsets[values.length]);
  values.forEach((value, index) => {
    bytes.set(value, offsets[index]);
  });
  return { offsets, bytes };
}

/** Encodes and decodes again; returns the codes' share of the bytes, or null if the encoder made no codes. */
function roundTrip(values: readonly Uint8Array[], insist: boolean): number | null {
  const { offsets, bytes } = join(values);
  const codes = encodeFsst(offsets, bytes, insist);
  if (codes === null) return null;
  expect(codes.symbolTable).toHaveLength(2312);
  expect(codes.bytes.length).toBeLessThanOrEqual(bytes.length);
  const symbols = decodeFsstSymbols(codes.symbolTable, origin);
  if (symbols === null) throw new Error("a table that is switched off");
  const positions = codes.offsets.slice();
  const decoded = decodeFsst(symbols, positions, codes.bytes, origin);
  expect(Buffer.compare(decoded, bytes)).toBe(0);
  // Memory without zeros may hold anything.
  expect(new Uint8Array(decoded.buffer, decoded.length).every((byte) => byte === 0)).toBe(true);
  expect(positions).toEqual(offsets);
  return codes.bytes.length / bytes.length;
}

const text = (values: readonly string[]): Uint8Array[] =>
  values.map((value) => new TextEncoder().encode(value));

describe("encoding FSST", () => {
  it("makes the same codes while other values are encoded between its steps", () => {
    const random = new Random(11);
    const columns = ["alpha beta ", "https://example.org/", "0123456789"].map((word) =>
      join(
        text(
          Array.from({ length: 4000 }, () => word.repeat(3).slice(random.below(9), 12 + random.below(18))),
        ),
      ),
    );
    const alone = columns.map(({ offsets, bytes }) => encodeFsst(offsets, bytes));
    const running = columns.map(({ offsets, bytes }) => encodeFsstInSteps(offsets, bytes));
    const together: unknown[] = [];
    let turns = 0;
    for (let left = running.length; left > 0; turns++) {
      for (const [index, steps] of running.entries()) {
        if (index in together) continue;
        const { done, value } = steps.next();
        if (done !== true) continue;
        together[index] = value;
        left--;
      }
    }
    expect(turns).toBeGreaterThan(5);
    expect(alone.every((codes) => codes !== null)).toBe(true);
    expect(together).toEqual(alone);
  });

  it("keeps any values, or declines", () => {
    let encoded = 0;
    const piece = fc.oneof(
      fc.constantFrom(...text(["the ", "http://", "a", "é", "\u0000", "\u00ff\u00ff", "0123456789"])),
      fc.uint8Array({ maxLength: 12 }),
    );
    const value = fc
      .array(piece, { maxLength: 12 })
      .map((pieces) => new Uint8Array(pieces.flatMap((part) => [...part])));
    fc.assert(
      fc.property(fc.array(value, { maxLength: 300 }), (values) => {
        if (roundTrip(values, true) !== null) encoded++;
      }),
      { numRuns: 150 },
    );
    expect(encoded).toBeGreaterThan(50);
  });

  it("at least halves text", () => {
    const random = new Random(1);
    const words = "the quick brown fox jumps over a lazy dog and then some more of it".split(" ");
    const values = Array.from({ length: 3000 }, () =>
      Array.from({ length: 3 + random.below(20) }, () => words[random.below(words.length)]).join(" "),
    );
    expect(roundTrip(text(values), false)).toBeLessThan(0.4);
  });

  it("finds the common parts of values with different ends", () => {
    const values = Array.from({ length: 5000 }, (_, index) => `https://example.com/items/${index * 7919}`);
    expect(roundTrip(text(values), false)).toBeLessThan(0.35);
  });

  it("keeps long values, empty ones and those of one byte", () => {
    const values = ["", "x", "", "some text ".repeat(3000), "y", "", "tail ".repeat(5000), "z"];
    expect(roundTrip(text(values), false)).toBeLessThan(0.3);
    expect(roundTrip(text(["", "", "abcabcabcabcabcabcabcabcabcabcabc", ""]), true)).toBeLessThan(1);
  });

  it("declines if it saves little, and for few bytes", () => {
    const noise = new Uint8Array(100_000);
    new Random(3).fill(noise);
    expect(encodeFsst(Int32Array.of(0, 50_000, 100_000), noise)).toBeNull();
    expect(encodeFsst(Int32Array.of(0, 50_000, 100_000), noise, true)).toBeNull();
    expect(roundTrip(text(["short, short, short"]), false)).toBeNull();
    expect(encodeFsst(Int32Array.of(0), new Uint8Array(0), true)).toBeNull();
  });

  it("finds the same symbols for the same values", () => {
    const { offsets, bytes } = join(
      text(Array.from({ length: 4000 }, (_, index) => `value number ${index}`)),
    );
    expect(encodeFsst(offsets, bytes)).toEqual(encodeFsst(offsets.slice(), bytes.slice()));
  });
});
