import { describe, expect, it } from "vitest";
import { CorruptFileError } from "../../../src/errors.js";
import { TokenFst, walkTokenFst } from "../../../src/indexes/text/tokenFst.js";

/** A map of the token "a" alone, with a number, which says how many tokens it has. */
function mapOfOne(number: bigint, keyCount = 1): Uint8Array {
  const bytes = new Uint8Array(16 + 11 + 20);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, 3n, true);
  view.setBigUint64(16, number, true);
  // The input, the sizes (no bytes of addresses, eight of the output), and one transition.
  bytes.set([0x61, 0x08, 0x01], 24);
  view.setBigUint64(27, BigInt(keyCount), true);
  view.setBigUint64(35, 26n, true);
  return bytes;
}

const token = new TextEncoder().encode("a");
const PATH = "/t.lance";

function walked(bytes: Uint8Array): [string, number][] {
  const found: [string, number][] = [];
  const steps = walkTokenFst(bytes, PATH, (key, value) => found.push([new TextDecoder().decode(key), value]));
  while (steps.next().done !== true);
  return found;
}

describe("a map of tokens", () => {
  it("finds what a walk meets", () => {
    expect(walked(mapOfOne(0n))).toEqual([["a", 0]]);
    expect(new TokenFst(mapOfOne(0n), PATH).find(token)).toBe(0);
    expect(new TokenFst(mapOfOne(0n), PATH).find(new Uint8Array())).toBe(-1);
  });

  // Numbers of 32 bits would take the last two for 0 and 1.
  it.each([1n, 2n ** 32n, 2n ** 32n + 1n])("with the number %s among one is refused", (number) => {
    expect(() => new TokenFst(mapOfOne(number), PATH).find(token)).toThrow(CorruptFileError);
    expect(() => walked(mapOfOne(number))).toThrow(CorruptFileError);
  });
});
