/** Functions of text. Lengths count characters, which are code points. */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import type { ColumnTest } from "../evaluate/bound.js";
import { fixedColumn } from "../kernels/arithmetic.js";
import { joinedTexts } from "../kernels/joinTexts.js";
import { partTest, textsTest } from "../kernels/like.js";
import { numberRows, TextLane, textRows, truthRows } from "../kernels/textRows.js";
import { countCharacters, countCharactersInSteps, endOfCharacter, pointAt } from "../values/characters.js";
import { byteLane, decodeText, type Operand, type ValueKernel, validWhere } from "../values/operands.js";
import { BOOL, INT32, INT64, STRING } from "../values/types.js";
import { loopInSteps, ROW_WORK, STEP_BYTES, STEP_SCANNED } from "../values/work.js";
import {
  type FunctionDefinition,
  type Functions,
  operandCount,
  taking,
  textOperands,
  wantsText,
} from "./form.js";
import { addChanged, WordCase } from "./letterCase.js";
import { ofTexts, rowKernel } from "./textForm.js";

/** A function of one text that returns another, and changes ASCII letters in place. */
const changedCase = (change: (text: string) => string, first: number, last: number): FunctionDefinition =>
  taking("t", () => {
    const kernel: ValueKernel = function* run([operand], length, valid) {
      const lane = new TextLane(operand);
      const [start, end] = [lane.start(0), lane.end(length - 1)];
      if (yield* isAscii(lane.bytes, start, end)) {
        return yield* changedAscii(operand, length, valid, first, last);
      }
      return yield* textRows(null, [lane], length, valid, (row, texts) =>
        addChanged(lane, row, texts, change),
      );
    };
    return { operands: [STRING], type: STRING, kernel };
  });

function* isAscii(bytes: Uint8Array, start: number, end: number): Steps<boolean> {
  for (let first = start; first < end; first += STEP_BYTES) {
    const stop = Math.min(end, first + STEP_BYTES);
    for (let offset = first; offset < stop; offset++) if (bytes[offset] >= 0x80) return false;
    if (stop < end) yield;
  }
  return true;
}

function* changedAscii(
  operand: Operand,
  length: number,
  valid: Validity | null,
  first: number,
  last: number,
): Steps<Column> {
  const { bytes, offsets: starts } = byteLane(operand);
  const [start, end] = [starts[0], starts[length]];
  const offsets = new Int32Array(length + 1);
  for (let row = 0; row <= length; row++) offsets[row] = starts[row] - start;
  const changed = new Uint8Array(end - start);
  for (let from = 0; from < changed.length; from += STEP_BYTES) {
    const stop = Math.min(changed.length, from + STEP_BYTES);
    changed.set(bytes.subarray(start + from, start + stop), from);
    for (let offset = from; offset < stop; offset++) {
      const byte = changed[offset];
      if (byte >= first && byte <= last) changed[offset] = byte ^ 0x20;
    }
    if (stop < changed.length) yield;
  }
  return { kind: "variable", length, validity: valid, offsets, bytes: changed };
}

/** A test of a text by another, which is quick if that is a constant. */
function tested(
  where: "start" | "end" | "any",
  test: (wanted: string) => ColumnTest | null,
): FunctionDefinition {
  return taking("tt", (_, [, wanted]) => {
    let cached: { readonly column: Column; readonly kernel: ValueKernel } | null = null;
    const kernel: ValueKernel = ([text, part], length, valid) => {
      if (part.step === 1 || text.step === 0) {
        const [lane, otherLane] = [new TextLane(text), new TextLane(part)];
        return truthRows([lane, otherLane], length, valid, (row) => {
          const { fits, inSteps } = textsTest(where, otherLane.of(row));
          const [start, end] = [lane.start(row), lane.end(row)];
          return fits(lane.bytes, start, end) ?? inSteps(lane.bytes, start, end);
        });
      }
      if (cached?.column !== part.column)
        cached = { column: part.column, kernel: partTest(where, new TextLane(part).of(0)) };
      return cached.kernel([text], length, valid);
    };
    return {
      operands: [STRING, STRING],
      type: BOOL,
      kernel,
      test: () => (typeof wanted === "string" && wanted.length <= MAX_TESTED ? test(wanted) : null),
    };
  });
}

/** Maximum length of a text, in UTF-16 units, that an index searches for. */
const MAX_TESTED = 2 ** 16;

const measured = (kernel: ValueKernel): FunctionDefinition =>
  taking("v", ([type]) => {
    if (!wantsText(type) && type.kind !== "binary") return textOperands;
    return { operands: [type.kind === "binary" ? type : STRING], type: INT32, kernel };
  });

const byteCount = (factor: number): FunctionDefinition =>
  measured(([operand], length, valid) => {
    const { offsets } = byteLane(operand);
    const { step } = operand;
    const counts = new Int32Array(length);
    for (let row = 0; row < length; row++) {
      counts[row] = factor * (offsets[row * step + 1] - offsets[row * step]);
    }
    return fixedColumn(counts, length, valid);
  });

const characterCount = measured(function* run([operand], length, valid) {
  const { bytes, offsets } = byteLane(operand);
  const { step } = operand;
  const counts = new Int32Array(length);
  const countRows = (first: number): number => {
    let budget = STEP_SCANNED;
    for (let row = first; row < length; row++) {
      const start = offsets[row * step];
      const end = offsets[row * step + 1];
      budget -= ROW_WORK + end - start;
      if (budget < 0) return row;
      counts[row] = countCharacters(bytes, start, end);
    }
    return length;
  };
  yield* loopInSteps(length, countRows, function* countRow(row) {
    counts[row] = yield* countCharactersInSteps(bytes, offsets[row * step], offsets[row * step + 1]);
  });
  return fixedColumn(counts, length, valid);
});

/** Nulls count as empty texts. */
const concat: FunctionDefinition = (types) => {
  if (types.length === 0) return operandCount(1, Number.POSITIVE_INFINITY);
  return {
    operands: types.map(() => STRING),
    type: STRING,
    isStrict: false,
    kernel: function* run(operands, length, _valid, allocate) {
      const lanes = operands.map((operand) => new TextLane(operand));
      const joined = yield* joinedTexts(lanes, length, allocate);
      if (joined !== null) return joined;
      return yield* textRows("concat", lanes, length, null, function* write(row, texts) {
        for (const lane of lanes) {
          if (!lane.isNull(row)) yield* texts.copy(lane.bytes, lane.start(row), lane.end(row));
        }
      });
    },
  };
};

const concatWithSeparator: FunctionDefinition = (types) => {
  if (types.length < 2) return operandCount(2, Number.POSITIVE_INFINITY);
  return {
    operands: types.map(() => STRING),
    type: STRING,
    isStrict: false,
    kernel: ([separators, ...operands], length) => {
      const separator = new TextLane(separators);
      const lanes = operands.map((operand) => new TextLane(operand));
      const valid = validWhere(length, (row) => !separator.isNull(row));
      return textRows("concat_ws", [separator, ...lanes], length, valid, function* write(row, texts) {
        let isFirst = true;
        for (const lane of lanes) {
          if (lane.isNull(row)) continue;
          if (!isFirst) yield* texts.copy(separator.bytes, separator.start(row), separator.end(row));
          yield* texts.copy(lane.bytes, lane.start(row), lane.end(row));
          isFirst = false;
        }
      });
    },
  };
};

/** CONTAINS_TOKENS(text, tokens): true if the text has all runs of letters and digits of the tokens. */
const containsTokens = ofTexts("tt", BOOL, (operands, length, valid) => {
  const [text, needle] = [operands.text(0), operands.text(1)];
  return truthRows(operands.lanes, length, valid, function* test(row) {
    const missing = new Set<string>();
    const pace = new Pace(STEP_PIECES);
    for (const words of wordsInSteps(needle.bytes, needle.start(row), needle.end(row))) {
      if (pace.isStep()) yield;
      for (const word of words) missing.add(word);
    }
    for (const words of wordsInSteps(text.bytes, text.start(row), text.end(row))) {
      if (missing.size === 0) break;
      if (pace.isStep()) yield;
      for (const word of words) missing.delete(word);
    }
    return missing.size === 0;
  });
});

const STEP_PIECES = 4;
const PIECE_BYTES = 2 ** 14;

/** Yields the words of a text, some thousand at a time. */
function* wordsInSteps(
  bytes: Uint8Array,
  start: number,
  end: number,
): Generator<readonly string[], void, undefined> {
  // The beginning of a word that may go on in the next piece.
  let open = "";
  for (let from = start; from < end; ) {
    const stop = endOfCharacter(bytes, Math.min(end, from + PIECE_BYTES) - 1, end);
    const piece = open + decodeText(bytes, from, stop);
    const words = piece.match(WORDS) ?? [];
    const last = words.at(-1);
    const isOpen = stop < end && last !== undefined && piece.endsWith(last);
    open = isOpen ? last : "";
    // A long word is collected piece by piece, and not searched again for each.
    if (open.length > PIECE_BYTES) {
      const whole = yield* longWord(open, bytes, stop, end);
      yield [...words.slice(0, -1), whole.word];
      open = "";
      from = whole.end;
      continue;
    }
    yield isOpen ? words.slice(0, -1) : words;
    from = stop;
  }
  if (open !== "") yield [open];
}

const WORDS = /[\p{Alphabetic}\p{N}]+/gu;
const FIRST_WORD = /^[\p{Alphabetic}\p{N}]+/u;

function* longWord(
  beginning: string,
  bytes: Uint8Array,
  start: number,
  end: number,
): Generator<readonly string[], { word: string; end: number }, undefined> {
  const parts = [beginning];
  let from = start;
  while (from < end) {
    const stop = endOfCharacter(bytes, Math.min(end, from + PIECE_BYTES) - 1, end);
    const piece = decodeText(bytes, from, stop);
    const part = FIRST_WORD.exec(piece)?.[0] ?? "";
    parts.push(part);
    if (part.length < piece.length) {
      from += new TextEncoder().encode(part).length;
      break;
    }
    from = stop;
    yield [];
  }
  return { word: parts.join(""), end: from };
}

const initcap = ofTexts("t", STRING, (operands, length, valid) => {
  const text = operands.text(0);
  return textRows(null, operands.lanes, length, valid, (row, texts) => {
    const words = new WordCase();
    return addChanged(text, row, texts, (piece) => words.change(piece));
  });
});

const ascii = ofTexts("t", INT32, (operands, length, valid) => {
  const text = operands.text(0);
  return numberRows([], length, valid, (row) =>
    text.size(row) === 0 ? 0 : pointAt(text.bytes, text.start(row), text.end(row)),
  );
});

const ofInteger = (compute: (value: bigint) => string): FunctionDefinition =>
  taking("i", () => ({
    operands: [INT64],
    type: STRING,
    kernel: rowKernel([INT64], STRING, ([value]) => compute(value as bigint)),
  }));

const uuid = taking("", () => ({
  operands: [],
  type: STRING,
  isVolatile: true,
  // Writes bytes directly: an array of many texts would be slow to collect.
  kernel: (_, length) =>
    textRows(null, [], length, null, (_row, texts) => {
      texts.putText(crypto.randomUUID());
      return undefined;
    }),
}));

export const TEXT_FUNCTIONS: Functions = {
  contains_tokens: containsTokens,
  lower: changedCase((text) => text.toLowerCase(), 0x41, 0x5a),
  upper: changedCase((text) => text.toUpperCase(), 0x61, 0x7a),
  length: characterCount,
  char_length: characterCount,
  character_length: characterCount,
  octet_length: byteCount(1),
  bit_length: byteCount(8),
  initcap,
  ascii,
  chr: ofInteger((point) => {
    const value = Number(point);
    if (value < 0 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
      throw new InvalidInputError(`chr: ${value} is not a character`);
    }
    return String.fromCodePoint(value);
  }),
  to_hex: ofInteger((value) => BigInt.asUintN(64, value).toString(16)),
  starts_with: tested("start", (prefix) => ({ kind: "startsWith", prefix })),
  ends_with: tested("end", () => null),
  contains: tested("any", (text) => ({ kind: "contains", text })),
  concat,
  concat_ws: concatWithSeparator,
  uuid,
};
