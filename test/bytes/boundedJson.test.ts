import { expect, it } from "vitest";
import { parseBoundedJson } from "../../src/bytes/boundedJson.js";

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

it("parseBoundedJson parses values of little nesting, and does not count brackets in strings", () => {
  expect(JSON.stringify(parseBoundedJson(nested(64)))).toBe(nested(64));
  const brackets = { text: nested(100), 'quoted \\" [[': ["}", { "]": nested(65) }] };
  expect(parseBoundedJson(JSON.stringify(brackets))).toEqual(brackets);
  const many = Array.from({ length: 1000 }, () => [{}]);
  expect(parseBoundedJson(JSON.stringify(many))).toEqual(many);
});

it("parseBoundedJson refuses deep nesting, and text that is not JSON", () => {
  for (const text of [nested(65), nested(5000), `${'{"a":'.repeat(65)}1${"}".repeat(65)}`, "[", "", "{]"]) {
    expect(() => parseBoundedJson(text)).toThrow(SyntaxError);
  }
});
