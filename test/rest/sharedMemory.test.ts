import * as arrow from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { createRestHandler, type RestHandler, type RestLimits } from "tiltyard/rest";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openInput } from "../../src/arrow/exchange/input.js";
import { FREE_BYTES } from "../../src/rest/http/budget.js";
import { ENCODERS, writeCompressed } from "../support/compressedIpc.js";
import { makeHeldNamespace } from "../support/heldNamespace.js";

const STREAM = "application/vnd.apache.arrow.stream";
const MIB = 2 ** 20;

let namespace: DirectoryNamespace;
let letGo: () => void;
const clients: AbortController[] = [];

beforeEach(async () => {
  ({ namespace, letGo } = await makeHeldNamespace());
});
afterEach(async () => {
  letGo();
  for (const client of clients.splice(0)) client.abort();
  await namespace.close();
});

const handlerOf = (limits: RestLimits): RestHandler =>
  createRestHandler(namespace, { auth: { anonymous: true }, limits });

function send(
  handler: RestHandler,
  tail: string,
  body: string | Uint8Array | ReadableStream<Uint8Array>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const client = new AbortController();
  clients.push(client);
  const init = {
    method: "POST",
    headers: { "content-type": typeof body === "string" ? "application/json" : STREAM, ...headers },
    body,
    duplex: "half",
    signal: client.signal,
  };
  return handler(new Request(`http://localhost/v1/table/t/${tail}`, init as RequestInit));
}

/** Returns numbers: one repeated value, which compresses well, or different values. */
function numbers(count: number, value?: number): arrow.Table {
  const data = Int32Array.from({ length: count }, (_, row) => value ?? row * 2654435761);
  return new arrow.Table({
    v: arrow.makeVector(arrow.makeData({ type: new arrow.Int32(), length: count, data })),
  });
}

/** Returns a body that sends its bytes and then nothing. `whenSent` is called when all bytes are taken. */
function stalling(bytes: Uint8Array, whenSent?: () => void): ReadableStream<Uint8Array> {
  let offset = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (offset >= bytes.length) {
          whenSent?.();
          return new Promise(() => undefined);
        }
        controller.enqueue(bytes.subarray(offset, (offset += 65536)));
        return undefined;
      },
    },
    { highWaterMark: 0 },
  );
}

describe("bodies of rows", () => {
  const limits = { maxBodyMemoryBytes: 4 * MIB, memoryWaitMs: 40 };
  const large = arrow.tableToIPC(numbers(MIB), "stream");
  const small = arrow.tableToIPC(numbers(100), "stream");

  it("bodies in transit leave only the free bytes to others (503)", async () => {
    await namespace.createTable({ id: ["t"] }, numbers(10));
    const handler = handlerOf(limits);
    // The second request certainly waits once the first has all its bytes.
    let held: Promise<Response> | undefined;
    await new Promise<void>((whenSent) => {
      held = send(handler, "insert", stalling(large.subarray(0, 3 * MIB), whenSent));
    });
    expect((await send(handler, "insert", stalling(large.subarray(0, 3 * MIB)))).status).toBe(503);
    const refused = await send(handler, "insert", large);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).not.toBeNull();
    expect(await refused.json()).toMatchObject({ code: 17 });
    expect((await send(handler, "insert", small)).status).toBe(200);
    clients[0].abort();
    expect((await held)?.status).toBe(503);
    expect((await send(handler, "insert", large)).status).toBe(200);
    expect(await namespace.countTableRows({ id: ["t"] })).toBe(10 + 100 + MIB);
  });

  it.each(
    ENCODERS,
  )("count as what they are uncompressed, before they are: codec %i", async (type, encode) => {
    const count = 2 ** 15;
    const { asWritten, corrected } = writeCompressed(numbers(count, 0x07070707), type, encode);
    for (const bytes of [asWritten, corrected]) {
      expect(bytes.length).toBeLessThan(5000);
      const holds: number[] = [];
      const notes: number[] = [];
      const input = await openInput([bytes], undefined, {
        memory: {
          spareBytes: () => Number.POSITIVE_INFINITY,
          hold(use, byteLength) {
            if (use === "batch") holds.push(byteLength);
            return undefined;
          },
          note(use, byteLength) {
            if (use === "batch") notes.push(byteLength);
          },
        },
      });
      for await (const { rowCount } of input.batches) {
        expect(rowCount).toBe(count);
        expect(Math.max(...holds)).toBeGreaterThanOrEqual(4 * count);
        expect(Math.max(...holds)).toBeLessThan(4 * count + 10_000);
      }
      expect(notes.at(-1)).toBe(0);
    }
  });

  it("bodies wait for each other, and all are accepted", async () => {
    await namespace.createTable({ id: ["t"] }, numbers(10));
    const [[type, encode]] = ENCODERS;
    const { corrected } = writeCompressed(numbers(MIB / 2, 7), type, encode);
    const handler = handlerOf({ maxBodyMemoryBytes: 3 * MIB });
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(handler, "insert", corrected)));
    for (const { status } of answers) expect(status).toBe(200);
    expect(await namespace.countTableRows({ id: ["t"] })).toBe(10 + 4 * MIB);
  });

  it("the dictionaries of a file are limited", async () => {
    const words = arrow.vectorFromArray(
      ["a", "b".repeat(200_000)],
      new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
    );
    const [[type, encode]] = ENCODERS;
    writeCompressed(new arrow.Table({ words }), type, encode);
    const file = new arrow.RecordBatchFileWriter({ compressionType: type })
      .writeAll(new arrow.Table({ words }))
      .toUint8Array(true);
    expect(file.length).toBeLessThan(20_000);
    const read = async (maxBatchBytes: number) => {
      const input = await openInput([file], undefined, { maxBatchBytes });
      for await (const { rowCount } of input.batches) expect(rowCount).toBe(2);
    };
    await expect(read(100_000)).rejects.toThrow();
  });
});

describe("JSON", () => {
  it("JSON counts with its parsed size until its request has ended", async () => {
    await namespace.createTable({ id: ["t"] }, numbers(10));
    const handler = handlerOf({ maxBodyMemoryBytes: 4 * MIB, memoryWaitMs: 40 });
    const large = (context: object = {}) =>
      JSON.stringify({ context: { more: "x".repeat(100_000), ...context } });
    const held = send(handler, "exists", large({ hold: "yes" }));
    await expect.poll(async () => (await send(handler, "exists", large())).status).toBe(503);
    expect((await send(handler, "exists", "{}")).status).toBe(200);
    letGo();
    expect((await held).status).toBe(200);
    expect((await send(handler, "exists", large())).status).toBe(200);
  });
});

describe("answers", () => {
  const ROWS = 4 * MIB;

  async function query(handler: RestHandler, members: object = {}): Promise<Response> {
    return send(handler, "query", JSON.stringify(members), { accept: STREAM });
  }

  it("answers have batches of about a MiB with the same rows", async () => {
    await namespace.createTable({ id: ["t"] }, numbers(ROWS / 4));
    const answer = await query(handlerOf({}), { columns: { column_aliases: { a: "v", b: "v" } } });
    let next = 0;
    const sizes: number[] = [];
    for (const batch of arrow.RecordBatchReader.from(new Uint8Array(await answer.arrayBuffer()))) {
      sizes.push(8 * batch.numRows);
      const values = batch.getChildAt(1)?.toArray() as Int32Array;
      const expected = Int32Array.from(values, () => next++ * 2654435761);
      expect(
        Buffer.compare(
          Buffer.from(values.buffer, values.byteOffset, values.byteLength),
          Buffer.from(expected.buffer),
        ),
      ).toBe(0);
    }
    expect(next).toBe(ROWS / 4);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MIB);
    expect(sizes.length).toBeLessThanOrEqual(10);
  });

  it("answers that nobody takes leave only the free bytes to others (503)", async () => {
    await namespace.createTable({ id: ["t"] }, numbers(ROWS));
    const handler = handlerOf({ maxAnswerMemoryBytes: 2 * MIB, memoryWaitMs: 40 });
    const reader = (await query(handler)).body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    const refused = await query(handler);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).not.toBeNull();
    const few = await query(handler, { k: 3, offset: 5 });
    expect(few.status).toBe(200);
    expect((await few.arrayBuffer()).byteLength).toBeLessThan(FREE_BYTES);
    await reader?.cancel();
    await expect.poll(() => handler.counters.inFlight).toBe(0);
    const whole = await query(handler);
    expect(whole.status).toBe(200);
    expect((await whole.arrayBuffer()).byteLength).toBeGreaterThan(4 * ROWS);
  });

  it("answers that nobody takes for long break off", async () => {
    await namespace.createTable({ id: ["t"] }, numbers(ROWS));
    const handler = handlerOf({ answerIdleMs: 200 });
    const untouched = await query(handler);
    const begun = await query(handler);
    const reader = begun.body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    await expect.poll(() => handler.counters.inFlight).toBe(0);
    await expect(reader?.read()).rejects.toMatchObject({ code: 17 });
    await expect(untouched.arrayBuffer()).rejects.toMatchObject({ code: 17 });
  });

  it("JSON answers without memory are refused (503)", async () => {
    const columns = Object.fromEntries(
      Array.from({ length: 4000 }, (_, index) => [
        `${index}-${"c".repeat(100)}`,
        arrow.vectorFromArray([1], new arrow.Int32()),
      ]),
    );
    await namespace.createTable({ id: ["t"] }, new arrow.Table(columns));
    await namespace.createTable({ id: ["u"] }, numbers(ROWS));
    const handler = handlerOf({ maxAnswerMemoryBytes: MIB / 4 });
    const described = await send(handler, "describe", "{}");
    expect(described.status).toBe(200);
    await described.arrayBuffer();
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    const rows = await handler(new Request("http://localhost/v1/table/u/query", init));
    const reader = rows.body?.getReader();
    await reader?.read();
    expect((await send(handler, "describe", "{}")).status).toBe(503);
    expect((await send(handler, "exists", "{}")).status).toBe(200);
    await reader?.cancel();
    expect((await send(handler, "describe", "{}")).status).toBe(200);
  });
});

it("pages that expand are in memory one after the other", async () => {
  const text = "x".repeat(MIB);
  const column = arrow.vectorFromArray(Array(4).fill(text), new arrow.Utf8());
  const names = Array.from({ length: 16 }, (_, index) => `c${index}`);
  await namespace.createTable(
    { id: ["t"] },
    new arrow.Table(Object.fromEntries(names.map((name) => [name, column]))),
  );
  const held = new Map<string, number>();
  let steps = 0;
  const take = (use: string, byteLength: number) => {
    // Decoded bytes are counted before the next page is decoded.
    expect(byteLength - (held.get(use) ?? 0)).toBeLessThan(20 * MIB);
    held.set(use, byteLength);
    steps++;
    return undefined;
  };
  const memory = { spareBytes: () => 2 ** 30, hold: take, note: take };
  const rows = await namespace.queryTable({ id: ["t"], memory });
  for await (const batch of rows) {
    expect(batch.numRows).toBe(4);
    expect(Math.max(...held.values())).toBeGreaterThan(64 * MIB - 1);
    break;
  }
  expect(steps).toBeGreaterThan(16);
});
