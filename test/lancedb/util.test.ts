/** Literals of SQL, packed bits, and values that expire, against LanceDB's. */

import { afterEach, describe, expect, it, vi } from "vitest";
import { blob, coerceBlobValue, isBlobField } from "../../src/lancedb/blob.js";
import * as ours from "../../src/lancedb/util.js";
import { nativeModule, outcomeOf } from "../support/nativeLancedb.js";

const native = nativeModule<typeof ours>("util");
const nativeBlob = nativeModule<{ blob: typeof blob; coerceBlobValue: typeof coerceBlobValue }>("blob");

describe("toSQL", () => {
  it.each([
    ...["a'b", "", 1.5, Number.NaN, -0, 1e21, true, false, null, undefined, 5n],
    ...[
      new Date(0),
      new ArrayBuffer(2),
      Buffer.from("a"),
      [],
      ["a", null, [1]],
      {},
      [{}],
      new Float32Array(1),
      () => 1,
    ],
  ])("writes %s as LanceDB does", (value) => {
    const outcome = ({ toSQL }: typeof ours) => outcomeOf(() => toSQL(value as ours.IntoSql));
    expect(outcome(ours)).toBe(outcome(native));
  });
});

describe("packBits", () => {
  it.each([
    [[]],
    [[1]],
    [[1, 0, 0, 0, 0, 0, 0, 1, 1]],
    [Array(16).fill(1)],
  ])("packs %j as LanceDB does", (bits) => {
    expect(ours.packBits(bits)).toEqual(native.packBits(bits));
  });
});

describe("TTLCache", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("forgets values after their time", () => {
    vi.useFakeTimers();
    const cache = new ours.TTLCache(1000);
    cache.set("a", 1);
    cache.set("b", 2);
    cache.delete("b");
    vi.advanceTimersByTime(999);
    expect([cache.get("a"), cache.get("b")]).toEqual([1, undefined]);
    vi.advanceTimersByTime(1);
    expect(cache.get("a")).toBeUndefined();
  });
});

describe("blob", () => {
  it.each([
    ...[
      {},
      { nullable: false },
      { inlineSizeThreshold: 0 },
      { inlineSizeThreshold: -1 },
      { inlineSizeThreshold: 1.5 },
    ],
    ...[{ dedicatedSizeThreshold: 0 }, { packFileSizeThreshold: 5, dedicatedSizeThreshold: 6 }],
  ])("declares a column with options %j as LanceDB does", (options) => {
    const outcome = (make: typeof blob) =>
      outcomeOf(() => {
        const field = make("b", options);
        return [`${field.type}`, field.nullable, [...field.metadata]];
      });
    expect(outcome(blob)).toBe(outcome(nativeBlob.blob));
  });

  it.each([
    ...[
      null,
      undefined,
      "s3://a",
      "",
      5,
      {},
      { uri: "x" },
      { uri: 5 },
      { data: null, uri: null },
      { data: "a" },
    ],
    ...[
      Buffer.from("a"),
      new Uint8Array(1),
      new Float32Array(1),
      { data: Buffer.from("a") },
      { data: Buffer.from("a"), uri: "x" },
    ],
  ])("takes a value %j as LanceDB does", (value) => {
    const outcome = (coerce: typeof coerceBlobValue) => outcomeOf(() => coerce(value));
    expect(outcome(coerceBlobValue)).toBe(outcome(nativeBlob.coerceBlobValue));
  });

  it("is recognized by its metadata", () => {
    expect(isBlobField(blob("b"))).toBe(true);
    expect(isBlobField({ ...blob("b"), metadata: new Map() } as never)).toBe(false);
  });
});
