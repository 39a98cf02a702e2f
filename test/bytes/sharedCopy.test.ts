import { expect, test } from "vitest";
import { hasSharedMemory, sharedCopy } from "../../src/bytes/sharedCopy.js";

test("a copy has its views in one piece of shared memory, and keeps views of shared memory", () => {
  const shared = new Float32Array(new SharedArrayBuffer(16), 4, 2).fill(1.5);
  const plain = { words: Uint32Array.of(7, 8), name: "own" };
  const copy = sharedCopy({ shared, list: [plain, plain], map: new Map([["bytes", Uint8Array.of(3)]]) });
  expect(copy.shared).toBe(shared);
  expect(copy.list[0]).toBe(copy.list[1]);
  expect(copy.list[0]).toEqual(plain);
  const bytes = copy.map.get("bytes");
  expect(bytes).toEqual(Uint8Array.of(3));
  expect(bytes?.buffer).toBe(copy.list[0].words.buffer);
  expect(bytes?.buffer).toBeInstanceOf(SharedArrayBuffer);
});

test("the caller allocates the memory, and hasSharedMemory finds it at any depth", () => {
  const memory = new Uint8Array(new SharedArrayBuffer(64), 8, 32).fill(9);
  const copy = sharedCopy({ words: Float64Array.of(0.5, 2), bytes: Uint8Array.of(1) }, () => memory);
  expect(copy).toEqual({ words: Float64Array.of(0.5, 2), bytes: Uint8Array.of(1) });
  expect([copy.words.byteOffset, copy.words.buffer]).toEqual([8, memory.buffer]);
  expect(hasSharedMemory([new Map([["a", { copy }]])])).toBe(true);
  expect(hasSharedMemory([null, "text", 7, new Map([["a", { bytes: Uint8Array.of(1) }]])])).toBe(false);
});

test("copies have the phase of their sources", () => {
  const memory = Uint8Array.from({ length: 64 }, (_, index) => index);
  const bytes = memory.subarray(13, 30);
  const words = new Uint32Array(memory.buffer, 36, 5);
  const copy = sharedCopy({ bytes, words, more: memory.subarray(7, 9) });
  expect(copy).toEqual({ bytes, words, more: memory.subarray(7, 9) });
  expect([copy.bytes, copy.words, copy.more].map(({ byteOffset }) => byteOffset % 8)).toEqual([5, 4, 7]);
});
