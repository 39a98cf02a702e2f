import { describe, expect, it } from "vitest";
import {
  byteCodesOf,
  codeTree,
  decodeTree,
  encodeCodes,
  encodeTree,
} from "../../../src/indexes/substring/byteCodes.js";

const fail = (reason: string): never => {
  throw new Error(reason);
};

function countsOf(counts: Readonly<Record<number, number>>): Uint32Array {
  const all = new Uint32Array(256);
  for (const [byte, count] of Object.entries(counts)) all[Number(byte)] = count;
  return all;
}

it("frequent bytes have short codes, and no code begins another", () => {
  const codes = byteCodesOf(codeTree(countsOf({ 97: 100, 98: 40, 99: 10, 255: 1, 0: 1 })));
  const texts = codes.map((code) => code.map((turn) => turn & 1).join("")).filter((text) => text !== "");
  expect(codes[97]).toHaveLength(1);
  expect(codes[255]).toHaveLength(4);
  expect(texts).toHaveLength(5);
  for (const one of texts) expect(texts.filter((text) => text.startsWith(one))).toEqual([one]);
});

it("codes have at most 32 bits", () => {
  const counts = new Uint32Array(256);
  counts.set([1, 1]);
  for (let byte = 2; byte < 46; byte++) counts[byte] = counts[byte - 1] + counts[byte - 2];
  const lengths = byteCodesOf(codeTree(counts)).map(({ length }) => length);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(32);
  expect(lengths.filter((length) => length > 0)).toHaveLength(46);
});

it("a tree and its codes have LanceDB's layout", () => {
  const tree = codeTree(countsOf({ 0: 1, 97: 3, 255: 2 }));
  expect(decodeTree(encodeTree(tree), fail)).toEqual(tree);
  expect([...encodeTree(tree)]).toEqual([
    ...[2, 0, 0, 0],
    ...[1, 97, 0, 0, 0, 0, 1, 0, 0, 0],
    ...[1, 0, 0, 0, 0, 1, 255, 0, 0, 0],
  ]);
  const codes = encodeCodes(tree);
  expect(codes).toHaveLength(256 * 7 + 4 * 5);
  // The code of byte 0 is 10: node 0, then node 1.
  expect([...codes.subarray(0, 15)]).toEqual([2, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
});

describe("a damaged tree is refused", () => {
  const bytes = encodeTree(codeTree(countsOf({ 0: 1, 97: 3, 98: 3, 255: 2 })));
  it.each([
    ["with a missing byte", bytes.subarray(0, bytes.length - 1)],
    ["with too many nodes", Uint8Array.of(255, 255, 255, 255)],
    ["without a header", new Uint8Array(2)],
  ])("%s", (_, damaged) => expect(() => decodeTree(damaged, fail)).toThrow(/tree/));

  it("with any other child", () => {
    for (let offset = 4; offset < bytes.length; offset += 5) {
      const damaged = bytes.slice();
      damaged.set(bytes.subarray(4, 9), offset);
      if (offset > 4) expect(() => decodeTree(damaged, fail)).toThrow(/twice or out of order/);
      damaged.set([0, 0, 0, 0, 0], offset);
      expect(() => decodeTree(damaged, fail)).toThrow(/twice or out of order/);
    }
  });
});
