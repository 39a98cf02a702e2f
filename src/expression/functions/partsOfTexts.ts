/** Functions that cut, pad and replace parts of texts. Positions count characters from 1. */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { InvalidInputError } from "../../errors.js";
import { ByteSearch } from "../kernels/byteSearch.js";
import { madeOnce, numberRows, type TextLane } from "../kernels/textRows.js";
import {
  afterCharacters,
  beforeCharacters,
  countCharactersInSteps,
  endOfCharacter,
  pointAt,
  startOfCharacter,
} from "../values/characters.js";
import { checkLength, type GrowingTexts } from "../values/growing.js";
import { INT32 } from "../values/types.js";
import { STEP_BYTES } from "../values/work.js";
import type { Functions } from "./form.js";
import { makingTexts, ofTexts } from "./textForm.js";

const SPACE = new Set([0x20]);

const trimmed = (fromStart: boolean, fromEnd: boolean) =>
  makingTexts(null, "t?t", (operands) => {
    const text = operands.text(0);
    const characters = operands.optionalText(1);
    const removedOf = characters === null ? null : madeOnce(characters, (row) => pointSet(characters, row));
    const { bytes } = text;
    return function* write(row, texts) {
      const removed = removedOf === null ? SPACE : yield* removedOf(row);
      const pace = new Pace(STEP_BYTES);
      let start = text.start(row);
      let end = text.end(row);
      while (fromStart && start < end && removed.has(pointAt(bytes, start, end))) {
        start = endOfCharacter(bytes, start, end);
        if (pace.isStep()) yield;
      }
      while (fromEnd && start < end) {
        const last = startOfCharacter(bytes, end - 1, start);
        if (!removed.has(pointAt(bytes, last, end))) break;
        end = last;
        if (pace.isStep()) yield;
      }
      yield* texts.copy(bytes, start, end);
    };
  });

function* pointSet(lane: TextLane, row: number): Steps<ReadonlySet<number>> {
  const points = new Set<number>();
  const pace = new Pace(STEP_BYTES);
  const { bytes } = lane;
  const end = lane.end(row);
  for (let index = lane.start(row); index < end; index = endOfCharacter(bytes, index, end)) {
    points.add(pointAt(bytes, index, end));
    if (pace.isStep(16)) yield;
  }
  return points;
}

const substring = makingTexts(null, "ti?i", (operands) => {
  const text = operands.text(0);
  const starts = operands.numbers(1);
  const counts = operands.optionalNumbers(2);
  const { bytes } = text;
  return function* write(row, texts) {
    const first = starts(row) - 1;
    const count = counts?.(row);
    if (count !== undefined && count < 0)
      throw new InvalidInputError("substr: the length must not be negative");
    const end = text.end(row);
    const skipped = Math.max(first, 0);
    const from = yield* afterCharacters(bytes, text.start(row), end, skipped);
    const to =
      count === undefined
        ? end
        : yield* afterCharacters(bytes, from, end, Math.max(first + count, 0) - skipped);
    yield* texts.copy(bytes, from, to);
  };
});

/** LEFT and RIGHT: some characters from one side. A negative number counts the characters to leave out. */
const side = (isLeft: boolean) =>
  makingTexts(null, "ti", (operands) => {
    const text = operands.text(0);
    const counts = operands.numbers(1);
    const { bytes } = text;
    return function* write(row, texts) {
      const [count, start, end] = [counts(row), text.start(row), text.end(row)];
      const cut =
        count >= 0 === isLeft
          ? yield* afterCharacters(bytes, start, end, Math.abs(count))
          : yield* beforeCharacters(bytes, start, end, Math.abs(count));
      yield* isLeft ? texts.copy(bytes, start, cut) : texts.copy(bytes, cut, end);
    };
  });

const BLANK = Uint8Array.of(0x20);

const padded = (name: string, atStart: boolean) =>
  makingTexts(name, "ti?t", (operands) => {
    const text = operands.text(0);
    const widths = operands.numbers(1);
    const filling = operands.optionalText(2);
    const { bytes } = text;
    return function* write(row, texts) {
      const width = Math.max(widths(row), 0);
      checkLength(name, width);
      const [start, end] = [text.start(row), text.end(row)];
      const fill = filling?.of(row) ?? BLANK;
      const count = yield* countCharactersInSteps(bytes, start, end);
      if (count >= width || fill.length === 0) {
        yield* texts.copy(bytes, start, yield* afterCharacters(bytes, start, end, width));
        return;
      }
      if (!atStart) yield* texts.copy(bytes, start, end);
      yield* fillUp(texts, fill, width - count);
      if (atStart) yield* texts.copy(bytes, start, end);
    };
  });

function* fillUp(texts: GrowingTexts, fill: Uint8Array, count: number): Steps<void> {
  const fillLength = yield* countCharactersInSteps(fill, 0, fill.length);
  yield* texts.repeat(fill, 0, fill.length, Math.floor(count / fillLength));
  yield* texts.copy(fill, 0, yield* afterCharacters(fill, 0, fill.length, count % fillLength));
}

const repeat = makingTexts("repeat", "ti", (operands) => {
  const text = operands.text(0);
  const counts = operands.numbers(1);
  return function* write(row, texts) {
    const times = Math.max(counts(row), 0);
    checkLength("repeat", times * text.size(row));
    yield* texts.repeat(text.bytes, text.start(row), text.end(row), times);
  };
});

const reverse = makingTexts(null, "t", (operands) => {
  const text = operands.text(0);
  const { bytes } = text;
  return function* write(row, texts) {
    const start = text.start(row);
    const pace = new Pace(STEP_BYTES);
    for (let end = text.end(row); end > start; ) {
      const first = startOfCharacter(bytes, end - 1, start);
      for (let offset = first; offset < end; offset++) texts.putByte(bytes[offset]);
      end = first;
      if (pace.isStep()) yield;
    }
  };
});

const searchOf = (lane: TextLane): ((row: number) => Steps<ByteSearch>) =>
  madeOnce(lane, (row) => new ByteSearch(lane.of(row)));

/** An empty text lies before, between and after all characters. */
const replace = makingTexts("replace", "ttt", (operands) => {
  const [text, needle, replacement] = [operands.text(0), operands.text(1), operands.text(2)];
  const search = searchOf(needle);
  const { bytes } = text;
  return function* write(row, texts) {
    const byteSearch = yield* search(row);
    const [start, end] = [text.start(row), text.end(row)];
    const [otherStart, otherEnd] = [replacement.start(row), replacement.end(row)];
    const otherSize = otherEnd - otherStart;
    const pace = new Pace(STEP_BYTES);
    if (byteSearch.size === 0) {
      yield* texts.copy(replacement.bytes, otherStart, otherEnd);
      for (let index = start; index < end; ) {
        const next = endOfCharacter(bytes, index, end);
        texts.put(bytes, index, next);
        texts.put(replacement.bytes, otherStart, otherEnd);
        index = next;
        if (pace.isStep(16 + otherSize)) yield;
      }
      return;
    }
    for (let from = start; ; ) {
      const position = yield* nextPlace(byteSearch, bytes, from, end);
      if (position < 0) {
        yield* texts.copy(bytes, from, end);
        return;
      }
      yield* copyShort(texts, bytes, from, position);
      yield* copyShort(texts, replacement.bytes, otherStart, otherEnd);
      if (pace.isStep(16 + position - from + otherSize)) yield;
      from = position + byteSearch.size;
    }
  };
});

/** Maximum number of bytes that are searched in one step. */
const SHORT = 2 ** 12;

/** Returns the next occurrence. Short ranges are searched in one step, because there may be many. */
export function* nextPlace(search: ByteSearch, bytes: Uint8Array, from: number, end: number): Steps<number> {
  const near = Math.min(end, from + SHORT + search.size);
  if (search.size < SHORT) {
    const position = search.find(bytes, from, near);
    if (position >= 0 || near === end) return position;
  }
  return yield* search.findInSteps(bytes, search.size < SHORT ? near - search.size : from, end);
}

function* copyShort(texts: GrowingTexts, bytes: Uint8Array, start: number, end: number): Steps<void> {
  if (end - start <= SHORT) texts.put(bytes, start, end);
  else yield* texts.copy(bytes, start, end);
}

const overlay = makingTexts(null, "tti?i", (operands) => {
  const [text, letters] = [operands.text(0), operands.text(1)];
  const positions = operands.numbers(2);
  const counts = operands.optionalNumbers(3);
  const { bytes } = text;
  return function* write(row, texts) {
    const [start, end] = [text.start(row), text.end(row)];
    const [otherStart, otherEnd] = [letters.start(row), letters.end(row)];
    const first = Math.max(positions(row) - 1, 0);
    const count = counts?.(row) ?? (yield* countCharactersInSteps(letters.bytes, otherStart, otherEnd));
    yield* texts.copy(bytes, start, yield* afterCharacters(bytes, start, end, first));
    yield* texts.copy(letters.bytes, otherStart, otherEnd);
    const rest = yield* afterCharacters(bytes, start, end, Math.max(first + count, 0));
    yield* texts.copy(bytes, rest, end);
  };
});

type Replacements = ReadonlyMap<number, Uint8Array>;

const translate = makingTexts(null, "ttt", (operands) => {
  const [text, from, to] = [operands.text(0), operands.text(1), operands.text(2)];
  const { bytes } = text;
  const both = from.isConstant && to.isConstant;
  let cached: Replacements | null = null;
  return function* write(row, texts) {
    const map: Replacements = cached ?? (yield* replacements(from.of(row), to.of(row)));
    if (both) cached = map;
    const end = text.end(row);
    const pace = new Pace(STEP_BYTES);
    for (let index = text.start(row); index < end; ) {
      const next = endOfCharacter(bytes, index, end);
      const target = map.get(pointAt(bytes, index, end));
      if (target === undefined) texts.put(bytes, index, next);
      else texts.put(target, 0, target.length);
      index = next;
      if (pace.isStep(8)) yield;
    }
  };
});

function* replacements(from: Uint8Array, to: Uint8Array): Steps<Replacements> {
  const map = new Map<number, Uint8Array>();
  const pace = new Pace(STEP_BYTES);
  let target = 0;
  for (let index = 0; index < from.length; index = endOfCharacter(from, index, from.length)) {
    const point = pointAt(from, index, from.length);
    const end = target < to.length ? endOfCharacter(to, target, to.length) : target;
    if (!map.has(point)) map.set(point, to.subarray(target, end));
    target = end;
    if (pace.isStep(64)) yield;
  }
  return map;
}

const splitPart = makingTexts(null, "tti", (operands) => {
  const [text, separator] = [operands.text(0), operands.text(1)];
  const numbers = operands.numbers(2);
  const search = searchOf(separator);
  const { bytes } = text;
  return function* write(row, texts) {
    const number = numbers(row);
    if (number === 0) throw new InvalidInputError("split_part: the number of the part must not be 0");
    const byteSearch = yield* search(row);
    const [start, end] = [text.start(row), text.end(row)];
    const wanted = number > 0 ? number : (yield* countParts(byteSearch, bytes, start, end)) + 1 + number;
    if (wanted < 1) return;
    const pace = new Pace(STEP_BYTES);
    let from = start;
    for (let part = 1; ; part++) {
      const position = byteSearch.size === 0 ? -1 : yield* nextPlace(byteSearch, bytes, from, end);
      if (part === wanted) {
        yield* texts.copy(bytes, from, position < 0 ? end : position);
        return;
      }
      if (position < 0) return;
      if (pace.isStep(16 + position - from)) yield;
      from = position + byteSearch.size;
    }
  };
});

function* countParts(search: ByteSearch, bytes: Uint8Array, start: number, end: number): Steps<number> {
  if (search.size === 0) return 1;
  const pace = new Pace(STEP_BYTES);
  for (let count = 1, from = start; ; count++) {
    const position = yield* nextPlace(search, bytes, from, end);
    if (position < 0) return count;
    if (pace.isStep(16 + position - from)) yield;
    from = position + search.size;
  }
}

/**
 * SUBSTR_INDEX(text, separator, count): the part before the `count`th separator, or after it if counted from
 * the end. The whole text if it has fewer.
 */
const substringIndex = makingTexts(null, "tti", (operands) => {
  const [text, separator] = [operands.text(0), operands.text(1)];
  const counts = operands.numbers(2);
  const search = searchOf(separator);
  const backward = madeOnce(separator, function* make(row) {
    return new ByteSearch(yield* reversed(separator.bytes, separator.start(row), separator.end(row)));
  });
  return function* write(row, texts) {
    const count = counts(row);
    const { bytes } = text;
    const [start, end] = [text.start(row), text.end(row)];
    if (separator.size(row) === 0 || count === 0) return;
    if (count > 0) {
      const position = yield* placeOf(yield* search(row), bytes, start, end, count);
      yield* texts.copy(bytes, start, position < 0 ? end : position);
      return;
    }
    const turned = yield* reversed(bytes, start, end);
    const slot = yield* placeOf(yield* backward(row), turned, 0, turned.length, -count);
    yield* texts.copy(bytes, slot < 0 ? start : end - slot, end);
  };
});

/** Returns the offset of the `count`th occurrence; -1 for none. */
function* placeOf(
  search: ByteSearch,
  bytes: Uint8Array,
  start: number,
  end: number,
  count: number,
): Steps<number> {
  const pace = new Pace(STEP_BYTES);
  let from = start;
  for (let seen = 1; ; seen++) {
    const position = yield* nextPlace(search, bytes, from, end);
    if (position < 0 || seen >= count) return position;
    if (pace.isStep(16 + position - from)) yield;
    from = position + search.size;
  }
}

function* reversed(bytes: Uint8Array, start: number, end: number): Steps<Uint8Array> {
  const turned = new Uint8Array(end - start);
  const pace = new Pace(STEP_BYTES);
  for (let offset = start; offset < end; offset++) {
    turned[end - 1 - offset] = bytes[offset];
    if (pace.isStep()) yield;
  }
  return turned;
}

/** The position of a text in another, from 1; 0 for none. */
const position = ofTexts("tt", INT32, (operands, length, valid) => {
  const [text, needle] = [operands.text(0), operands.text(1)];
  const search = searchOf(needle);
  return numberRows(operands.lanes, length, valid, function* compute(row) {
    const start = text.start(row);
    const position = yield* nextPlace(yield* search(row), text.bytes, start, text.end(row));
    return position < 0 ? 0 : (yield* countCharactersInSteps(text.bytes, start, position)) + 1;
  });
});

/** The position of a text among those between commas, from 1; 0 for none. */
const findInSet = ofTexts("tt", INT32, (operands, length, valid) => {
  const [needle, list] = [operands.text(0), operands.text(1)];
  return numberRows(operands.lanes, length, valid, function* compute(row) {
    const text = needle.of(row);
    const { bytes } = list;
    const end = list.end(row);
    const pace = new Pace(STEP_BYTES);
    // Number of bytes that match since the last comma; -1 after a byte that differs.
    let seen = 0;
    for (let offset = list.start(row), position = 1; ; offset++) {
      if (offset === end || bytes[offset] === COMMA) {
        if (seen === text.length) return position;
        if (offset === end) return 0;
        position++;
        seen = 0;
      } else if (seen >= 0) seen = seen < text.length && bytes[offset] === text[seen] ? seen + 1 : -1;
      if (pace.isStep()) yield;
    }
  });
});

const COMMA = 0x2c;

export const TEXT_PART_FUNCTIONS: Functions = {
  btrim: trimmed(true, true),
  trim: trimmed(true, true),
  ltrim: trimmed(true, false),
  rtrim: trimmed(false, true),
  substr: substring,
  substring,
  left: side(true),
  right: side(false),
  lpad: padded("lpad", true),
  rpad: padded("rpad", false),
  repeat,
  reverse,
  replace,
  overlay,
  translate,
  split_part: splitPart,
  substr_index: substringIndex,
  substring_index: substringIndex,
  instr: position,
  strpos: position,
  find_in_set: findInSet,
};
