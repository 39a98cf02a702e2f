/** The memory of a body depends on its size, and not on its pieces. */

import { Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { readJson, readPieces } from "../../../src/rest/http/body.js";
import { Refusal } from "../../../src/rest/wire/problem.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const bounds = {
  maxBytes: 2 ** 20,
  idleMs: 10_000,
  waitMs: 10_000,
  bytesPerSecond: 2 ** 10,
  signal: new AbortController().signal,
};

const requestOf = (body: ReadableStream<Uint8Array>) =>
  new Request("http://localhost/", { method: "POST", body, duplex: "half" } as RequestInit);

/** Returns a stream of single bytes, each in a buffer of its own. */
function singly(text: string, bufferBytes: number, atEnd: () => void = () => undefined) {
  const bytes = new TextEncoder().encode(text);
  let next = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (next === bytes.length) {
          atEnd();
          controller.close();
          return;
        }
        const piece = new Uint8Array(bufferBytes).subarray(0, 1);
        piece[0] = bytes[next++];
        controller.enqueue(piece);
      },
    },
    { highWaterMark: 0 },
  );
}

it("JSON in single bytes does not keep each piece in memory", async () => {
  const json = { text: "ü".repeat(10_000) };
  collect();
  const before = process.memoryUsage().arrayBuffers;
  let held = Number.NaN;
  const body = singly(JSON.stringify(json), 2 ** 13, () => {
    collect();
    held = process.memoryUsage().arrayBuffers - before;
  });
  expect(await readJson(requestOf(body), bounds)).toEqual(json);
  expect(held).toBeLessThan(2 ** 24);
});

it("JSON is complete however it is cut, up to the last allowed byte", async () => {
  const text = JSON.stringify({ list: Array.from({ length: 5000 }, (_, index) => `entry ${index} ☃`) });
  const { length } = new TextEncoder().encode(text);
  for (const pieceBytes of [1, 7, 1000, 2 ** 16, length]) {
    const pieces = async function* () {
      const bytes = new TextEncoder().encode(text);
      for (let offset = 0; offset < length; offset += pieceBytes)
        yield bytes.subarray(offset, offset + pieceBytes);
    };
    const request = () => requestOf(Readable.toWeb(Readable.from(pieces())) as ReadableStream<Uint8Array>);
    expect(await readJson(request(), { ...bounds, maxBytes: length })).toEqual(JSON.parse(text));
    await expect(readJson(request(), { ...bounds, maxBytes: length - 1 })).rejects.toMatchObject({
      status: 413,
    });
  }
  expect(await readJson(new Request("http://localhost/", { method: "POST" }), bounds)).toBeUndefined();
});

it("a refused or cancelled body is released", async () => {
  for (const end of ["refused", "left"]) {
    let released = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(2 ** 16)),
      cancel: () => void released++,
    });
    const pieces = readPieces(requestOf(body), bounds);
    const read = async () => {
      for await (const _ of pieces) if (end === "left") break;
    };
    if (end === "refused") await expect(read()).rejects.toThrow(Refusal);
    else await read();
    expect(released).toBe(1);
  }
});
