import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeRoaring } from "../../src/bytes/roaring.js";
import { CorruptFileError } from "../../src/errors.js";

const ORIGIN = { path: "r", byteOffset: 0 };
const MAX = 2 ** 22;
type Form = "plain" | "runs";

/** Writes the portable format, container by container; with "runs", every second container is one of runs. */
function encode(values: readonly number[], form: Form): Uint8Array {
  const containers = new Map<number, number[]>();
  for (const value of values) {
    const key = Math.floor(value / 65536);
    const members = containers.get(key);
    if (members === undefined) containers.set(key, [value % 65536]);
    else members.push(value % 65536);
  }
  const u16 = (value: number) => [value & 255, value >>> 8];
  const u32 = (value: number) => [...u16(value & 0xffff), ...u16(value >>> 16)];
  const bodies: number[][] = [];
  const flags = new Uint8Array(Math.ceil(containers.size / 8));
  let index = 0;
  for (const members of containers.values()) {
    if (form === "runs" && index % 2 === 0) {
      flags[index >>> 3] |= 1 << (index & 7);
      const runs: [number, number][] = [];
      for (const member of members) {
        const last = runs.at(-1);
        if (last !== undefined && last[0] + last[1] + 1 === member) last[1]++;
        else runs.push([member, 0]);
      }
      bodies.push([
        ...u16(runs.length),
        ...runs.flatMap(([start, length]) => [...u16(start), ...u16(length)]),
      ]);
    } else if (members.length <= 4096) {
      bodies.push(members.flatMap(u16));
    } else {
      const bits = new Array<number>(8192).fill(0);
      for (const member of members) bits[member >>> 3] |= 1 << (member & 7);
      bodies.push(bits);
    }
    index++;
  }
  const head =
    form === "runs"
      ? [...u16(12347), ...u16(containers.size - 1), ...flags]
      : [...u32(12346), ...u32(containers.size)];
  for (const [key, members] of containers) head.push(...u16(key), ...u16(members.length - 1));
  if (form === "plain" || containers.size >= 4) {
    let offset = head.length + 4 * containers.size;
    for (const body of bodies) {
      head.push(...u32(offset));
      offset += body.length;
    }
  }
  return Uint8Array.from([...head, ...bodies.flat()]);
}

const forms = fc.constantFrom<Form>("plain", "runs");
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);

describe("a roaring bitmap", () => {
  it("is read from bytes of the reference", () => {
    const one = Uint8Array.of(0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 3, 0, 9, 0);
    expect(Array.from(decodeRoaring(one, 10, ORIGIN))).toEqual([3, 9]);
    expect(decodeRoaring(Uint8Array.of(0x3a, 0x30, 0, 0, 0, 0, 0, 0), 10, ORIGIN).length).toBe(0);
  });

  it.each(["plain", "runs"] as const)("is read with bitmap, array and run containers: %s", (form) => {
    const values = [...range(0, 5000), ...range(70000, 70003), ...range(140000, 190000), 200001, 4294967295];
    expect(Array.from(decodeRoaring(encode(values, form), MAX, ORIGIN))).toEqual(values);
  });

  it("is read back with any values", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(400_000), { minLength: 1, maxLength: 300 }), forms, (set, form) => {
        const values = set.sort((a, b) => a - b);
        expect(Array.from(decodeRoaring(encode(values, form), MAX, ORIGIN))).toEqual(values);
      }),
    );
  });

  it("is refused, or ascends, after a change of any byte", () => {
    const bytes = encode([...range(5, 40), 70000, 70009, ...range(200000, 200100)], "runs");
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (index, mask) => {
        const damaged = bytes.slice();
        damaged[index] ^= mask;
        try {
          const values = decodeRoaring(damaged, 1000, ORIGIN);
          for (let slot = 1; slot < values.length; slot++)
            expect(values[slot]).toBeGreaterThan(values[slot - 1]);
        } catch (error) {
          expect(error).toBeInstanceOf(CorruptFileError);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("is refused if it is cut short, has bytes left over, or has too many values", () => {
    const bytes = encode([1, 2, 3, 70000], "plain");
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decodeRoaring(bytes.subarray(0, length), MAX, ORIGIN)).toThrow(CorruptFileError);
    }
    expect(() => decodeRoaring(Uint8Array.from([...bytes, 0]), MAX, ORIGIN)).toThrow(CorruptFileError);
    expect(() => decodeRoaring(bytes, 3, ORIGIN)).toThrow(CorruptFileError);
  });
});
