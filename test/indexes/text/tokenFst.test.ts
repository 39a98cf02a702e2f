/** Look-ups in token transducers agree with a walk, and damaged transducers are refused. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runSync } from "../../../src/async/eventLoop.js";
import { CorruptFileError } from "../../../src/errors.js";
import { TokenFst } from "../../../src/indexes/text/tokenFst.js";

type Keys = ReadonlyMap<string, number>;

const BYTES = 3;
const little = (value: number, byteLength: number): number[] =>
  Array.from({ length: byteLength }, (_, index) => Math.floor(value / 2 ** (8 * index)) % 256);

/** Encodes ASCII keys as a tree of nodes. */
function encodeFst(keys: Keys): Uint8Array {
  const bytes = [...little(3, 8), ...little(0, 8)];
  /** @returns the address of the node for keys with a prefix, whose values are less by `taken` */
  const node = (prefix: string, taken: number): number => {
    const below = [...keys].filter(([key]) => key.startsWith(prefix) && key !== prefix);
    const inputs = [...new Set(below.map(([key]) => key.charCodeAt(prefix.length)))].sort((a, b) => a - b);
    const ways = inputs.map((input) => {
      const next = prefix + String.fromCharCode(input);
      const output =
        Math.min(...below.filter(([key]) => key.startsWith(next)).map(([, value]) => value)) - taken;
      return { input, output, target: node(next, taken + output) };
    });
    const start = bytes.length;
    const value = keys.get(prefix);
    if (value !== undefined) bytes.push(...little(value - taken, BYTES));
    for (const { output } of ways.toReversed()) bytes.push(...little(output, BYTES));
    for (const { target } of ways.toReversed()) bytes.push(...little(start - target, BYTES));
    for (const { input } of ways.toReversed()) bytes.push(input);
    if (ways.length > 32) bytes.push(...new Array(256).fill(0));
    bytes.push((BYTES << 4) | BYTES);
    if (ways.length === 0 || ways.length > 63) bytes.push(ways.length === 256 ? 1 : ways.length);
    bytes.push((value === undefined ? 0 : 0x40) | (ways.length > 63 ? 0 : ways.length));
    return bytes.length - 1;
  };
  const root = node("", 0);
  return Uint8Array.from([...bytes, ...little(keys.size, 8), ...little(root, 8), 0, 0, 0, 0]);
}

const bytesOf = (key: string): Uint8Array => Uint8Array.from(key, (letter) => letter.charCodeAt(0));

const letter = fc.constantFrom("a", "b", "c", "\xff");
const key = fc.array(letter, { minLength: 1, maxLength: 6 }).map((letters) => letters.join(""));
/** Keys with a permutation of token numbers. */
const keyMap = fc
  .uniqueArray(key, { minLength: 1, maxLength: 40 })
  .map((keys): Keys => new Map(keys.map((each, index) => [each, index])));

it("a look-up finds the keys of a walk, and no others", () => {
  const many = new Map(
    Array.from({ length: 200 }, (_, index) => [String.fromCharCode(index + 3), 199 - index]),
  );
  const property = (keys: Keys, others: readonly string[]) => {
    const bytes = encodeFst(keys);
    const walked = new Map<string, number>();
    const fst = new TokenFst(bytes, "x");
    runSync(fst.walk((bytesOfKey, value) => void walked.set(String.fromCharCode(...bytesOfKey), value)));
    expect([...walked]).toEqual([...keys].sort(([a], [b]) => (a < b ? -1 : 1)));
    expect(fst.keyCount).toBe(keys.size);
    for (const each of [...keys.keys(), ...others])
      expect(fst.find(bytesOf(each))).toBe(keys.get(each) ?? -1);
  };
  property(many, ["a", "\xff", "ab", ""]);
  fc.assert(fc.property(keyMap, fc.array(key, { maxLength: 30 }), property), { numRuns: 100 });
});

it("a look-up in a damaged transducer returns a number, nothing, or an error", () => {
  fc.assert(
    fc.property(keyMap, fc.nat(), fc.integer({ min: 1, max: 255 }), key, (keys, offset, flip, sought) => {
      const bytes = encodeFst(keys);
      bytes[offset % bytes.length] ^= flip;
      try {
        expect(new TokenFst(bytes, "x").find(bytesOf(sought))).toBeGreaterThanOrEqual(-1);
      } catch (error) {
        expect(error).toBeInstanceOf(CorruptFileError);
      }
    }),
    { numRuns: 500 },
  );
});

/** A transducer with the one token "a", its number, and a token count. */
function mapOfOne(number: bigint, keyCount = 1): Uint8Array {
  const bytes = new Uint8Array(16 + 11 + 20);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, 3n, true);
  view.setBigUint64(16, number, true);
  // Input, sizes (no address bytes, eight of output), and one transition.
  bytes.set([0x61, 0x08, 0x01], 24);
  view.setBigUint64(27, BigInt(keyCount), true);
  view.setBigUint64(35, 26n, true);
  return bytes;
}

const token = new TextEncoder().encode("a");
const PATH = "/t.lance";

function walked(bytes: Uint8Array): [string, number][] {
  const entries: [string, number][] = [];
  const steps = new TokenFst(bytes, PATH).walk((key, value) =>
    entries.push([new TextDecoder().decode(key), value]),
  );
  while (steps.next().done !== true);
  return entries;
}

describe("a token transducer", () => {
  it("finds the keys of a walk", () => {
    expect(walked(mapOfOne(0n))).toEqual([["a", 0]]);
    expect(new TokenFst(mapOfOne(0n), PATH).find(token)).toBe(0);
    expect(new TokenFst(mapOfOne(0n), PATH).find(new Uint8Array())).toBe(-1);
  });

  // Truncated to 32 bits, the last two would be 0 and 1.
  it.each([1n, 2n ** 32n, 2n ** 32n + 1n])("with one token refuses its number %s", (number) => {
    expect(() => new TokenFst(mapOfOne(number), PATH).find(token)).toThrow(CorruptFileError);
    expect(() => walked(mapOfOne(number))).toThrow(CorruptFileError);
  });
});
