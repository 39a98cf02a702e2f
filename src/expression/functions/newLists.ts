/** Functions that make lists of values, of ranges of numbers, and of slices of other lists. */

import type { Column } from "../../arrow/columns/column.js";
import { isValid, validityFrom } from "../../arrow/columns/validity.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { compareRanges } from "../../bytes/compare.js";
import { InvalidInputError } from "../../errors.js";
import { fixedColumn } from "../kernels/arithmetic.js";
import { ByteSearch } from "../kernels/byteSearch.js";
import { madeOnce, RowPace, TextLane } from "../kernels/textRows.js";
import { takeBounded } from "../values/boundedTake.js";
import { endOfCharacter } from "../values/characters.js";
import { GrowingNumbers, GrowingTexts } from "../values/growing.js";
import { type ValueKernel, validWhere } from "../values/operands.js";
import { listLane, nullsOf, scalarReader } from "../values/scalars.js";
import { INT64, listTypeOf, STRING } from "../values/types.js";
import { type FunctionDefinition, type Functions, listNames, taking, takingList } from "./form.js";
import { STEP_ITEMS } from "./itemSets.js";
import { nextPlace } from "./partsOfTexts.js";
import { listsOf, type TakenItems } from "./takenItems.js";

/** Maximum number of items that these functions make for one batch. */
const MAX_ITEMS = 2 ** 24;

function checkItems(name: string, count: bigint | number): void {
  if (count > MAX_ITEMS)
    throw new InvalidInputError(`${name}: the lists of a batch have more than ${MAX_ITEMS} items`);
}

/**
 * ARRAY_SLICE(list, from, to [, step]): the items between two positions, both included. Positions count from
 * 1; negative ones count from the end. A position before the list means its first item.
 */
const slice = takingList("lii?i", ({ item }, [, ...positions]) => {
  const kernel: ValueKernel = ([lists, froms, tos, steps], length, valid) => {
    const { items, offsets } = listLane(lists);
    const readFrom = scalarReader(froms, INT64);
    const readTo = scalarReader(tos, INT64);
    const readStep = steps === undefined ? null : scalarReader(steps, INT64);
    return listsOf(items, item, length, valid, (row, takenItems) => {
      const start = offsets[row * lists.step];
      const count = offsets[row * lists.step + 1] - start;
      const from = Number(readFrom(row));
      const to = Number(readTo(row));
      const step = readStep === null ? 1 : Number(readStep(row));
      if (step === 0) throw new InvalidInputError("array_slice: the step must not be 0");
      const first = from < 0 ? Math.max(count + from, 0) : Math.max(from - 1, 0);
      const last = to < 0 ? count + to : Math.min(to, count) - 1;
      if (first >= count || last < 0) return undefined;
      if (step === 1) return takenItems.addAll({ start: start + first, end: start + last + 1 });
      return addEvery(start + first, start + last, step, takenItems);
    });
  };
  return { operands: [listTypeOf(item), ...positions.map(() => INT64)], type: listTypeOf(item), kernel };
});

/** Adds every `step`th item between two, both included. */
function* addEvery(first: number, last: number, step: number, takenItems: TakenItems): Steps<void> {
  for (let item = first; step > 0 ? item <= last : item >= last; item += step) {
    takenItems.add(item);
    if (takenItems.pace.isStep()) yield;
  }
}

/** ARRAY_REPEAT(value, count): also repeats null; none for a count of 0 or less. */
const repeat = taking("vi", ([value]) => {
  const kernel: ValueKernel = function* run([values, counts], length) {
    const read = scalarReader(counts, INT64);
    const offsets = new Int32Array(length + 1);
    const validBits = new Uint8Array((length + 7) >>> 3);
    let total = 0;
    for (let row = 0; row < length; row++) {
      const times = read(row);
      if (times !== null) validBits[row >>> 3] |= 1 << (row & 7);
      total += Math.max(Number(times ?? 0), 0);
      checkItems("array_repeat", total);
      offsets[row + 1] = total;
    }
    const indices = new Uint32Array(total);
    const pace = new Pace(STEP_ITEMS);
    for (let row = 0; row < length; row++) {
      for (let from = offsets[row]; from < offsets[row + 1]; from += STEP_ITEMS) {
        const end = Math.min(from + STEP_ITEMS, offsets[row + 1]);
        indices.fill(row * values.step, from, end);
        if (pace.isStep(end - from)) yield;
      }
      if (pace.isStep()) yield;
    }
    const items =
      total === 0 || values.column.kind === "null"
        ? nullsOf(value, total)
        : yield* takeBounded(values.column, indices);
    return { kind: "list", length, validity: validityFrom(validBits, 0, length), offsets, items };
  };
  return { operands: [value, INT64], type: listTypeOf(value), kernel, isStrict: false };
});

/** FLATTEN(list of lists): the items of all inner lists. Other lists stay unchanged. */
const flatten = takingList("l", ({ item: inner }) => {
  if (inner.kind !== "list") {
    return { operands: [listTypeOf(inner)], type: listTypeOf(inner), kernel: ([operand]) => operand.column };
  }
  const { item } = inner;
  const kernel: ValueKernel = ([lists], length, valid) => {
    const outer = listLane(lists);
    if (outer.items.kind === "null") return listsOf(outer.items, item, length, valid, null);
    const { items, offsets } = listLane({ column: outer.items, step: 1 });
    const { validity } = outer.items;
    return listsOf(items, item, length, valid, function* fill(row, takenItems) {
      const end = outer.offsets[row * lists.step + 1];
      for (let position = outer.offsets[row * lists.step]; position < end; position++) {
        if (takenItems.pace.isStep()) yield;
        if (!isValid(validity, position)) continue;
        const steps = takenItems.addAll({ start: offsets[position], end: offsets[position + 1] });
        if (steps !== undefined) yield* steps;
      }
    });
  };
  return { operands: [listTypeOf(listTypeOf(item))], type: listTypeOf(item), kernel };
});

/** RANGE([start,] stop [, step]) excludes its end, GENERATE_SERIES includes it. */
const series = (name: string, isEndIncluded: boolean): FunctionDefinition =>
  taking("i?ii", (types) => {
    const kernel: ValueKernel = function* run(operands, length, valid) {
      const pace = new Pace(STEP_NUMBERS);
      const readers = operands.map((operand) => scalarReader(operand, INT64));
      const boundsOf = (row: number): readonly [start: bigint, step: bigint, count: bigint] => {
        const values = readers.map((read) => read(row) as bigint);
        const [start, stop, step = 1n] = values.length === 1 ? [0n, values[0]] : values;
        if (step === 0n) throw new InvalidInputError(`${name}: the step must not be 0`);
        // The number of steps to the end, rounded up without the end, down with it.
        const distance = step > 0n ? stop - start : start - stop;
        const width = step > 0n ? step : -step;
        if (distance < 0n) return [start, step, 0n];
        return [start, step, isEndIncluded ? distance / width + 1n : (distance + width - 1n) / width];
      };
      const offsets = new Int32Array(length + 1);
      let total = 0n;
      for (let row = 0; row < length; row++) {
        if (pace.isStep(8)) yield;
        if (isValid(valid, row)) total += boundsOf(row)[2];
        checkItems(name, total);
        offsets[row + 1] = Number(total);
      }
      const numbers = new BigInt64Array(Number(total));
      for (let row = 0; row < length; row++) {
        if (offsets[row] === offsets[row + 1]) continue;
        let [value, step] = boundsOf(row);
        for (let index = offsets[row]; index < offsets[row + 1]; index++, value += step) {
          numbers[index] = value;
          if (pace.isStep()) yield;
        }
      }
      const items: Column = fixedColumn(numbers, numbers.length, null);
      return { kind: "list", length, validity: valid, offsets, items };
    };
    return { operands: types.map(() => INT64), type: listTypeOf(INT64), kernel };
  });

/**
 * STRING_TO_ARRAY(text, separator [, text that stands for null]). A null separator gives one item for each
 * character; an empty one gives the whole text.
 */
const fromText = taking("tt?t", (types) => {
  const kernel: ValueKernel = function* run([texts, separators, nulls], length) {
    const [lane, separator] = [new TextLane(texts), new TextLane(separators)];
    const forNull = nulls === undefined ? null : new TextLane(nulls);
    const parts = new ListParts();
    const pace = new RowPace([lane, separator]);
    const searchOf = madeOnce(separator, (row) => new ByteSearch(separator.of(row)));
    for (let row = 0; row < length; row++) {
      if (!lane.isNull(row)) {
        const needle = forNull === null || forNull.isNull(row) ? null : forNull.of(row);
        const search = separator.isNull(row) ? null : yield* searchOf(row);
        yield* parts.add(lane.bytes, lane.start(row), lane.end(row), search, needle);
      }
      parts.endList(!lane.isNull(row));
      if (pace.isStep(row)) yield;
    }
    return yield* parts.finish();
  };
  return { operands: types.map(() => STRING), type: listTypeOf(STRING), kernel, isStrict: false };
});

class ListParts {
  readonly #texts = new GrowingTexts(null);
  readonly #ends = new GrowingNumbers();
  readonly #nullLists: boolean[] = [];
  readonly #nullItems = new GrowingNumbers();
  readonly #pace = new Pace(STEP_ITEMS);

  /**
   * Adds the parts of a text.
   * @param search finds the separators; null to cut after each character
   * @param forNull the part that becomes null
   */
  *add(
    bytes: Uint8Array,
    start: number,
    end: number,
    search: ByteSearch | null,
    forNull: Uint8Array | null,
  ): Steps<void> {
    if (start === end) return;
    for (let from = start; ; ) {
      let stop: number;
      if (search === null) stop = endOfCharacter(bytes, from, end);
      else stop = search.size === 0 ? -1 : yield* nextPlace(search, bytes, from, end);
      const partEnd = stop < 0 ? end : stop;
      if (forNull !== null && isEqual(bytes, from, partEnd, forNull)) this.#nullItems.push(this.#texts.count);
      yield* this.#texts.copy(bytes, from, partEnd);
      this.#texts.end();
      if (this.#pace.isStep(1 + ((partEnd - from) >>> 6))) yield;
      if (stop < 0 || (search === null && stop >= end)) return;
      checkItems("string_to_array", this.#texts.count);
      from = search === null ? stop : stop + search.size;
    }
  }

  endList(isThere: boolean): void {
    this.#ends.push(this.#texts.count);
    this.#nullLists.push(!isThere);
  }

  *finish(): Steps<Column> {
    const length = this.#nullLists.length;
    const validity = validWhere(length, (row) => !this.#nullLists[row]);
    const count = this.#texts.count;
    const validItems = new Uint8Array((count + 7) >>> 3).fill(0xff);
    for (const item of yield* this.#nullItems.finish()) validItems[item >>> 3] &= ~(1 << (item & 7));
    const offsets = new Int32Array(length + 1);
    offsets.set(yield* this.#ends.finish(), 1);
    const items = yield* this.#texts.finish(validityFrom(validItems, 0, count));
    return { kind: "list", length, validity, offsets, items };
  }
}

function isEqual(bytes: Uint8Array, start: number, end: number, needle: Uint8Array): boolean {
  return end - start === needle.length && compareRanges(bytes, start, end, needle, 0, needle.length) === 0;
}

const STEP_NUMBERS = 2 ** 14;

export const NEW_LIST_FUNCTIONS: Functions = {
  string_to_array: fromText,
  string_to_list: fromText,
  ...listNames(slice, "slice"),
  ...listNames(repeat, "repeat"),
  flatten,
  range: series("range", false),
  generate_series: series("generate_series", true),
};
