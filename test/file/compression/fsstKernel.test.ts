import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeWithoutKernel } from "../../../src/file/compression/fsst.js";
import { encodeInKernel } from "../../../src/file/compression/fsstKernel.js";
import { trainFsst } from "../../../src/file/compression/fsstTraining.js";

function join(values: readonly Uint8Array[]): { offsets: Int32Array; bytes: Uint8Array } {
  const offsets = new Int32Array(values.length + 1);
  values.forEach((value, index) => {
    offsets[index + 1] = offsets[index] + value.length;
  });
  return { offsets, bytes: Uint8Array.from(Buffer.concat(values)) };
}

/** Both forms give the same codes. */
function expectSame(values: readonly Uint8Array[], limit?: number): void {
  const { offsets, bytes } = join(values);
  const { table } = trainFsst(offsets, bytes);
  const most = limit ?? 2 * bytes.length;
  const plain = encodeWithoutKernel(table, offsets, bytes, most);
  const inKernel = encodeInKernel(table, offsets, bytes, most);
  if (inKernel === undefined) throw new Error("the kernel was not used");
  expect(inKernel === null).toBe(plain === null);
  if (inKernel === null || plain === null) return;
  expect(inKernel.offsets).toEqual(plain.offsets);
  expect(Buffer.compare(inKernel.bytes, plain.bytes)).toBe(0);
}

const word = fc.constantFrom("", "a", "na", "ana", "banana", "ß", "\0", "\0\0\0", "internationalisation");
const text = fc.array(word, { maxLength: 12 }).map((words) => new TextEncoder().encode(words.join("")));
const noise = fc.uint8Array({ maxLength: 40 });

describe("the FSST kernel", () => {
  it("gives the codes of the plain form for whatever values", () => {
    const seed = Date.now() & 0x7fffffff;
    console.log(`FSST kernel: seed ${seed}`);
    const values = fc.array(fc.oneof({ arbitrary: text, weight: 4 }, noise), { maxLength: 300 });
    fc.assert(
      fc.property(values, (some) => expectSame(some)),
      { seed, numRuns: 200 },
    );
  });

  it("gives them for more values, and more bytes, than a block holds", () => {
    const short = Array.from({ length: 40_000 }, (_, row) => new TextEncoder().encode(`n${row % 977}`));
    expectSame(short);
    const long = Array.from({ length: 40 }, (_, row) => new TextEncoder().encode(`${row} and `.repeat(3000)));
    expectSame(long);
  });

  it("gives up where the plain form does", () => {
    const values = Array.from({ length: 5000 }, (_, row) => new TextEncoder().encode(`${row} of a kind`));
    for (const limit of [0, 1, 1000, 20_000, 40_000]) expectSame(values, limit);
  });

  it("leaves values longer than a block to the plain form", () => {
    const { offsets, bytes } = join([new Uint8Array(10), new Uint8Array(1 << 18), new Uint8Array(10)]);
    const { table } = trainFsst(offsets, bytes);
    expect(encodeInKernel(table, offsets, bytes, bytes.length)).toBeUndefined();
  });
});
