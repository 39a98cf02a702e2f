import { describe, expect, it } from "vitest";
import { CorruptFileError } from "../../../src/errors.js";
import { BLOCK_BYTES, BlockChecks, BlockPlaces } from "../../../src/file/container/blockChecksums.js";
import { checksumsOfPage, encodeBlockTable } from "../../../src/file/container/pageChecksums.js";
import { cutChecked, type PageChecks, planChecks } from "../../../src/file/pages/checkedParts.js";
import type { RangeList } from "../../../src/io/disk/ranges.js";
import { Random } from "../../support/generators.js";

const random = new Random(5);
const START = 128;
const BLOCKS = 20;

/** A file of one page buffer of some blocks, followed by their checksums. */
function makeFile(): { file: Uint8Array; checks: PageChecks } {
  const buffer = Uint8Array.from({ length: BLOCKS * BLOCK_BYTES - 50 }, () => random.below(256));
  const table = encodeBlockTable([checksumsOfPage([[buffer]])]);
  if (table === null) throw new Error("no table");
  const tableStart = START + buffer.length;
  const file = new Uint8Array(tableStart + table.pieces[0].length);
  file.set(buffer, START);
  file.set(table.pieces[0], tableStart);
  const range = { byteOffset: START, length: buffer.length };
  const places = new BlockPlaces(tableStart, table.counts);
  return { file, checks: [new BlockChecks(range, places.rangeOf(0), "/f")] };
}

const rangesOf = (...ranges: readonly (readonly [number, number])[]): RangeList => ({
  byteOffsets: Float64Array.from(ranges, ([start]) => START + start),
  lengths: Float64Array.from(ranges, ([, length]) => length),
});

function gather(file: Uint8Array, { byteOffsets, lengths }: RangeList): Uint8Array {
  const parts = Array.from(byteOffsets, (start, index) => file.subarray(start, start + lengths[index]));
  return new Uint8Array(Buffer.concat(parts));
}

/** Plans a read of ranges; the function that is returned goes on with it. */
function begin(file: Uint8Array, checks: PageChecks, ranges: RangeList): () => Uint8Array {
  const plan = planChecks(checks, ranges);
  return () =>
    plan === null
      ? gather(file, ranges)
      : cutChecked(plan, checks, gather(file, plan.reads), (length) => new Uint8Array(length), "/f");
}

describe("parts of a page that are read with their checksums", () => {
  it("are the bytes of the ranges, in any order and with any gaps", () => {
    const { file, checks } = makeFile();
    for (let round = 0; round < 100; round++) {
      const ranges = rangesOf(
        ...Array.from({ length: 1 + random.below(6) }, (): [number, number] => {
          const start = random.below((BLOCKS - 3) * BLOCK_BYTES);
          return [start, random.below(2 * BLOCK_BYTES)];
        }),
      );
      expect(Buffer.compare(begin(file, checks, ranges)(), gather(file, ranges))).toBe(0);
    }
  });

  it("take one read of the table, and one read of every block", () => {
    const { file, checks } = makeFile();
    const first = planChecks(
      checks,
      rangesOf([10, 10], [30, 10], [BLOCK_BYTES + 5, 1], [9 * BLOCK_BYTES, 1]),
    );
    expect(first?.lacking.length).toBe(1);
    expect([...(first?.reads.lengths ?? [])]).toEqual([4 * BLOCKS, 2 * BLOCK_BYTES, BLOCK_BYTES]);
    begin(file, checks, rangesOf([10, 10]))();
    expect(planChecks(checks, rangesOf([0, BLOCK_BYTES]))).toBeNull();
    expect(planChecks(checks, rangesOf([0, BLOCK_BYTES + 1]))?.lacking).toEqual([]);
  });

  it("fail in each of two concurrent reads", () => {
    const { file, checks } = makeFile();
    begin(file, checks, rangesOf([0, 1]))();
    file[START + 3 * BLOCK_BYTES + 7] ^= 1;
    const damaged = rangesOf([3 * BLOCK_BYTES, 100]);
    const reads = [begin(file, checks, damaged), begin(file, checks, damaged)];
    for (const finish of reads) expect(finish).toThrow(CorruptFileError);
    file[START + 3 * BLOCK_BYTES + 7] ^= 1;
    expect(begin(file, checks, damaged)()).toEqual(gather(file, damaged));
  });
});
