/** IPC input cannot make the engine hold endless dictionaries or tiny messages. */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import * as arrow from "apache-arrow";
import { describe, expect, it } from "vitest";
import { openIpcBytes, openIpcStream } from "../../src/arrow/exchange/ipc.js";
import { binaries, utf8s } from "../support/arrowColumns.js";
import { ENCODERS, writeCompressed } from "../support/compressedIpc.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const MAX_BATCH_BYTES = 2 ** 20;

interface Part {
  readonly kind: arrow.MessageHeader;
  readonly bytes: Uint8Array;
}

function messagesOf(stream: Uint8Array): Part[] {
  const view = new DataView(stream.buffer, stream.byteOffset, stream.length);
  const parts: Part[] = [];
  for (let offset = 0; offset + 8 < stream.length; ) {
    const metadataLength = view.getInt32(offset + 4, true);
    if (metadataLength === 0) break;
    const message = arrow.Message.decode(stream.subarray(offset + 8, offset + 8 + metadataLength));
    const end = offset + 8 + metadataLength + message.bodyLength;
    parts.push({ kind: message.headerType, bytes: stream.subarray(offset, end) });
    offset = end;
  }
  return parts;
}

/** A batch whose dictionary has a delta. */
function inParts(...values: readonly [string, string]): arrow.Table {
  const [first, second] = values.map((value) => utf8s([value]).data);
  const type = new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32());
  const dictionary = new arrow.Vector([...first, ...second]);
  const data = arrow.makeData({ type, length: 3, nullCount: 0, data: Int32Array.of(0, 1, 0), dictionary });
  return new arrow.Table({ d: new arrow.Vector([data]) });
}

async function rowsIn(stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<number> {
  const source = (async function* () {
    yield* stream;
  })();
  const { batches } = await openIpcStream(source, MAX_BATCH_BYTES);
  let rows = 0;
  for await (const batch of batches) rows += batch.numRows;
  return rows;
}

describe("dictionaries", () => {
  const parts = messagesOf(arrow.tableToIPC(inParts("a".repeat(10_000), "b".repeat(10_000)), "stream"));
  const [schema, whole, delta, batch] = parts.map(({ bytes }) => bytes);

  it("come whole, in parts, and in place of earlier ones", async () => {
    const { DictionaryBatch, RecordBatch, Schema } = arrow.MessageHeader;
    expect(parts.map(({ kind }) => kind)).toEqual([Schema, DictionaryBatch, DictionaryBatch, RecordBatch]);
    expect(await rowsIn([schema, whole, delta, batch, whole, delta, batch, delta, batch])).toBe(9);
  });

  it("that no batch follows are taken no further than one batch", async () => {
    for (const message of [whole, delta]) {
      let sent = 0;
      const endless = (function* () {
        yield schema;
        for (; sent < 10_000; sent++) yield message;
      })();
      await expect(rowsIn(endless)).rejects.toThrow(/at most 1048576 are taken at once/);
      expect(sent).toBeLessThan(MAX_BATCH_BYTES / 10_000 + 2);
    }
  });

  it("that grow with every batch stop growing", async () => {
    let sent = 0;
    const growing = (function* () {
      yield* [schema, whole];
      for (; sent < 10_000; sent++) yield* [delta, batch];
    })();
    await expect(rowsIn(growing)).rejects.toThrow(/are taken at once/);
    expect(sent).toBeLessThan(MAX_BATCH_BYTES / 10_000 + 2);
    const replaced = [schema, ...Array.from({ length: 300 }, () => [whole, delta, batch]).flat()];
    expect(await rowsIn(replaced)).toBe(900);
  });

  it("that are compressed count as what they become", async () => {
    const [[codec, encode]] = ENCODERS;
    const table = inParts("a".repeat(200_000), "b".repeat(200_000));
    const packed = messagesOf(writeCompressed(table, codec, encode).corrected).map(({ bytes }) => bytes);
    expect(packed[1].length).toBeLessThan(5_000);
    expect(await rowsIn(packed)).toBe(3);
    const growing = [
      packed[0],
      packed[1],
      ...Array.from({ length: 10 }, () => [packed[2], packed[3]]).flat(),
    ];
    await expect(rowsIn(growing)).rejects.toThrow(/are taken at once/);
  });

  it("come in so many parts and no more", async () => {
    const small = messagesOf(arrow.tableToIPC(inParts("", ""), "stream")).map(({ bytes }) => bytes);
    const times = (count: number, ...messages: Uint8Array[]) =>
      Array.from({ length: count }, () => messages).flat();
    expect(await rowsIn([...small.slice(0, 2), ...times(4, ...times(100, small[2]), small[3])])).toBe(12);
    for (const many of [times(20, ...times(100, small[2]), small[3]), times(600, small[1], small[2])]) {
      await expect(rowsIn([...small.slice(0, 2), ...many, small[3]])).rejects.toThrow(
        /in more than 1024 parts/,
      );
    }
  });
});

it("a message in pieces of one byte takes little more memory than it is long", async () => {
  const value = new Uint8Array(MAX_BATCH_BYTES / 8).map((_, index) => index);
  const stream = arrow.tableToIPC(new arrow.Table({ b: binaries([value]) }), "stream");
  const held: number[] = [];
  const memory = () => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = memory();
  const crumbs = (function* () {
    for (let offset = 0; offset < stream.length; offset++) {
      if (offset === stream.length - 100) held.push(memory());
      yield stream.subarray(offset, offset + 1);
    }
  })();
  const { batches } = await openIpcStream(
    (async function* () {
      yield* crumbs;
    })(),
    MAX_BATCH_BYTES,
  );
  for await (const batch of batches) expect(batch.getChildAt(0)?.get(0)).toEqual(value);
  expect(held[0] - before).toBeLessThan(4 * 2 ** 20);
});

describe("compressed buffers", () => {
  const [[codec, encode]] = ENCODERS;
  const text = "a line that comes again and again; ".repeat(2 ** 19);
  const table = inParts(text, `${text}!`);
  const packed = writeCompressed(table, codec, encode).corrected;

  it.each([
    ["that come in pieces", (bytes: Uint8Array) => openIpcStream([bytes][Symbol.iterator]() as never)],
    ["that are all there", (bytes: Uint8Array) => openIpcBytes(bytes)],
  ])("%s are inflated ahead of their decoder, with breaks", async (_, open) => {
    let turns = 0;
    const counting = setInterval(() => turns++, 0);
    const { batches } = await open(packed);
    let rows = 0;
    for await (const batch of batches) {
      rows += batch.numRows;
      expect(batch.getChildAt(0)?.get(0)).toBe(text);
    }
    clearInterval(counting);
    expect(rows).toBe(3);
    expect(turns).toBeGreaterThan(0);
  });
});
