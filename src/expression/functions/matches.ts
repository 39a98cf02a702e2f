/** Functions of regular expressions: they test a text, and return, replace, count and locate matches. */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { bothValid, isValid, validityFrom } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { InternalError, InvalidInputError } from "../../errors.js";
import { automatonTest, textTest } from "../kernels/like.js";
import { madeOnce, numberRows, RowPace, TextLane, textRows, wholeNumbers } from "../kernels/textRows.js";
import { Automaton } from "../regex/automaton.js";
import { parsePattern } from "../regex/pattern.js";
import { type Match, Search } from "../regex/search.js";
import { afterCharacters, countCharactersInSteps } from "../values/characters.js";
import { GrowingNumbers, GrowingTexts } from "../values/growing.js";
import { bitsColumn, bitsOf, isThere, madeBy, type ValueKernel } from "../values/operands.js";
import { type Scalar, textOfBytes } from "../values/scalars.js";
import { BOOL, INT64, listTypeOf, STRING, type ValueType } from "../values/types.js";
import { type FunctionForm, type Functions, taking } from "./form.js";
import { rowKernel } from "./textForm.js";

const constantPattern = "the pattern of a regular expression and its flags must be constants";

/** Returns the pattern and the flags; null if either is null; an error message if either is not constant. */
function patternOf(
  pattern: Scalar | undefined,
  flags: Scalar | undefined,
): readonly [pattern: string, flags: string] | string | null {
  if (pattern === null || flags === null) return null;
  return typeof pattern === "string" && typeof flags === "string" ? [pattern, flags] : constantPattern;
}

/** The form of a function whose pattern or flags are null. */
const nothing = (operands: readonly ValueType[], type: ValueType, value: Scalar): FunctionForm => ({
  operands,
  type,
  isStrict: false,
  kernel: rowKernel(operands, type, () => value),
});

/** A value that is made in steps before rows are computed. */
function prepared<Made>(make: () => Steps<Made>) {
  let made: { readonly value: Made } | null = null;
  return {
    *prepare(): Steps<void> {
      made = { value: yield* make() };
    },
    get value(): Made {
      if (made === null) throw new InternalError("a pattern is used before it is ready");
      return made.value;
    },
  };
}

const searchFor = (pattern: string, flags: string, remembersGroups: boolean) =>
  prepared(function* make() {
    return yield* Search.of(yield* parsePattern(pattern, flags), remembersGroups);
  });

/** Turns bits that are not set into nulls. */
function onlyTrue(tests: Column, length: number, valid: Validity | null): Column {
  if (tests.kind !== "bits") return tests;
  const bits = bitsOf({ column: tests, step: 1 }, length);
  return bitsColumn(bits, length, bothValid(valid, validityFrom(bits, 0, length), length));
}

/** REGEXP_LIKE(text, pattern [, flags]). */
const like = taking("tt?t", (types, constants) => {
  const pattern = patternOf(constants[1], types.length > 2 ? constants[2] : "");
  const operands = types.map(() => STRING);
  if (pattern === null) return nothing(operands, BOOL, null);
  if (typeof pattern === "string") return pattern;
  const kernel = prepared(function* make() {
    const automaton = yield* Automaton.of(yield* parsePattern(...pattern), false);
    return textTest(automatonTest(automaton), false);
  });
  return {
    operands,
    type: BOOL,
    prepare: kernel.prepare,
    kernel: (values, length, valid) => kernel.value(values, length, valid),
  };
});

/** REGEXP_REPLACE(text, pattern, replacement [, flags]): the first match, or all with the flag `g`. */
const replace = taking("ttt?t", (types, constants) => {
  const operands = types.map(() => STRING);
  const pattern = patternOf(constants[1], types.length > 3 ? constants[3] : "");
  if (pattern === null) return nothing(operands, STRING, null);
  if (typeof pattern === "string") return pattern;
  const search = searchFor(...pattern, true);
  const isGlobal = pattern[1].includes("g");
  const templates = new Map<string, Template>();
  const kernel: ValueKernel = ([texts, , replacements], length, valid) => {
    const [lane, replacement] = [new TextLane(texts), new TextLane(replacements)];
    const { bytes } = lane;
    const templateOf = madeOnce(replacement, (row) => templateFor(replacement, row, search.value, templates));
    return textRows("regexp_replace", [lane, replacement], length, valid, function* write(row, output) {
      const template = yield* templateOf(row);
      const [start, stop] = [lane.start(row), lane.end(row)];
      let end = start;
      const text = stop - start <= MAX_QUICK ? shortText(template) : null;
      const useNow = (match: Match): boolean => {
        output.put(bytes, end, match[0]);
        if (text !== null) output.put(text, 0, text.length);
        end = match[1];
        return isGlobal;
      };
      function* use(match: Match): Steps<boolean> {
        yield* output.copy(bytes, end, match[0]);
        yield* fill(template, bytes, match, output);
        end = match[1];
        return isGlobal;
      }
      yield* search.value.findAll(bytes, start, stop, text === null ? use : useNow);
      yield* output.copy(bytes, end, stop);
    });
  };
  return { operands, type: STRING, prepare: search.prepare, kernel };
});

const MAX_TEMPLATES = 256;
const MAX_KEPT = 2 ** 10;
const MAX_TEMPLATE = 2 ** 16;

/** Maximum number of bytes of a text whose matches are replaced in one step. */
const MAX_QUICK = 2 ** 12;

/** Returns the text of a template, if the template is only a short text. */
function shortText(template: Template): Uint8Array | null {
  if (template.length === 0) return NOTHING;
  const [text] = template;
  return template.length === 1 && typeof text !== "number" && text.length <= MAX_KEPT ? text : null;
}

const NOTHING = new Uint8Array(0);

/** Texts, and numbers of groups; -1 for a group that does not exist. */
type Template = readonly (Uint8Array | number)[];

/** @throws InvalidInputError for a replacement that is too long */
function* templateFor(
  lane: TextLane,
  row: number,
  search: Search,
  templates: Map<string, Template>,
): Steps<Template> {
  if (lane.size(row) > MAX_TEMPLATE) {
    // A replacement without groups may have any length.
    const text = lane.of(row);
    if (!(yield* hasSigns(text))) return [text];
    throw new InvalidInputError(
      `regexp_replace: a replacement with $ or \\ is longer than ${MAX_TEMPLATE} bytes`,
    );
  }
  const text = yield* textOfBytes(lane.bytes, lane.start(row), lane.end(row));
  const cached = templates.get(text);
  if (cached !== undefined) return cached;
  const template = parseTemplate(text, search);
  if (text.length > MAX_KEPT) yield;
  else {
    if (templates.size >= MAX_TEMPLATES) templates.clear();
    templates.set(text, template);
  }
  return template;
}

function* hasSigns(text: Uint8Array): Steps<boolean> {
  for (let offset = 0; offset < text.length; offset += MAX_TEMPLATE) {
    const piece = text.subarray(offset, offset + MAX_TEMPLATE);
    if (piece.includes(0x24) || piece.includes(0x5c)) return true;
    yield;
  }
  return false;
}

/**
 * Parses a template. `$1`, `${1}`, `$name`, `${name}` and `\1` stand for groups, a lone backslash for itself,
 * `$$` for a dollar.
 */
function parseTemplate(text: string, search: Search): Template {
  const parts: (Uint8Array | number)[] = [];
  const encoder = new TextEncoder();
  const addText = (part: string) => {
    if (part !== "") parts.push(encoder.encode(part));
  };
  const groupOf = (name: string): number => {
    const index = /^\d{1,9}$/.test(name) ? Number(name) : (search.names.get(name) ?? -1);
    return index <= search.groupCount ? index : -1;
  };
  let end = 0;
  for (const match of text.matchAll(/\$\$|\$\{([^}]*)\}|\$(\w+)|\\(\d*)/g)) {
    addText(text.slice(end, match.index));
    end = match.index + match[0].length;
    const name = match[1] ?? match[2] ?? match[3];
    if (name === undefined) addText("$");
    else parts.push(groupOf(name));
  }
  addText(text.slice(end));
  return parts;
}

function* fill(template: Template, bytes: Uint8Array, match: Match, output: GrowingTexts): Steps<void> {
  for (const [index, part] of template.entries()) {
    if (typeof part !== "number") yield* output.copy(part, 0, part.length);
    else if (part >= 0 && match[2 * part] >= 0)
      yield* output.copy(bytes, match[2 * part], match[2 * part + 1]);
    if ((index & 255) === 255) yield;
  }
}

/** REGEXP_COUNT(text, pattern [, start [, flags]]): 0 for a text that is null. */
const count = taking("tt?it", (types, constants) => {
  const operands = types.map((_, index) => (index === 2 ? INT64 : STRING));
  const pattern = patternOf(constants[1], types.length > 3 ? constants[3] : "");
  if (pattern === null) return nothing(operands, INT64, 0n);
  if (typeof pattern === "string") return pattern;
  const search = searchFor(...pattern, false);
  const kernel: ValueKernel = ([texts, , starts], length) => {
    const lane = new TextLane(texts);
    const firsts = starts === undefined || starts.column.kind === "null" ? null : wholeNumbers(starts);
    const compute = function* (row: number): Steps<number> {
      if (lane.isNull(row)) return 0;
      const first = firsts === null || !isThere(starts, row) ? 1 : firsts(row);
      if (first < 1) throw new InvalidInputError("regexp_count: the start must be 1 or more");
      const [begin, end] = [lane.start(row), lane.end(row)];
      // The pattern does not see the text before the start.
      const from = yield* afterCharacters(lane.bytes, begin, end, first - 1);
      // No match begins after the end, not even an empty one.
      if (from === end && first > 1) {
        const characters = yield* countCharactersInSteps(lane.bytes, begin, end);
        if (first > characters + 1) return 0;
      }
      let count = 0;
      yield* search.value.findAll(lane.bytes, from, end, () => {
        count++;
        return true;
      });
      return count;
    };
    return numberRows([lane], length, null, compute, 64);
  };
  return { operands, type: INT64, kernel, isStrict: false, prepare: search.prepare };
});

/** REGEXP_INSTR(text, pattern): the position of the first match, from 1; 0 for none or an empty operand. */
const position = taking("tt", (_, constants) => {
  const operands = [STRING, STRING];
  const [, pattern] = constants;
  if (pattern === null) return nothing(operands, INT64, null);
  if (typeof pattern !== "string") return constantPattern;
  const search = searchFor(pattern, "", false);
  const kernel: ValueKernel = ([texts], length, valid) => {
    const lane = new TextLane(texts);
    const compute = function* (row: number): Steps<number> {
      const [start, end] = [lane.start(row), lane.end(row)];
      if (start === end || pattern === "") return 0;
      const match = yield* search.value.find(lane.bytes, start, end, start);
      return match === null ? 0 : (yield* countCharactersInSteps(lane.bytes, start, match[0])) + 1;
    };
    return numberRows([lane], length, valid, compute, 64);
  };
  return { operands, type: INT64, kernel, prepare: search.prepare };
});

/**
 * REGEXP_MATCH(text, pattern [, flags]): the texts of the groups that took part in the first match; the match
 * itself for a pattern without groups. As a condition it is true if there is a match.
 */
const match = taking("tt?t", (types, constants) => {
  const test = like(types, constants);
  if (typeof test === "string") return test;
  const { operands, prepare: prepareTest } = test;
  const type = listTypeOf(STRING);
  const [, pattern, flags = ""] = constants;
  if (typeof pattern !== "string" || typeof flags !== "string") return nothing(operands, type, null);
  if (flags.includes("g")) return "the flag g does not apply to one match";
  const search = searchFor(pattern, flags, true);
  const kernel: ValueKernel = function* run([texts], length, valid) {
    const lane = new TextLane(texts);
    const { bytes } = lane;
    const items = new GrowingTexts(null);
    const ends = new GrowingNumbers();
    const validBits = new Uint8Array((length + 7) >>> 3);
    const pace = new RowPace([lane]);
    for (let row = 0; row < length; row++) {
      if (isValid(valid, row)) {
        const [start, end] = [lane.start(row), lane.end(row)];
        const match = pattern === "" ? NO_TEXT : yield* search.value.find(bytes, start, end, start);
        if (match !== null) {
          validBits[row >>> 3] |= 1 << (row & 7);
          yield* addGroups(bytes, match, items);
        }
      }
      ends.push(items.count);
      if (pace.isStep(row)) yield;
    }
    const offsets = new Int32Array(length + 1);
    offsets.set(yield* ends.finish(), 1);
    const validity = validityFrom(validBits, 0, length);
    return { kind: "list", length, validity, offsets, items: yield* items.finish(null) };
  };
  const nullKernel: ValueKernel = function* run(values, length, valid) {
    return onlyTrue(yield* madeBy(test.kernel(values, length, valid)), length, valid);
  };
  function* prepare(): Steps<void> {
    yield* search.prepare();
    if (prepareTest !== undefined) yield* prepareTest();
  }
  return { operands, type, kernel, nullKernel, prepare };
});

/** The match of an empty pattern. */
const NO_TEXT: Match = new Int32Array(2);

function* addGroups(bytes: Uint8Array, match: Match, items: GrowingTexts): Steps<void> {
  const pace = new Pace(1024);
  for (let slot = match.length > 2 ? 2 : 0; slot < match.length; slot += 2) {
    if (match[slot] < 0) continue;
    yield* items.copy(bytes, match[slot], match[slot + 1]);
    items.end();
    if (pace.isStep(1 + ((match[slot + 1] - match[slot]) >>> 6))) yield;
  }
}

export const MATCH_FUNCTIONS: Functions = {
  regexp_like: like,
  regexp_match: match,
  regexp_replace: replace,
  regexp_count: count,
  regexp_instr: position,
};
