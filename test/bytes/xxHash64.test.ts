import { expect, it } from "vitest";
import { XxHash64 } from "../../src/bytes/xxHash64.js";
import { Random } from "../support/generators.js";

const [P1, P2, P3, P4, P5] = [
  0x9e3779b185ebca87n,
  0xc2b2ae3d27d4eb4fn,
  0x165667b19e3779f9n,
  0x85ebca77c2b2ae63n,
  0x27d4eb2f165667c5n,
];
const u64 = (value: bigint) => BigInt.asUintN(64, value);
const rotate = (value: bigint, bits: bigint) => u64((value << bits) | (value >> (64n - bits)));
const round = (lane: bigint, word: bigint) => u64(rotate(u64(lane + word * P2), 31n) * P1);

function plainHash(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;
  let hash = P5;
  if (bytes.length >= 32) {
    const lanes = [u64(P1 + P2), P2, 0n, u64(-P1)];
    for (; offset + 32 <= bytes.length; offset += 32) {
      for (let lane = 0; lane < 4; lane++)
        lanes[lane] = round(lanes[lane]!, view.getBigUint64(offset + 8 * lane, true));
    }
    hash = u64([1n, 7n, 12n, 18n].reduce((sum, bits, lane) => sum + rotate(lanes[lane]!, bits), 0n));
    for (const lane of lanes) hash = u64((hash ^ round(0n, lane)) * P1 + P4);
  }
  hash = u64(hash + BigInt(bytes.length));
  for (; offset + 8 <= bytes.length; offset += 8) {
    hash = u64(rotate(hash ^ round(0n, view.getBigUint64(offset, true)), 27n) * P1 + P4);
  }
  if (offset + 4 <= bytes.length) {
    hash = u64(rotate(hash ^ u64(BigInt(view.getUint32(offset, true)) * P1), 23n) * P2 + P3);
    offset += 4;
  }
  for (; offset < bytes.length; offset++)
    hash = u64(rotate(hash ^ u64(BigInt(bytes[offset]!) * P5), 11n) * P1);
  hash = u64((hash ^ (hash >> 33n)) * P2);
  hash = u64((hash ^ (hash >> 29n)) * P3);
  return hash ^ (hash >> 32n);
}

const hash = new XxHash64();
function hashOf(bytes: Uint8Array, start = 0, end = bytes.length): bigint {
  hash.hash(bytes, start, end);
  return (BigInt(hash.high) << 32n) + BigInt(hash.low);
}

it("xxHash64 gives the published hashes of texts", () => {
  expect(hashOf(Buffer.from(""))).toBe(0xef46db3751d8e999n);
  expect(hashOf(Buffer.from("a"))).toBe(0xd24ec4f1a98c6e5bn);
  expect(hashOf(Buffer.from("abc"))).toBe(0x44bc2cf5ad770999n);
});

it("xxHash64 equals the plain formula for all lengths", () => {
  const random = new Random(1);
  for (let length = 0; length < 200; length++) {
    const bytes = new Uint8Array(length + 3);
    random.fill(bytes);
    expect(hashOf(bytes, 3), String(length)).toBe(plainHash(bytes.slice(3)));
  }
});
