/** Compares regular expressions with JavaScript's, for syntax that both have. */

import fc from "fast-check";
import { InvalidInputError } from "tiltyard";
import { expect, it } from "vitest";
import { runSync } from "../../../src/async/eventLoop.js";
import { Automaton } from "../../../src/expression/regex/automaton.js";
import { parsePattern } from "../../../src/expression/regex/pattern.js";

const matches = (pattern: string, flags: string, text: string): boolean => {
  const bytes = new TextEncoder().encode(text);
  const automaton = runSync(Automaton.of(runSync(parsePattern(pattern, flags)), false));
  return runSync(automaton.matchesInSteps(bytes, 0, bytes.length));
};

const atom = fc.constantFrom(
  "a",
  "b",
  "é",
  "😀",
  ".",
  "[ab]",
  "[^a]",
  "[a-c]",
  "\\.",
  "^",
  "$",
  "\\x61",
  "[\\]x]",
  "\\n",
);
const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4 },
    atom,
    fc.tuple(tie("pattern"), tie("pattern")).map(([left, right]) => left + right),
    fc.tuple(tie("pattern"), tie("pattern")).map(([left, right]) => `(?:${left}|${right})`),
    fc
      .tuple(tie("pattern"), fc.constantFrom("*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"))
      .map(([one, count]) => `(${one})${count}`),
  ),
}));
const text = fc
  .array(fc.constantFrom("a", "b", "c", "é", "😀", ".", "\n", "A", "x", "]"), { maxLength: 8 })
  .map((characters) => characters.join(""));

it("regular expressions match like JavaScript's", () => {
  fc.assert(
    fc.property(pattern, text, fc.constantFrom("", "i", "m", "s"), (source, subject, flags) => {
      expect(matches(source, flags, subject), JSON.stringify([source, flags, subject])).toBe(
        new RegExp(source, `u${flags}`).test(subject),
      );
    }),
    { numRuns: 5000 },
  );
});

it.each([
  ["\\d+", "x٣", true],
  ["^\\w+$", "größe_1", true],
  ["\\bis\\b", "this is", true],
  ["\\bis\\b", "this", false],
  ["\\Bs", "is", true],
  ["\\pL", "1é", true],
  ["\\p{Greek}", "α", true],
  ["\\P{L}", "é", false],
  ["(?i)STRASSE", "strasse", true],
  ["(?i:A)b", "aB", false],
  ["(?x) a b # c\n c", "abc", true],
  ["[[:alpha:]_]+$", "1a_", true],
  ["(?<name>a)b", "ab", true],
  ["a{,2}", "", null],
  ["(a", "a", null],
  ["a)", "a", null],
  ["*a", "a", null],
  ["(?=a)", "a", null],
  ["(?<!a)b", "b", null],
  ["(a)\\1", "aa", null],
  ["[b-a]", "a", null],
  ["[a", "a", null],
  ["a{1001}", "a", null],
  ["\\p{Nothing}", "a", null],
])("%s on %s", (source, subject, expected) => {
  if (expected === null) expect(() => matches(source, "", subject)).toThrow(InvalidInputError);
  else expect(matches(source, "", subject)).toBe(expected);
});

it("an automaton keeps few states, whatever the text", () => {
  // The last 12 characters decide the state, so there are 4096.
  const automaton = runSync(Automaton.of(runSync(parsePattern("(?:a|b)*a(?:a|b){11}c", "")), true));
  let state = 7;
  const text = Array.from({ length: 200_000 }, () => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return state & 0x10000 ? "a" : "b";
  }).join("");
  const bytes = new TextEncoder().encode(text);
  expect(runSync(automaton.matchesInSteps(bytes, 0, bytes.length))).toBe(false);
  const fitting = new TextEncoder().encode(`${text}abbbbbbbbbbbc`);
  expect(runSync(automaton.matchesInSteps(fitting, 0, fitting.length))).toBe(true);
});
