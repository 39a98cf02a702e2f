import { describe, expect, it } from "vitest";
import { InvalidInputError } from "../../src/errors.js";
import { optionalCount, requireTableId, requireVersion } from "../../src/operations/request.js";
import { optionalStringMap, parseChoice } from "../../src/operations/requestValues.js";

describe("request members", () => {
  it.each([
    -1,
    1.5,
    Number.NaN,
    Infinity,
    2 ** 53,
    "1",
    null,
    undefined,
    {},
    1n,
  ])("refuses %s as a version", (value) => {
    expect(() => requireVersion(value)).toThrow(InvalidInputError);
  });

  it("requireVersion accepts versions that a double holds exactly", () => {
    expect(requireVersion(0)).toBe(0);
    expect(requireVersion(Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER);
  });

  it.each(["ExistOk", "existok", "EXIST_OK", "exist_ok", "EXISTOK"])("reads %s as ExistOk", (text) => {
    expect(parseChoice(text, "mode", ["Create", "ExistOk"], "Create")).toBe("ExistOk");
  });

  it.each(["", "exist ok", "ex_istok", "append", 3, {}, []])("refuses %s as a mode", (value) => {
    expect(() => parseChoice(value, "mode", ["Create", "ExistOk"], "Create")).toThrow(/mode/);
  });

  it("requireTableId refuses the root namespace and values that are not strings", () => {
    for (const id of [[], undefined, null, "", "$", "t$", 7, [1], ["a", null], {}]) {
      expect(() => requireTableId(id)).toThrow(InvalidInputError);
    }
    expect([requireTableId("t"), requireTableId("a$t")]).toEqual([["t"], ["a", "t"]]);
  });

  it("optionalCount refuses counts below the minimum and values that are not counts", () => {
    for (const value of [0, -1, 1.5, Number.NaN, 2 ** 53, "1", 1n, {}]) {
      expect(() => optionalCount(value, "limit", 1)).toThrow(/limit/);
    }
    expect(optionalCount(0, "limit")).toBe(0);
    expect(optionalCount(1, "limit", 1)).toBe(1);
    expect(optionalCount(undefined, "limit", 1)).toBeUndefined();
  });

  it("optionalStringMap accepts only objects, with any keys", () => {
    const map = JSON.parse('{"__proto__":"a","":"b"}') as Record<string, string>;
    expect(Object.entries(optionalStringMap(map, "metadata") ?? {})).toEqual([
      ["__proto__", "a"],
      ["", "b"],
    ]);
    for (const value of [new Map([["a", "b"]]), [["a", "b"]], "a", 1, { a: 1 }, { a: null }]) {
      expect(() => optionalStringMap(value, "metadata")).toThrow(InvalidInputError);
    }
  });
});
