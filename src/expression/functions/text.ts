/** Functions of text. Positions and lengths count characters, which are code points. */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { isValid } from "../../arrow/columns/validity.js";
import { InvalidInputError } from "../../errors.js";
import type { ColumnTest } from "../evaluate/bound.js";
import { fixedColumn, perRow } from "../kernels/arithmetic.js";
import { containsTest, endsWithTest, regexKernel, startsWithTest } from "../kernels/like.js";
import { parsePattern } from "../regex/pattern.js";
import { bitsColumn, byteLane, type ValueKernel } from "../values/operands.js";
import { type Scalar, scalarReader } from "../values/scalars.js";
import { BOOL, INT32, INT64, STRING, type ValueType } from "../values/types.js";
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

/** Longest text that a function makes. */
const MAX_TEXT = 2 ** 24;

/** @throws InvalidInputError */
export function checkLength(name: string, length: number): void {
  if (length > MAX_TEXT) throw new InvalidInputError(`${name}: a text of ${length} characters is too long`);
}

/** @throws InvalidInputError for a text that would be too long */
export function joined(name: string, parts: readonly string[], separator: string): string {
  const length = parts.reduce(
    (sum, part) => sum + part.length,
    separator.length * Math.max(parts.length - 1, 0),
  );
  checkLength(name, length);
  return parts.join(separator);
}

/** A function of one text that gives another. */
const mapped =
  (map: (text: string) => string, quick?: ValueKernel): FunctionDefinition =>
  ([type, ...rest]) => {
    if (type === undefined || rest.length > 0) return operandCount(1);
    if (!wantsText(type)) return textOperands;
    const kernel: ValueKernel = ([operand], length, valid) => {
      const read = scalarReader(operand, STRING);
      return perRow(STRING, length, valid, (row) => map(read(row) as string));
    };
    return {
      operands: [STRING],
      type: STRING,
      kernel: quick === undefined ? kernel : asciiOr(quick, kernel),
    };
  };

/** The quick kernel where all bytes are ASCII. */
const asciiOr =
  (quick: ValueKernel, kernel: ValueKernel): ValueKernel =>
  (operands, length, valid) => {
    const { bytes, offsets } = byteLane(operands[0]);
    const end = offsets[offsets.length - 1];
    for (let at = offsets[0]; at < end; at++) if (bytes[at] >= 0x80) return kernel(operands, length, valid);
    return quick(operands, length, valid);
  };

/** Changes the case of ASCII. */
const asciiCase =
  (first: number, last: number): ValueKernel =>
  ([operand], length, valid) => {
    const { column } = operand;
    const { bytes, offsets } = byteLane(operand);
    const changed = bytes.slice();
    const end = offsets[offsets.length - 1];
    for (let at = offsets[0]; at < end; at++) {
      const byte = changed[at];
      if (byte >= first && byte <= last) changed[at] = byte ^ 0x20;
    }
    if (column.kind !== "variable") throw new TypeError("a constant is folded");
    return { ...column, length, validity: valid, bytes: changed };
  };

/** A function of text whose operands have fixed kinds: t text, i whole number; the small ones may be missing. */
export function signature(
  kinds: string,
  least: number,
  type: ValueType,
  compute: (operands: readonly Scalar[]) => Scalar,
): FunctionDefinition {
  return (types) => {
    if (types.length < least || types.length > kinds.length) return operandCount(least, kinds.length);
    for (const [index, operand] of types.entries()) {
      if (kinds[index] === "t" && !wantsText(operand)) return textOperands;
      if (kinds[index] === "i" && !wantsInteger(operand)) return integerOperands;
    }
    const operands = types.map((_, index) => (kinds[index] === "t" ? STRING : INT64));
    return { operands, type, kernel: rowKernel(operands, type, compute) };
  };
}

export function rowKernel(
  types: readonly ValueType[],
  type: ValueType,
  compute: (operands: readonly Scalar[]) => Scalar,
): ValueKernel {
  return (operands, length, valid) => {
    const readers = operands.map((operand, index) => scalarReader(operand, types[index]));
    const values = new Array<Scalar>(operands.length);
    return perRow(type, length, valid, (row) => {
      for (let index = 0; index < readers.length; index++) values[index] = readers[index](row);
      return compute(values);
    });
  };
}

/** A test of a text by another, which is quick where that is a constant. */
function tested(
  quick: (wanted: string) => ValueKernel,
  slow: (text: string, wanted: string) => boolean,
  test: (wanted: string) => ColumnTest | null = () => null,
): FunctionDefinition {
  return (types, constants) => {
    if (types.length !== 2) return operandCount(2);
    if (!types.every(wantsText)) return textOperands;
    const [, wanted] = constants;
    const kernel =
      typeof wanted === "string"
        ? quick(wanted)
        : rowKernel([STRING, STRING], BOOL, ([text, other]) => slow(text as string, other as string));
    return {
      operands: [STRING, STRING],
      type: BOOL,
      kernel,
      test: () => (typeof wanted === "string" ? test(wanted) : null),
    };
  };
}

/** A number of each text's bytes. */
const counted =
  (count: (bytes: Uint8Array, start: number, end: number) => number): FunctionDefinition =>
  (types) => {
    if (types.length !== 1) return operandCount(1);
    if (!wantsText(types[0]) && types[0].kind !== "binary") return textOperands;
    const wanted = types[0].kind === "binary" ? types[0] : STRING;
    const kernel: ValueKernel = ([operand], length, valid) => {
      const { bytes, offsets } = byteLane(operand);
      const result = new Int32Array(length);
      for (let row = 0, at = 0; row < length; row++, at += operand.step) {
        result[row] = count(bytes, offsets[at], offsets[at + 1]);
      }
      return fixedColumn(result, length, valid);
    };
    return { operands: [wanted], type: INT32, kernel };
  };

const countCharacters = counted((bytes, start, end) => {
  let count = 0;
  for (let at = start; at < end; at++) if ((bytes[at] & 0xc0) !== 0x80) count++;
  return count;
});

function trimmed(fromStart: boolean, fromEnd: boolean): FunctionDefinition {
  return signature("tt", 1, STRING, ([text, characters]) => {
    const removed = new Set(characters === undefined ? [" "] : Array.from(characters as string));
    const parts = Array.from(text as string);
    let start = 0;
    let end = parts.length;
    if (fromStart) while (start < end && removed.has(parts[start])) start++;
    if (fromEnd) while (end > start && removed.has(parts[end - 1])) end--;
    return parts.slice(start, end).join("");
  });
}

const substring = signature("tii", 2, STRING, ([text, start, count]) => {
  const characters = Array.from(text as string);
  const first = Number(start) - 1;
  if (count === undefined) return characters.slice(Math.max(first, 0)).join("");
  if (Number(count) < 0) throw new InvalidInputError("substr: a negative length");
  return characters.slice(Math.max(first, 0), Math.max(first + Number(count), 0)).join("");
});

function padded(atStart: boolean): FunctionDefinition {
  return signature("tit", 2, STRING, ([text, width, filling]) => {
    const characters = Array.from(text as string);
    const wanted = Math.max(Number(width), 0);
    checkLength(atStart ? "lpad" : "rpad", wanted);
    const fill = filling === undefined ? [" "] : Array.from(filling as string);
    if (characters.length >= wanted || fill.length === 0) return characters.slice(0, wanted).join("");
    const added = Array.from({ length: wanted - characters.length }, (_, index) => fill[index % fill.length]);
    return (atStart ? [...added, ...characters] : [...characters, ...added]).join("");
  });
}

/** Nulls count as empty. */
const concat: FunctionDefinition = (types) => {
  if (types.length === 0) return operandCount(1, Number.POSITIVE_INFINITY);
  const operands = types.map(() => STRING);
  return {
    operands,
    type: STRING,
    isStrict: false,
    kernel: rowKernel(operands, STRING, (texts) =>
      joined(
        "concat",
        texts.map((text) => (text ?? "") as string),
        "",
      ),
    ),
  };
};

const concatWithSeparator: FunctionDefinition = (types) => {
  if (types.length < 2) return operandCount(2, Number.POSITIVE_INFINITY);
  const operands = types.map(() => STRING);
  return {
    operands,
    type: STRING,
    isStrict: false,
    kernel: rowKernel(operands, STRING, ([separator, ...texts]) =>
      separator === null
        ? null
        : joined("concat_ws", texts.filter((text) => text !== null) as string[], separator as string),
    ),
  };
};

const regexpLike: FunctionDefinition = (types, constants) => {
  const form = regexForm(types, constants);
  return typeof form === "string" ? form : { ...form, type: BOOL };
};

/** Nulls where the bits are not set. */
export function onlyTrue(found: Column, length: number, valid: Validity | null): Column {
  if (found.kind !== "bits") return found;
  const known = new Uint8Array((length + 7) >>> 3);
  let nullCount = 0;
  const isTrue = { bytes: found.bits, bitOffset: found.bitOffset, nullCount: 1 };
  for (let row = 0; row < length; row++) {
    if (isValid(valid, row) && isValid(isTrue, row)) known[row >>> 3] |= 1 << (row & 7);
    else nullCount++;
  }
  return bitsColumn(found.bits, length, nullCount === 0 ? null : { bytes: known, bitOffset: 0, nullCount });
}

export function regexForm(
  types: readonly ValueType[],
  constants: readonly (Scalar | undefined)[],
): Pick<FunctionForm, "operands" | "kernel" | "type"> | string {
  if (types.length < 2 || types.length > 3) return operandCount(2, 3);
  if (!types.every(wantsText)) return textOperands;
  const [, pattern, flags = ""] = constants;
  const operands = types.map(() => STRING);
  if (pattern === null || flags === null) return { operands, type: BOOL, kernel: ([text]) => text.column };
  if (
    typeof pattern === "string" &&
    typeof flags === "string" &&
    (types.length < 3 || constants[2] !== undefined)
  ) {
    return { operands, type: BOOL, kernel: regexKernel(parsePattern(pattern, flags)) };
  }
  return "the pattern of a regular expression is a constant";
}

/** Where a text begins in another, from 1; 0 where it is not in it. */
const position = signature("tt", 2, INT32, ([text, wanted]) => {
  const at = (text as string).indexOf(wanted as string);
  return at < 0 ? 0 : Array.from((text as string).slice(0, at)).length + 1;
});

/** CONTAINS_TOKENS(text, tokens): whether all words of the second, runs of letters and digits, are words of the first. */
const containsTokens: FunctionDefinition = (types) => {
  if (types.length !== 2) return operandCount(2);
  if (!types.every(wantsText)) return textOperands;
  const operands = [STRING, STRING];
  const kernel = rowKernel(operands, BOOL, ([text, wanted]) => {
    const words = new Set(wordsOf(text as string));
    return wordsOf(wanted as string).every((word) => words.has(word));
  });
  return { operands, type: BOOL, kernel };
};

const wordsOf = (text: string): readonly string[] => text.match(/[\p{Alphabetic}\p{N}]+/gu) ?? [];

export const TEXT_FUNCTIONS: Functions = {
  contains_tokens: containsTokens,
  lower: mapped((text) => text.toLowerCase(), asciiCase(0x41, 0x5a)),
  upper: mapped((text) => text.toUpperCase(), asciiCase(0x61, 0x7a)),
  length: countCharacters,
  char_length: countCharacters,
  character_length: countCharacters,
  octet_length: counted((_, start, end) => end - start),
  bit_length: counted((_, start, end) => 8 * (end - start)),
  reverse: mapped((text) => Array.from(text).reverse().join("")),
  initcap: mapped((text) =>
    text.toLowerCase().replace(/[\p{L}\p{N}]+/gu, (word) => {
      const [first, ...rest] = Array.from(word);
      return first.toUpperCase() + rest.join("");
    }),
  ),
  btrim: trimmed(true, true),
  trim: trimmed(true, true),
  ltrim: trimmed(true, false),
  rtrim: trimmed(false, true),
  substr: substring,
  substring,
  left: signature("ti", 2, STRING, ([text, count]) => {
    const characters = Array.from(text as string);
    return characters.slice(0, Number(count)).join("");
  }),
  right: signature("ti", 2, STRING, ([text, count]) => {
    const characters = Array.from(text as string);
    const wanted = Number(count);
    return characters.slice(wanted >= 0 ? Math.max(characters.length - wanted, 0) : -wanted).join("");
  }),
  lpad: padded(true),
  rpad: padded(false),
  repeat: signature("ti", 2, STRING, ([text, count]) => {
    const times = Math.max(Number(count), 0);
    checkLength("repeat", times * (text as string).length);
    return (text as string).repeat(times);
  }),
  replace: signature("ttt", 3, STRING, ([text, wanted, other]) =>
    replaced(text as string, wanted as string, other as string),
  ),
  overlay: signature("ttii", 3, STRING, ([text, other, position, count]) => {
    const characters = Array.from(text as string);
    const first = Math.max(Number(position) - 1, 0);
    const replacedCount = count === undefined ? Array.from(other as string).length : Number(count);
    return (
      characters.slice(0, first).join("") +
      other +
      characters.slice(Math.max(first + replacedCount, 0)).join("")
    );
  }),
  translate: signature("ttt", 3, STRING, ([text, from, to]) => {
    const targets = Array.from(to as string);
    const map = new Map<string, string>();
    for (const [index, character] of Array.from(from as string).entries()) {
      if (!map.has(character)) map.set(character, targets[index] ?? "");
    }
    return Array.from(text as string, (character) => map.get(character) ?? character).join("");
  }),
  split_part: signature("tti", 3, STRING, ([text, separator, number]) => {
    const index = Number(number);
    if (index === 0) throw new InvalidInputError("split_part: parts are counted from 1");
    const parts = separator === "" ? [text as string] : (text as string).split(separator as string);
    return parts.at(index > 0 ? index - 1 : index) ?? "";
  }),
  instr: position,
  strpos: position,
  ascii: signature("t", 1, INT32, ([text]) => (text as string).codePointAt(0) ?? 0),
  chr: signature("i", 1, STRING, ([point]) => {
    const value = Number(point);
    if (value < 0 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
      throw new InvalidInputError(`chr: ${value} is no character`);
    }
    return String.fromCodePoint(value);
  }),
  to_hex: signature("i", 1, STRING, ([value]) => BigInt.asUintN(64, value as bigint).toString(16)),
  starts_with: tested(
    startsWithTest,
    (text, wanted) => text.startsWith(wanted),
    (prefix) => ({ kind: "startsWith", prefix }),
  ),
  ends_with: tested(endsWithTest, (text, wanted) => text.endsWith(wanted)),
  contains: tested(
    containsTest,
    (text, wanted) => text.includes(wanted),
    (text) => ({ kind: "contains", text }),
  ),
  concat,
  concat_ws: concatWithSeparator,
  regexp_like: regexpLike,
};

/** @param wanted where it is empty, the other goes before, between and behind all characters */
function replaced(text: string, wanted: string, other: string): string {
  if (wanted === "") return joined("replace", ["", ...Array.from(text), ""], other);
  if (other.length > wanted.length) {
    let length = text.length;
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      length += other.length - wanted.length;
    }
    checkLength("replace", length);
  }
  return text.replaceAll(wanted, () => other);
}
