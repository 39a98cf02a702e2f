/** Functions of what regular expressions match in texts: give it, replace it, count it, tell where it is. */

import { InvalidInputError } from "../../errors.js";
import { parsePattern } from "../regex/pattern.js";
import { type Match, Search } from "../regex/search.js";
import type { ValueKernel } from "../values/operands.js";
import type { Scalar } from "../values/scalars.js";
import { INT64, listTypeOf, STRING, type ValueType } from "../values/types.js";
import {
  type FunctionDefinition,
  type FunctionForm,
  type Functions,
  integerOperands,
  operandCount,
  textOperands,
  wantsInteger,
  wantsText,
} from "./form.js";
import { checkLength, onlyTrue, regexForm, rowKernel } from "./text.js";

const constantPattern = "the pattern of a regular expression and its flags are constants";

const pointsOf = (text: string): number[] =>
  Array.from(text, (character) => character.codePointAt(0) as number);
/** Characters of a text that are put together at once: they are arguments of one call. */
const AT_ONCE = 8192;

const textOf = (points: readonly number[], start: number, end: number): string => {
  let text = "";
  for (let place = start; place < end; place += AT_ONCE) {
    text += String.fromCodePoint(...points.slice(place, Math.min(end, place + AT_ONCE)));
  }
  return text;
};

/** The form of a function whose pattern or flags are null. */
const nothing = (operands: readonly ValueType[], type: ValueType, value: Scalar): FunctionForm => ({
  operands,
  type,
  isStrict: false,
  kernel: rowKernel(operands, type, () => value),
});

/** REGEXP_REPLACE(text, pattern, replacement [, flags]): the first match, or all with the flag `g`. */
const replace: FunctionDefinition = (types, constants) => {
  if (types.length < 3 || types.length > 4) return operandCount(3, 4);
  if (!types.every(wantsText)) return textOperands;
  const operands = types.map(() => STRING);
  const [, pattern, , flags = ""] = constants;
  if (pattern === null || flags === null) return nothing(operands, STRING, null);
  if (
    typeof pattern !== "string" ||
    typeof flags !== "string" ||
    (types.length === 4 && constants[3] === undefined)
  ) {
    return constantPattern;
  }
  const search = new Search(parsePattern(pattern, flags));
  const isGlobal = flags.includes("g");
  const templates = new Map<string, Template>();
  const templateOf = (text: string): Template => {
    let template = templates.get(text);
    if (template === undefined) {
      if (templates.size >= MAX_TEMPLATES) templates.clear();
      template = parseTemplate(text, search);
      templates.set(text, template);
    }
    return template;
  };
  const kernel = rowKernel(operands, STRING, ([text, , replacement]) => {
    const points = pointsOf(text as string);
    const template = templateOf(replacement as string);
    let made = "";
    let end = 0;
    for (const match of search.findAll(points)) {
      checkLength("regexp_replace", made.length + match[0] - end + filledLength(template, match));
      made += textOf(points, end, match[0]) + filled(template, points, match);
      [, end] = match;
      if (!isGlobal) break;
    }
    return made + textOf(points, end, points.length);
  });
  return { operands, type: STRING, kernel };
};

const MAX_TEMPLATES = 256;

/** Texts, and numbers of groups; -1 for a group that there is not. */
type Template = readonly (string | number)[];

/** `$1`, `${1}`, `$name`, `${name}` and `\1` stand for groups, a backslash alone for none, `$$` for a dollar. */
function parseTemplate(text: string, search: Search): Template {
  const parts: (string | number)[] = [];
  const groupOf = (name: string): number => {
    const index = /^\d{1,9}$/.test(name) ? Number(name) : (search.names.get(name) ?? -1);
    return index <= search.groupCount ? index : -1;
  };
  let end = 0;
  for (const match of text.matchAll(/\$\$|\$\{([^}]*)\}|\$(\w+)|\\(\d*)/g)) {
    parts.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    const name = match[1] ?? match[2] ?? match[3];
    parts.push(name === undefined ? "$" : groupOf(name));
  }
  parts.push(text.slice(end));
  return parts;
}

/** In characters. */
const filledLength = (template: Template, match: Match): number =>
  template.reduce<number>((sum, part) => {
    if (typeof part === "string") return sum + part.length;
    return part < 0 || match[2 * part] < 0 ? sum : sum + match[2 * part + 1] - match[2 * part];
  }, 0);

const filled = (template: Template, points: readonly number[], match: Match): string =>
  template
    .map((part) => {
      if (typeof part === "string") return part;
      return part < 0 || match[2 * part] < 0 ? "" : textOf(points, match[2 * part], match[2 * part + 1]);
    })
    .join("");

/** REGEXP_COUNT(text, pattern [, start [, flags]]): 0 for a text that is null. */
const count: FunctionDefinition = (types, constants) => {
  if (types.length < 2 || types.length > 4) return operandCount(2, 4);
  const [text, pattern, start, flags] = types;
  if (![text, pattern, flags ?? text].every(wantsText)) return textOperands;
  if (start !== undefined && !wantsInteger(start)) return integerOperands;
  const operands = types.map((_, index) => (index === 2 ? INT64 : STRING));
  const [, constant, , chosen = ""] = constants;
  if (constant === null || chosen === null) return nothing(operands, INT64, 0n);
  if (
    typeof constant !== "string" ||
    typeof chosen !== "string" ||
    (types.length === 4 && constants[3] === undefined)
  ) {
    return constantPattern;
  }
  const search = new Search(parsePattern(constant, chosen));
  const kernel = rowKernel(operands, INT64, ([value, , from]) => {
    if (value === null) return 0n;
    const first = from === undefined || from === null ? 1 : Number(from);
    if (first < 1) throw new InvalidInputError("regexp_count: characters are counted from 1");
    let found = 0n;
    const points = pointsOf(value as string);
    // Nothing is found behind the end, not even an empty match.
    if (first > points.length + 1) return found;
    // What lies before the start is no part of the text.
    for (const _ of search.findAll(points.slice(first - 1))) found++;
    return found;
  });
  return { operands, type: INT64, kernel, isStrict: false };
};

/** REGEXP_INSTR(text, pattern): where the first match begins, from 1; 0 for none, and for an empty text or pattern. */
const place: FunctionDefinition = (types, constants) => {
  if (types.length !== 2) return operandCount(2);
  if (!types.every(wantsText)) return textOperands;
  const operands = [STRING, STRING];
  const [, pattern] = constants;
  if (pattern === null) return nothing(operands, INT64, null);
  if (typeof pattern !== "string") return constantPattern;
  const search = new Search(parsePattern(pattern, ""));
  const kernel = rowKernel(operands, INT64, ([text]) =>
    text === "" || pattern === "" ? 0n : BigInt((search.find(pointsOf(text as string), 0)?.[0] ?? -1) + 1),
  );
  return { operands, type: INT64, kernel };
};

/**
 * REGEXP_MATCH(text, pattern [, flags]): what the groups of the first match hold, without those that have no part in it;
 * the match itself where there are no groups. As a condition it holds where there is a match.
 */
const match: FunctionDefinition = (types, constants) => {
  const test = regexForm(types, constants);
  if (typeof test === "string") return test;
  const { operands } = test;
  const type = listTypeOf(STRING);
  const [, pattern, flags = ""] = constants;
  if (typeof pattern !== "string" || typeof flags !== "string") return nothing(operands, type, null);
  if (flags.includes("g")) return "the flag g is not for one match";
  const search = new Search(parsePattern(pattern, flags));
  const kernel = rowKernel(operands, type, ([text]) => {
    if (pattern === "") return [""];
    const points = pointsOf(text as string);
    const found = search.find(points, 0);
    if (found === null) return null;
    const first = search.groupCount === 0 ? 0 : 1;
    const parts: string[] = [];
    for (let group = first; group <= search.groupCount; group++) {
      if (found[2 * group] >= 0) parts.push(textOf(points, found[2 * group], found[2 * group + 1]));
    }
    return parts;
  });
  const nullKernel: ValueKernel = (values, length, valid) =>
    onlyTrue(test.kernel(values, length, valid), length, valid);
  return { operands, type, kernel, nullKernel };
};

export const MATCH_FUNCTIONS: Functions = {
  regexp_match: match,
  regexp_replace: replace,
  regexp_count: count,
  regexp_instr: place,
};
