import { describe, expect, it } from "vitest";
import { crc32 } from "../../../src/bytes/crc32.js";
import { CorruptFileError } from "../../../src/errors.js";
import {
  BLOCK_BYTES,
  BlockChecks,
  BlockPlaces,
  SMALL_PAGE_BYTES,
} from "../../../src/file/container/blockChecksums.js";
import { checksumsOfPage, encodeBlockTable } from "../../../src/file/container/pageChecksums.js";
import { Random } from "../../support/generators.js";

const random = new Random(11);
const bytesOf = (length: number): Uint8Array => Uint8Array.from({ length }, () => random.below(256));

/** Bytes cut into pieces at random, some empty. */
function piecesOf(bytes: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = Math.min(bytes.length, start + random.below(random.below(2) === 0 ? 50 : 3 * BLOCK_BYTES));
    pieces.push(bytes.subarray(start, end));
    start = end;
  }
  return pieces;
}

describe("the checksums of a page", () => {
  it.each([
    -1, 0, 1, 4095, 4096, 4097,
  ])("are those of its blocks and buffers, %i bytes past some blocks", (more) => {
    const large = bytesOf(17 * BLOCK_BYTES + more);
    const small = bytesOf(BLOCK_BYTES);
    const [first, second, empty] = checksumsOfPage([piecesOf(large), piecesOf(small), []]);
    expect(first.whole).toBe(crc32(large));
    const blocks = Array.from({ length: Math.ceil(large.length / BLOCK_BYTES) }, (_, block) =>
      crc32(large.subarray(block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES)),
    );
    expect([...first.blocks]).toEqual(blocks);
    expect(second).toEqual({ whole: crc32(small), blocks: new Uint32Array(0) });
    expect(empty).toEqual({ whole: 0, blocks: new Uint32Array(0) });
  });

  it("omit the blocks of a page that is always read whole", () => {
    const buffers = [[bytesOf(SMALL_PAGE_BYTES / 2)], [bytesOf(SMALL_PAGE_BYTES / 2)]];
    expect(checksumsOfPage(buffers).map(({ blocks }) => blocks.length)).toEqual([0, 0]);
    expect(encodeBlockTable([checksumsOfPage(buffers)])).toBeNull();
  });
});

describe("the checks of a buffer's blocks", () => {
  const START = 640;
  const bytes = bytesOf(20 * BLOCK_BYTES + 100);
  const buffer = { byteOffset: START, length: bytes.length };
  const checksums = checksumsOfPage([[bytes]]);
  const table = encodeBlockTable([[], checksums]);
  if (table === null) throw new Error("no table");
  const places = new BlockPlaces(100_000, table.counts);
  const open = (): BlockChecks => {
    const checks = new BlockChecks(buffer, places.rangeOf(0), "/f");
    checks.takeTable(table.pieces[0]);
    return checks;
  };

  it("find each flipped bit in its block only", () => {
    expect(places.end).toBe(100_000 + 4 * 21);
    const damaged = bytes.slice();
    damaged[2 * BLOCK_BYTES + 7] ^= 16;
    const checks = open();
    const part = (first: number, end: number) => damaged.subarray(first * BLOCK_BYTES, end * BLOCK_BYTES);
    checks.verify(part(0, 2), START, "/f");
    checks.verify(part(3, 21), START + 3 * BLOCK_BYTES, "/f");
    expect(checks.isToVerify(START, START + 2 * BLOCK_BYTES)).toBe(false);
    expect(checks.isToVerify(START + 3 * BLOCK_BYTES, START + bytes.length)).toBe(false);
    expect(checks.isToVerify(START + 2 * BLOCK_BYTES - 1, START + 2 * BLOCK_BYTES + 1)).toBe(true);
    const verify = () => checks.verify(part(1, 4), START + BLOCK_BYTES, "/f");
    expect(verify).toThrow(CorruptFileError);
    // The table may be the damaged part, so it is read once more.
    expect(checks.needsTable).toBe(true);
    checks.takeTable(table.pieces[0]);
    expect(verify).toThrow(CorruptFileError);
  });

  it("refuse a table of another number of blocks", () => {
    const range = places.rangeOf(0);
    expect(() => new BlockChecks(buffer, { ...range, length: range.length - 4 }, "/f")).toThrow(
      CorruptFileError,
    );
  });

  it("widen ranges to whole blocks, the last of which is shorter", () => {
    const checks = open();
    expect(checks.startOfBlock(START + BLOCK_BYTES - 1)).toBe(START);
    expect(checks.startOfBlock(START + BLOCK_BYTES)).toBe(START + BLOCK_BYTES);
    expect(checks.endOfBlock(START + BLOCK_BYTES)).toBe(START + BLOCK_BYTES);
    expect(checks.endOfBlock(START + BLOCK_BYTES + 1)).toBe(START + 2 * BLOCK_BYTES);
    expect(checks.endOfBlock(START + bytes.length - 1)).toBe(START + bytes.length);
  });

  it("skip parts of a large buffer without blocks, but verify the whole buffer", () => {
    const checks = new BlockChecks(buffer, crc32(bytes), "/f");
    expect(checks.isToVerify(START, START + 10)).toBe(false);
    expect(checks.isToVerify(START, START + bytes.length)).toBe(true);
    const damaged = bytes.slice();
    damaged[5] ^= 1;
    expect(() => checks.verify(damaged, START, "/f")).toThrow(CorruptFileError);
    checks.verify(bytes, START, "/f");
    expect(checks.isToVerify(START, START + bytes.length)).toBe(false);
  });
});
