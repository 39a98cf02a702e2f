import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidInputError } from "../src/errors.js";
import {
  checkObjectName,
  checkRootTableName,
  formatFieldPath,
  formatIdentifier,
  parseFieldPath,
  parseIdentifier,
} from "../src/ident.js";

const segment = fc.oneof(
  fc.string({ minLength: 1, unit: fc.constantFrom("a", ".", "`", " ", "é", "$") }),
  fc.string({ minLength: 1, unit: "binary" }),
);

describe("field paths", () => {
  it.each([
    ["a", ["a"]],
    ["a.b.c", ["a", "b", "c"]],
    ["`a`.b", ["a", "b"]],
    ["a.`b.c`", ["a", "b.c"]],
    ["`x``y`", ["x`y"]],
    ["````", ["`"]],
    [" a . b ", [" a ", " b "]],
  ])("parses %s", (text, segments) => {
    expect(parseFieldPath(text)).toEqual(segments);
  });

  it.each([
    ["", "cannot be empty"],
    ["a..b", "empty field name at position 2"],
    [".a", "empty field name at position 0"],
    ["a.", "trailing dot at position 2"],
    ["s.``", "empty field name at position 2"],
    ["a`b", "quote in the middle of a field name at position 1"],
    ["`a", "unclosed quote at position 0"],
    ["`a`b", "expected '.' or the end after a closing quote at position 3"],
    ["``", "empty field name at position 0"],
    ["`a``", "unclosed quote at position 0"],
  ])("refuses %j", (text, reason) => {
    expect(() => parseFieldPath(text)).toThrow(InvalidInputError);
    expect(() => parseFieldPath(text)).toThrow(reason);
  });

  it("reads back what it writes", () => {
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 5 }), (segments) => {
        expect(parseFieldPath(formatFieldPath(segments))).toEqual(segments);
      }),
    );
  });

  it("writes back what it reads, in canonical form", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", "b", ".", "`") }), (text) => {
        let segments: string[];
        try {
          segments = parseFieldPath(text);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidInputError);
          return;
        }
        expect(segments).not.toContain("");
        expect(parseFieldPath(formatFieldPath(segments))).toEqual(segments);
      }),
      { numRuns: 2000 },
    );
  });

  it("quotes only segments with a dot or a backtick", () => {
    expect(formatFieldPath(["X y", "a.b", "c`d", "e"])).toBe("X y.`a.b`.`c``d`.e");
  });
});

describe("identifiers", () => {
  it("treats the delimiter alone as the root", () => {
    expect(parseIdentifier("$")).toEqual([]);
    expect(parseIdentifier("::", "::")).toEqual([]);
    expect(parseIdentifier("$", ".")).toEqual(["$"]);
    expect(formatIdentifier([])).toBe("$");
    expect(formatIdentifier([], ".")).toBe(".");
  });

  it("splits at the delimiter", () => {
    expect(parseIdentifier("a$b$c")).toEqual(["a", "b", "c"]);
    expect(parseIdentifier("a.b$c", ".")).toEqual(["a", "b$c"]);
    expect(formatIdentifier(["a", "b"])).toBe("a$b");
  });

  it.each(["", "$a", "a$", "a$$b", "$$"])("refuses %j", (text) => {
    expect(() => parseIdentifier(text)).toThrow(InvalidInputError);
  });

  it("names the position of an empty part", () => {
    expect(() => parseIdentifier("ab$$c")).toThrow("empty part at position 3");
  });

  it("refuses an empty delimiter", () => {
    expect(() => parseIdentifier("a", "")).toThrow(InvalidInputError);
    expect(() => formatIdentifier(["a"], "")).toThrow(InvalidInputError);
  });

  it("reads back what it writes", () => {
    const part = fc.string({ minLength: 1 }).filter((text) => !text.includes("$"));
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        expect(parseIdentifier(formatIdentifier(parts))).toEqual(parts);
      }),
    );
  });
});

describe("names", () => {
  it.each(["a", "A-b_c.d", "x".repeat(200), "_a", "...", "0"])("root tables may be called %s", (name) => {
    expect(() => checkRootTableName(name)).not.toThrow();
  });

  it.each([
    "",
    ".",
    "..",
    "__a",
    "__manifest",
    "a b",
    "a/b",
    "é",
    "a$b",
    "x".repeat(201),
    "a\n",
  ])("root tables may not be called %j", (name) => {
    expect(() => checkRootTableName(name)).toThrow(InvalidInputError);
  });

  it.each(["a", "ä b.c", "日".repeat(66), "CON", "__x", "a:b*?"])("objects may be called %s", (name) => {
    expect(() => checkObjectName(name)).not.toThrow();
  });

  it.each([
    "",
    ".",
    "..",
    "a/b",
    "a\\b",
    "a$b",
    "a\u0000",
    "a\u007f",
    "a\u0085",
    "日".repeat(67),
    "\ud800",
  ])("objects may not be called %j", (name) => {
    expect(() => checkObjectName(name)).toThrow(InvalidInputError);
  });
});
