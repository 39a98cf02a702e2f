/** Answers release their resources, however they end. */

import { Field, Int32, type RecordBatch, Schema, Table, vectorFromArray } from "apache-arrow";
import { describe, expect, it } from "vitest";
import type { QueryResult } from "../../../src/namespace/queries.js";
import { jsonAnswer, rowsAnswer, whenSent } from "../../../src/rest/wire/answer.js";

const request = new Request("http://localhost/");
const [batch] = new Table({ v: vectorFromArray([1, 2, 3], new Int32()) }).batches;

/** Returns endless batches, and a flag that is true after their release. */
function endlessRows() {
  const state = { read: 0, released: 0 };
  async function* batches(): AsyncGenerator<RecordBatch> {
    try {
      for (;;) {
        state.read++;
        yield batch;
      }
    } finally {
      state.released++;
    }
  }
  const schema = new Schema([new Field("v", new Int32())]);
  const iterator = batches();
  const result = { schema, [Symbol.asyncIterator]: () => iterator } as unknown as QueryResult;
  return { state, result };
}

describe("an answer with rows", () => {
  it("an unread answer releases the rows", async () => {
    const { state, result } = endlessRows();
    const response = await rowsAnswer(request, result);
    expect(state).toEqual({ read: 1, released: 0 });
    await response.body?.cancel();
    expect(state).toEqual({ read: 1, released: 1 });
  });

  it("a cancelled answer releases the rows and reads no more than requested", async () => {
    const { state, result } = endlessRows();
    const reader = (await rowsAnswer(request, result)).body?.getReader();
    await reader?.read();
    expect(state).toEqual({ read: 1, released: 0 });
    await reader?.cancel();
    expect(state).toEqual({ read: 1, released: 1 });
  });

  it("an answer that breaks off before it is read releases the rows, and its request has ended", async () => {
    const { state, result } = endlessRows();
    const time = new AbortController();
    const ends: unknown[] = [];
    const response = whenSent(
      await rowsAnswer(request, result),
      { signal: time.signal, idleMs: 10_000 },
      (failure) => ends.push(failure),
    );
    const reason = new Error("over");
    time.abort(reason);
    await expect(response.arrayBuffer()).rejects.toBe(reason);
    await expect.poll(() => state.released).toBe(1);
    expect(ends).toEqual([reason]);
  });
});

describe("a JSON answer", () => {
  const long = "x".repeat(2 ** 20);

  it("a long answer is in progress until it is taken, compressed or not", async () => {
    for (const encoding of ["identity", "gzip"]) {
      const asking = new Request("http://localhost/", { headers: { "accept-encoding": encoding } });
      let ended = 0;
      const response = whenSent(
        jsonAnswer(asking, { long }, 200),
        { signal: undefined, idleMs: 10_000 },
        () => ended++,
      );
      expect(ended).toBe(0);
      const { length } = new Uint8Array(await response.arrayBuffer());
      expect(ended).toBe(1);
      const declared = response.headers.get("content-length");
      expect(declared).toBe(encoding === "gzip" ? null : String(length));
    }
  });

  it("a short answer counts as taken", () => {
    let ended = 0;
    whenSent(jsonAnswer(request, { short: 1 }, 200), { signal: undefined, idleMs: 10_000 }, () => ended++);
    expect(ended).toBe(1);
  });
});
