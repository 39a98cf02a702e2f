import { expect, test } from "vitest";
import { sharedCopy } from "../../src/bytes/sharedCopy.js";

test("views get into one piece of shared memory, but those that lie in such already", () => {
  const shared = new Float32Array(new SharedArrayBuffer(16), 4, 2).fill(1.5);
  const own = { words: Uint32Array.of(7, 8), name: "own" };
  const copy = sharedCopy({ shared, list: [own, own], map: new Map([["bytes", Uint8Array.of(3)]]) });
  expect(copy.shared).toBe(shared);
  expect(copy.list[0]).toBe(copy.list[1]);
  expect(copy.list[0]).toEqual(own);
  const bytes = copy.map.get("bytes");
  expect(bytes).toEqual(Uint8Array.of(3));
  expect(bytes?.buffer).toBe(copy.list[0].words.buffer);
  expect(bytes?.buffer).toBeInstanceOf(SharedArrayBuffer);
});
