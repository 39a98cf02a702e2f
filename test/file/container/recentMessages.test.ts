import { expect, it } from "vitest";
import { RecentMessages } from "../../../src/file/container/recentMessages.js";

/** A message with a view of its bytes. */
const decode = (bytes: Uint8Array) => ({ tail: bytes.subarray(1) });

it("remembered messages keep their bytes when the read buffer changes", () => {
  const recent = new RecentMessages<{ tail: Uint8Array }>(2, 4);
  const bytes = Uint8Array.of(1, 2, 3);
  const first = recent.get(bytes, decode);
  bytes.fill(9);
  expect([...first.tail]).toEqual([2, 3]);
  expect(recent.get(Uint8Array.of(1, 2, 3), decode)).toBe(first);
  expect(recent.get(bytes, decode)).not.toBe(first);
});

it("only a few short messages are remembered", () => {
  const recent = new RecentMessages<{ tail: Uint8Array }>(2, 4);
  const [one, two, three] = [1, 2, 3].map((byte) => Uint8Array.of(byte, byte));
  const first = recent.get(one, decode);
  const second = recent.get(two, decode);
  expect(recent.get(one, decode)).toBe(first);
  recent.get(three, decode);
  expect(recent.get(two, decode)).toBe(second);
  expect(recent.get(one, decode)).not.toBe(first);
  const long = new Uint8Array(5);
  expect(recent.get(long, decode).tail.buffer).toBe(long.buffer);
  expect(recent.get(long, decode)).not.toBe(recent.get(long, decode));
});
