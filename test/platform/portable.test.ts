import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import * as native from "../../src/platform/native.js";
import * as portable from "../../src/platform/portable.js";

// Each assignment compiles only if neither side lacks a name of the other.
const asNative: typeof native = portable;
const asPortable: typeof portable = native;

describe("the portable platform", () => {
  it("exports the names of the native platform", () => {
    expect(Object.keys(asNative).sort()).toEqual(Object.keys(asPortable).sort());
  });

  it.runIf(native.sep === "/")("joins paths like the native platform", () => {
    const names = ["a", "b.lance", "_versions", ".", "..", "été"];
    const path = fc
      .tuple(fc.boolean(), fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 5 }))
      .map(([isAbsolute, parts]) => (isAbsolute ? "/" : "") + parts.join("/"));
    fc.assert(
      fc.property(path, path, (a, b) => {
        expect(portable.isAbsolute(a)).toBe(native.isAbsolute(a));
        expect(portable.join(a, b)).toBe(native.join(a, b));
        const [root, below] = [native.resolve("/", a), native.resolve("/", a, b)];
        expect(portable.resolve("/", a, b)).toBe(below);
        expect(portable.relative(root, below)).toBe(native.relative(root, below));
        expect(portable.basename(below)).toBe(native.basename(below));
        expect(portable.dirname(below)).toBe(native.dirname(below));
      }),
    );
  });

  it("answers questions on bytes like the native platform", () => {
    const text = fc.string({ unit: "binary" }).map((value) => new TextEncoder().encode(value));
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), text), fc.uint8Array(), (a, b) => {
        expect(portable.isUtf8(a)).toBe(native.isUtf8(a));
        expect(portable.isAscii(a)).toBe(native.isAscii(a));
        expect(portable.isSameBytes(a, b)).toBe(native.isSameBytes(a, b));
        expect(portable.isSameBytes(a, a.slice())).toBe(true);
      }),
    );
  });

  it("reads texts like the native platform, in shared memory too", () => {
    class StrictDecoder extends TextDecoder {
      override decode(bytes?: Uint8Array, options?: TextDecodeOptions): string {
        if (bytes?.buffer instanceof SharedArrayBuffer) throw new TypeError("must not be shared");
        return super.decode(bytes, options);
      }
    }
    vi.stubGlobal("TextDecoder", StrictDecoder);
    const texts = ["\ufeffmark", "", "é😀", "plain"].map((text) => new TextEncoder().encode(text));
    const shared = new Uint8Array(new SharedArrayBuffer(64));
    for (const text of texts) {
      shared.set(text, 8);
      for (const bytes of [shared, shared.slice()]) {
        const end = 8 + text.length;
        expect(portable.textReader(bytes)(8, end)).toBe(native.textReader(bytes)(8, end));
      }
    }
    vi.unstubAllGlobals();
  });

  it("calls back at the next turns, in order", async () => {
    const calls: number[] = [];
    portable.nextTurn(() => calls.push(1));
    portable.nextTurn(() => calls.push(2));
    await Promise.resolve();
    expect(calls).toEqual([]);
    await new Promise<void>((resolve) => portable.nextTurn(resolve));
    expect(calls).toEqual([1, 2]);
  });
});
