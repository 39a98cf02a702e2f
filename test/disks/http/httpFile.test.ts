/** Reads of files on a host: any pieces, in any order and at once, are the bytes of the file. */

import fc from "fast-check";
import { httpDisk } from "tiltyard/disks";
import { describe, expect, it } from "vitest";
import { decodeHeads, encodeHeads, type FileHead } from "../../../src/disks/http/publishedHeads.js";
import { formatIndex, parseIndex } from "../../../src/disks/http/publishedIndex.js";
import { CorruptFileError } from "../../../src/errors.js";

const SIZE = 3_000_000;
const content = new Uint8Array(SIZE).map((_, index) => (index * 31 + (index >> 7)) & 255);

/** Serves `content` under any path, in ranges. */
function serve(requests: string[]): typeof fetch {
  return async (_input, init) => {
    const range = new Headers(init?.headers).get("range") ?? "";
    requests.push(range);
    const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(range) ?? [];
    if (first === undefined) return new Response(null, { status: 404 });
    const start = first === "" ? Math.max(0, SIZE - Number(last)) : Number(first);
    const end = first === "" ? SIZE : Math.min(SIZE, Number(last) + 1);
    const headers = { "content-range": `bytes ${start}-${end - 1}/${SIZE}`, etag: '"a"' };
    return new Response(content.slice(start, end), { status: 206, headers });
  };
}

const piece = fc
  .tuple(fc.nat(SIZE), fc.oneof(fc.nat(100), fc.nat(40_000), fc.nat(1_500_000)))
  .map(([start, length]) => ({ start, length: Math.min(length, SIZE - start) }));

describe("a file on a host", () => {
  it("is read right in any pieces, at once and after one another", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(piece, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 }),
        fc.nat(200_000),
        async (rounds, tailBytes) => {
          const disk = httpDisk("http://host.example/", { fetch: serve([]) });
          const handle = await disk.open("/data/f.lance", tailBytes);
          if (handle === null) throw new Error("the file is missing");
          expect(handle.size).toBe(SIZE);
          const tail = handle.takeTail?.();
          if (tail) expect(Buffer.compare(tail, content.subarray(SIZE - tail.length))).toBe(0);
          for (const pieces of rounds) {
            const byteLength = pieces.reduce((sum, { length }) => sum + length, 0);
            const target = new Uint8Array(byteLength);
            let position = 0;
            const positions = pieces.map(({ length }) => (position += length) - length);
            const [read] = await Promise.all([
              Promise.all(pieces.map(({ start, length }) => handle.read(start, length))),
              handle.readInto?.(target, {
                byteOffsets: Float64Array.from(pieces, ({ start }) => start),
                lengths: Float64Array.from(pieces, ({ length }) => length),
                positions: Float64Array.from(positions),
              }),
            ]);
            for (const [index, { start, length }] of pieces.entries()) {
              const expected = content.subarray(start, start + length);
              expect(Buffer.compare(read[index], expected)).toBe(0);
              const into = target.subarray(positions[index], positions[index] + length);
              expect(Buffer.compare(into, expected)).toBe(0);
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it("near pieces that are asked for at once share a request, far ones do not", async () => {
    const requests: string[] = [];
    const handle = await httpDisk("http://host.example/", { fetch: serve(requests) }).open("/data/f.lance");
    requests.length = 0;
    const near = [0, 1, 2, 3].map((index) => handle?.read(500_000 + index * 60_000, 4096));
    await Promise.all([...near, handle?.read(2_000_000, 4096)]);
    expect(requests).toHaveLength(2);
    await handle?.read(500_100, 2000);
    expect(requests).toHaveLength(2);
  });

  it("a read past the end fails without a request", async () => {
    const requests: string[] = [];
    const handle = await httpDisk("http://host.example/", { fetch: serve(requests) }).open("/data/f.lance");
    requests.length = 0;
    await expect(handle?.read(SIZE - 10, 11)).rejects.toThrow("ends at");
    expect(requests).toEqual([]);
  });
});

describe("a published index", () => {
  const file = (path: string) => ({ path, size: path.length, etag: "0123456789abcdef" });
  const lots = Array.from({ length: 5001 }, (_, index) => file(`_versions/${index}.manifest`));
  const tables = [
    { location: "a.lance", files: lots, indices: ["i-1"], heads: file("_tiltyard/heads-1.bin") },
    { location: "b.lance", files: [file("_versions/1.manifest")], indices: [], heads: null },
  ];
  const bytesOf = (text: string) => new TextEncoder().encode(text);

  it("has all files again after parsing, a table of many files too", async () => {
    for (const text of [formatIndex(tables), JSON.stringify(JSON.parse(formatIndex(tables)))]) {
      const index = await parseIndex(bytesOf(text));
      expect([...(index?.tables.keys() ?? [])]).toEqual(["a.lance", "b.lance"]);
      expect(index?.entries("a.lance/_versions")).toHaveLength(5001);
      expect(index?.file("a.lance/_versions/4999.manifest")).toEqual(lots[4999]);
      expect(index?.tables.get("a.lance")).toEqual({ location: "a.lance", heads: tables[0].heads });
      expect(index?.entries("a.lance/_indices")).toEqual([{ name: "i-1", kind: "directory" }]);
    }
    expect(await parseIndex(bytesOf(formatIndex([])))).toMatchObject({ tables: new Map() });
  });

  it("of long paths with many directories is refused before it fills the memory", async () => {
    const deep = Array.from({ length: 100 }, (_, index) => file(`${index}${"/d".repeat(2000)}`));
    const lines = Array.from({ length: 5 }, (_, index) => ({
      ...tables[1],
      location: `t${index}`,
      files: deep,
    }));
    await expect(parseIndex(bytesOf(formatIndex(lines)))).rejects.toThrow(CorruptFileError);
  });

  it("that is cut or damaged is refused or none, never part of one", async () => {
    const bytes = bytesOf(formatIndex(tables.slice(1)));
    for (let length = 0; length < bytes.length - 3; length++) {
      const parsed = await parseIndex(bytes.subarray(0, length)).catch((error: unknown) => error);
      if (parsed !== null) expect(parsed).toBeInstanceOf(CorruptFileError);
    }
  });
});

describe("heads", () => {
  const piecesOf = fc
    .array(fc.tuple(fc.nat(50), fc.uint8Array({ maxLength: 60 })), { maxLength: 5 })
    .map((gaps): FileHead => {
      let end = 0;
      const pieces = gaps.map(([gap, bytes]) => {
        const start = end + gap;
        end = start + bytes.length;
        return { start, bytes };
      });
      return { size: end + 7, pieces };
    });

  it("survive being encoded and decoded", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), piecesOf), (heads) => {
        const map = new Map(Object.entries(heads));
        const bytes = new Uint8Array(Buffer.concat(encodeHeads(map)));
        expect(decodeHeads(bytes)).toEqual(map);
      }),
    );
  });

  it("that are damaged are none, or lie within their bytes", () => {
    fc.assert(
      fc.property(piecesOf, fc.nat(), fc.nat(255), fc.nat(400), (head, position, value, cut) => {
        const bytes = new Uint8Array(Buffer.concat(encodeHeads(new Map([["a", head]]))));
        bytes[position % bytes.length] = value;
        for (const each of decodeHeads(bytes.subarray(0, cut))?.values() ?? []) {
          for (const { start, bytes: part } of each.pieces)
            expect(start + part.length).toBeLessThanOrEqual(each.size);
        }
      }),
    );
  });
});
