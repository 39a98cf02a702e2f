import { createRequire } from "node:module";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeLz4Frame } from "../../src/bytes/lz4Frame.js";

const lz4js = createRequire(import.meta.url)("lz4js") as { compress(bytes: Uint8Array): Uint8Array };

const LIMIT = 1 << 24;
const text = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString("latin1"));

/** Makes a frame of these flags and blocks; nobody reads its checksums. */
function frameOf(flags: number, blocks: (string | { stored: string })[], contentSize?: number): Uint8Array {
  const parts: Buffer[] = [Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x40 | flags, 0x40])];
  if (contentSize !== undefined) {
    const size = Buffer.alloc(8);
    size.writeBigUInt64LE(BigInt(contentSize));
    parts.push(size);
  }
  parts.push(Buffer.from([0xcc]));
  for (const block of blocks) {
    const stored = typeof block !== "string";
    const bytes = Buffer.from(stored ? block.stored : block, "latin1");
    const header = Buffer.alloc(4);
    header.writeUInt32LE(stored ? (bytes.length | 0x80000000) >>> 0 : bytes.length);
    parts.push(header, bytes);
    if ((flags & 0x10) !== 0) parts.push(Buffer.from("csum"));
  }
  parts.push(Buffer.alloc(4));
  if ((flags & 0x04) !== 0) parts.push(Buffer.from("CSUM"));
  return Buffer.concat(parts);
}

/** Eight literals; then eight bytes from eight bytes back and a last literal. */
const FIRST = "\x80abcdefgh";
const LINKED = "\x04\x08\x00\x10x";

describe("decodeLz4Frame", () => {
  it("decodes frames of an encoder", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc
        .uint8Array({ minLength: 1, maxLength: 40 })
        .map((piece) => Buffer.concat(new Array(300).fill(piece))),
    );
    fc.assert(
      fc.property(bytes, (content) => {
        const decoded = decodeLz4Frame(lz4js.compress(content), LIMIT);
        expect(decoded).not.toBeNull();
        expect(Buffer.from(decoded as Uint8Array).equals(content)).toBe(true);
      }),
    );
  });

  it("decodes blocks that reach back into earlier ones", () => {
    expect(text(decodeLz4Frame(frameOf(0, [FIRST, LINKED]), LIMIT))).toBe("abcdefghabcdefghx");
    expect(text(decodeLz4Frame(frameOf(0, [{ stored: "abcdefgh" }, LINKED]), LIMIT))).toBe(
      "abcdefghabcdefghx",
    );
  });

  it("skips checksums", () => {
    expect(text(decodeLz4Frame(frameOf(0x14, [FIRST, LINKED]), LIMIT))).toBe("abcdefghabcdefghx");
  });

  it("compares the content size with the blocks", () => {
    expect(text(decodeLz4Frame(frameOf(0x08, [FIRST], 8), LIMIT))).toBe("abcdefgh");
    expect(decodeLz4Frame(frameOf(0x08, [FIRST], 9), LIMIT)).toBeNull();
  });

  it("refuses bytes that are not a frame, and content beyond its limit", () => {
    const frame = frameOf(0, [FIRST, LINKED]);
    expect(decodeLz4Frame(frame, 17)).not.toBeNull();
    expect(decodeLz4Frame(frame, 16)).toBeNull();
    expect(decodeLz4Frame(frameOf(0, [LINKED]), LIMIT)).toBeNull();
    expect(decodeLz4Frame(frameOf(0x01, [FIRST]), LIMIT)).toBeNull();
    expect(decodeLz4Frame(Buffer.concat([frame, Buffer.from("x")]), LIMIT)).toBeNull();
    for (let length = 0; length < frame.length; length++) {
      expect(decodeLz4Frame(frame.subarray(0, length), LIMIT)).toBeNull();
    }
  });

  it("returns for any bytes", () => {
    const frame = frameOf(0x08, [FIRST, LINKED], 17);
    fc.assert(
      fc.property(fc.nat(frame.length - 1), fc.nat(255), (offset, value) => {
        const bytes = Uint8Array.from(frame);
        bytes[offset] = value;
        const decoded = decodeLz4Frame(bytes, LIMIT);
        if (decoded !== null) expect(decoded.length).toBeLessThanOrEqual(LIMIT);
      }),
      { numRuns: 1000 },
    );
  });
});
