/**
 * Patterns of regular expressions as trees, and the parser for the syntax of RE2 and of Rust's regex: what
 * needs no memory of the text that was matched. There are no back-references and no look-around, so every
 * pattern is matched in time linear in the text.
 *
 *     . [a-z] [^a] \d \w \s \D \W \S \pL \p{Greek} \P{…}    one character
 *     xy  x|y  (x)  (?:x)  (?<name>x)  (?flags)  (?flags:x)
 *     x*  x+  x?  x{n}  x{n,}  x{n,m}, each also lazy
 *     ^ $ \A \z \b \B                                        positions
 *     \n \t \r \f \v \a \x7F \x{10FFFF} \u{…} \u00E9 \. …    escapes
 *
 * Flags: `i` ignores case, `m` makes ^ and $ match at line breaks, `s` makes dots match line breaks, `x`
 * ignores blanks, `U` has no effect.
 */

import type { Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import {
  ANY_CHARACTER,
  anyCase,
  type CharacterSet,
  complement,
  isSingle,
  MAX_CODE_POINT,
  NO_LINE_FEED,
  POSIX_CLASSES,
  propertySet,
  single,
  union,
  withSets,
  wordSet,
} from "./characterSets.js";

export type Position = "start" | "end" | "lineStart" | "lineEnd" | "boundary" | "noBoundary";

export type Pattern =
  | { readonly kind: "set"; readonly set: CharacterSet }
  | { readonly kind: "position"; readonly position: Position }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Pattern[] }
  /** A group whose match is recorded; 0 is the whole match. */
  | { readonly kind: "group"; readonly index: number; readonly name: string | null; readonly part: Pattern }
  | {
      readonly kind: "repeat";
      readonly part: Pattern;
      readonly min: number;
      readonly max: number;
      /** True if fewer repetitions are tried first. */
      readonly isLazy: boolean;
    };

const MAX_NESTING = 100;
const MAX_REPEAT = 1000;
/** Maximum length in UTF-16 units. Programs of longer patterns are too large. */
const MAX_LENGTH = 65_536;

/** Maximum number of large classes whose other cases are looked up: each takes some ten microseconds. */
const MAX_CASED_CLASSES = 128;
/** A class is large if it has more ranges than this, or a range of more characters. */
const SMALL_CLASS = 64;

const POSITIONS: Readonly<Record<string, Position>> = {
  A: "start",
  z: "end",
  b: "boundary",
  B: "noBoundary",
};
/** Classes by their escape, whose upper-case form means the complement. */
const CLASSES: Readonly<Record<string, () => CharacterSet>> = {
  d: () => propertySet("Nd"),
  w: wordSet,
  s: () => propertySet("White_Space"),
};
const CONTROLS: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  f: "\f",
  v: "\v",
  a: "\x07",
};

/** @throws InvalidInputError with the position */
export function parsePattern(text: string, flags: string): Steps<Pattern> {
  return withSets(() => new PatternParser(text, flags).parse());
}

class PatternParser {
  readonly #characters: readonly string[];
  #next = 0;
  #nesting = 0;
  #groups = 0;
  readonly #large = new Set<CharacterSet>();
  #flags: Set<string>;

  constructor(text: string, flags: string) {
    if (text.length > MAX_LENGTH) {
      throw new InvalidInputError(`regular expression: it is longer than ${MAX_LENGTH} characters`);
    }
    this.#characters = Array.from(text);
    this.#flags = new Set();
    for (const flag of flags) this.#setFlag(flag, true);
  }

  parse(): Pattern {
    const pattern = this.#choice();
    if (this.#next < this.#characters.length) throw this.#fail("unopened )");
    return pattern;
  }

  #choice(): Pattern {
    if (++this.#nesting > MAX_NESTING) throw this.#fail(`nested deeper than ${MAX_NESTING}`);
    const before = this.#flags;
    this.#flags = new Set(before);
    const parts: Pattern[] = [this.#sequence()];
    while (this.#accept("|")) parts.push(this.#sequence());
    this.#flags = before;
    this.#nesting--;
    return parts.length === 1 ? parts[0] : { kind: "choice", parts };
  }

  #sequence(): Pattern {
    const parts: Pattern[] = [];
    for (;;) {
      const character = this.#characters[this.#next];
      if (character === undefined || character === "|" || character === ")") break;
      this.#next++;
      if (this.#flags.has("x")) {
        if (/\s/.test(character)) continue;
        if (character === "#") {
          while (this.#next < this.#characters.length && this.#characters[this.#next] !== "\n") this.#next++;
          continue;
        }
      }
      const atom = this.#atom(character);
      if (atom !== null) parts.push(this.#repeated(atom));
    }
    return { kind: "sequence", parts };
  }

  #repeated(atom: Pattern): Pattern {
    let part = atom;
    for (;;) {
      const bounds = this.#bounds();
      if (bounds === null) return part;
      const isLazy = this.#accept("?");
      part = { kind: "repeat", part, min: bounds[0], max: bounds[1], isLazy };
      if (++this.#nesting > MAX_NESTING * 100) throw this.#fail("too many repetitions");
    }
  }

  #bounds(): readonly [number, number] | null {
    if (this.#accept("*")) return [0, Number.POSITIVE_INFINITY];
    if (this.#accept("+")) return [1, Number.POSITIVE_INFINITY];
    if (this.#accept("?")) return [0, 1];
    if (this.#characters[this.#next] !== "{") return null;
    const match = /^\{(\d{1,5})(,(\d{0,5}))?\}/.exec(
      this.#characters.slice(this.#next, this.#next + 16).join(""),
    );
    if (match === null) throw this.#fail("expected {n}, {n,} or {n,m}");
    this.#next += match[0].length;
    const min = Number(match[1]);
    const max = match[2] === undefined ? min : match[3] === "" ? Number.POSITIVE_INFINITY : Number(match[3]);
    if (max < min || min > MAX_REPEAT || (max > MAX_REPEAT && max !== Number.POSITIVE_INFINITY)) {
      throw this.#fail(`expected counts that ascend to at most ${MAX_REPEAT}`);
    }
    return [min, max];
  }

  /** Returns null for a group of flags, which has no pattern. */
  #atom(character: string): Pattern | null {
    switch (character) {
      case "(":
        return this.#group();
      case "[":
        return this.#set(this.#class());
      case ".":
        return { kind: "set", set: this.#flags.has("s") ? ANY_CHARACTER : NO_LINE_FEED };
      case "^":
        return { kind: "position", position: this.#flags.has("m") ? "lineStart" : "start" };
      case "$":
        return { kind: "position", position: this.#flags.has("m") ? "lineEnd" : "end" };
      case "*":
      case "+":
      case "?":
      case "{":
        throw this.#fail(`nothing before ${character} to repeat`);
      case "\\":
        return this.#escape();
      default:
        return this.#set(single(character));
    }
  }

  #group(): Pattern | null {
    if (!this.#accept("?")) return this.#remembered(null);
    if (!this.#accept("P") && this.#characters[this.#next] !== "<") {
      return this.#accept(":") ? this.#groupEnd() : this.#flagGroup();
    }
    if (!this.#accept("<") || /^[=!]$/.test(this.#characters[this.#next] ?? "")) {
      throw this.#fail("look-around is not supported");
    }
    const start = this.#next;
    while (this.#next < this.#characters.length && this.#characters[this.#next] !== ">") this.#next++;
    const name = this.#characters.slice(start, this.#next).join("");
    if (!this.#accept(">")) throw this.#fail("unclosed name of a group");
    return this.#remembered(name);
  }

  #remembered(name: string | null): Pattern {
    const index = ++this.#groups;
    return { kind: "group", index, name, part: this.#groupEnd() };
  }

  #flagGroup(): Pattern | null {
    const before = this.#flags;
    this.#flags = new Set(before);
    let value = true;
    for (;;) {
      const flag = this.#characters[this.#next++];
      if (flag === ")") return null;
      if (flag === ":") {
        const inner = this.#groupEnd();
        this.#flags = before;
        return inner;
      }
      if (flag === "-" && value) value = false;
      else if (flag === undefined || flag === "=" || flag === "!" || flag === ">") {
        throw this.#fail("look-around is not supported");
      } else this.#setFlag(flag, value);
    }
  }

  #groupEnd(): Pattern {
    const inner = this.#choice();
    if (!this.#accept(")")) throw this.#fail("unclosed (");
    return inner;
  }

  #setFlag(flag: string, value: boolean): void {
    if (!"imsxUuRg".includes(flag)) throw this.#fail(`unknown flag ${flag}`);
    if (value) this.#flags.add(flag);
    else this.#flags.delete(flag);
  }

  #escape(): Pattern {
    const character = this.#take();
    return Object.hasOwn(POSITIONS, character)
      ? { kind: "position", position: POSITIONS[character] }
      : this.#set(this.#escapedSet(character));
  }

  /** Returns the set of an escape, inside brackets and outside. */
  #escapedSet(character: string): CharacterSet {
    const lower = character.toLowerCase();
    if (Object.hasOwn(CLASSES, lower)) {
      const set = CLASSES[lower]();
      return lower === character ? set : complement(set);
    }
    if (Object.hasOwn(CONTROLS, character)) return single(CONTROLS[character]);
    switch (character) {
      case "p":
      case "P": {
        let name = this.#take();
        if (name === "{") {
          name = "";
          for (let part = this.#take(); part !== "}"; part = this.#take()) name += part;
        }
        const isNegated = name.startsWith("^");
        const set = this.#property(isNegated ? name.slice(1) : name);
        return (character === "P") !== isNegated ? complement(set) : set;
      }
      case "x":
      case "u":
      case "U":
        return single(this.#codePoint(character === "x" ? 2 : character === "u" ? 4 : 8));
    }
    if (/[\p{L}\p{N}]/u.test(character)) throw this.#fail(`\\${character} is not supported`);
    return single(character);
  }

  #property(name: string): CharacterSet {
    if (!/^[\w=:]+$/.test(name)) throw this.#fail(`no property ${name}`);
    for (const property of [name.replace(":", "="), `Script=${name}`]) {
      try {
        return propertySet(property);
      } catch (error) {
        // A name that is not a property may be a script.
        if ((error as Error).name !== "SyntaxError") throw error;
      }
    }
    throw this.#fail(`no property ${name}`);
  }

  #codePoint(digits: number): string {
    let text = "";
    if (this.#accept("{")) {
      for (let part = this.#take(); part !== "}" && text.length <= 8; part = this.#take()) text += part;
    } else {
      while (text.length < digits) text += this.#take();
    }
    const value = /^[0-9a-fA-F]{1,8}$/.test(text) ? Number.parseInt(text, 16) : Number.NaN;
    if (!(value <= MAX_CODE_POINT)) throw this.#fail(`${text} is no code point`);
    return String.fromCodePoint(value);
  }

  #class(): CharacterSet {
    if (++this.#nesting > MAX_NESTING) throw this.#fail(`nested deeper than ${MAX_NESTING}`);
    const isNegated = this.#accept("^");
    const sets: CharacterSet[] = [];
    for (let isFirst = true; ; isFirst = false) {
      const character = this.#take();
      if (character === "]" && !isFirst) break;
      if (character === "&" && this.#characters[this.#next] === "&") throw this.#fail("&& is not supported");
      if (character === "[") {
        sets.push(this.#characters[this.#next] === ":" ? this.#posixClass() : this.#class());
        continue;
      }
      const characters = character === "\\" ? this.#escapedSet(this.#take()) : single(character);
      const isRange =
        this.#characters[this.#next] === "-" &&
        (this.#characters[this.#next + 1] ?? "]") !== "]" &&
        isSingle(characters);
      if (!isRange) {
        sets.push(characters);
        continue;
      }
      this.#next++;
      const last = this.#take();
      const end = last === "\\" ? this.#escapedSet(this.#take()) : single(last);
      if (!isSingle(end) || end[0][0] < characters[0][0]) throw this.#fail("a range that does not ascend");
      sets.push([[characters[0][0], end[0][0]]]);
    }
    this.#nesting--;
    const set = this.#inCase(union(sets));
    return isNegated ? complement(set) : set;
  }

  #posixClass(): CharacterSet {
    const match = /^:(\^?)([a-z]+):\]/.exec(this.#characters.slice(this.#next, this.#next + 12).join(""));
    const set = match === null ? undefined : POSIX_CLASSES[match[2]];
    if (match === null || set === undefined) throw this.#fail("no such class of characters");
    this.#next += match[0].length;
    return match[1] === "^" ? complement(set) : set;
  }

  #set(set: CharacterSet): Pattern {
    return { kind: "set", set: this.#inCase(set) };
  }

  /** Returns the set, with all cases if a flag ignores case. */
  #inCase(set: CharacterSet): CharacterSet {
    if (!this.#flags.has("i")) return set;
    const isLarge = set.length > SMALL_CLASS || set.some(([from, to]) => to - from > SMALL_CLASS);
    if (isLarge && !this.#large.has(set) && this.#large.add(set).size > MAX_CASED_CLASSES) {
      throw this.#fail(`more than ${MAX_CASED_CLASSES} large classes ignore case`);
    }
    return anyCase(set);
  }

  #accept(character: string): boolean {
    if (this.#characters[this.#next] !== character) return false;
    this.#next++;
    return true;
  }

  #take(): string {
    const character = this.#characters[this.#next++];
    if (character === undefined) throw this.#fail("the pattern ends too early");
    return character;
  }

  #fail(reason: string): InvalidInputError {
    return new InvalidInputError(`regular expression: ${reason}, before character ${this.#next}`);
  }
}
