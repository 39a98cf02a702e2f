/**
 * CAST and TRY_CAST. Floats and decimals lose their fraction in a cast to integers; a cast to a decimal with
 * fewer digits rounds. A value that the new type lacks is an error, or null in TRY_CAST. Numbers are cast in
 * loops over typed arrays, other values one by one.
 */

import type { Column, Validity } from "../../arrow/columns/column.js";
import { concatInSteps } from "../../arrow/columns/concatColumns.js";
import { plainColumn } from "../../arrow/columns/dictionaries.js";
import { checkOffsetRange } from "../../arrow/columns/offsets.js";
import { sliceColumn } from "../../arrow/columns/sliceColumn.js";
import { bothValid, isValid } from "../../arrow/columns/validity.js";
import {
  localMillisOf,
  nanosInZone,
  parseDay,
  parseInstant,
  parseTimeOfDay,
} from "../../arrow/types/parsedTimes.js";
import { floorDivide, formatDay, formatTime, formatTimeOfDay } from "../../arrow/types/times.js";
import type { DecimalType } from "../../arrow/types/type.js";
import { Pace, type Steps } from "../../async/eventLoop.js";
import { isUint8Array } from "../../bytes/anyRealm.js";
import { toHex } from "../../bytes/hex.js";
import { InvalidInputError } from "../../errors.js";
import { GrowingTexts } from "../values/growing.js";
import {
  byteLane,
  decodeText,
  madeBy,
  numbersOf,
  type Operand,
  type ValueKernel,
  without,
} from "../values/operands.js";
import {
  columnInSteps,
  isWide,
  listLane,
  nullsOf,
  type Scalar,
  scalarReader,
  shownScalar,
} from "../values/scalars.js";
import {
  areSame,
  byteWidthOf,
  greatestInteger,
  INT64,
  type ListValueType,
  leastInteger,
  type PlainType,
  type StructValueType,
  TICKS_PER_SECOND,
  typeName,
  type ValueType,
} from "../values/types.js";
import { fixedColumn } from "./arithmetic.js";
import { parseDecimal, rescale } from "./decimals.js";
import { RowPace, TextLane } from "./textRows.js";

type TimeType = Extract<PlainType, { kind: "date" | "timestamp" | "time" | "duration" }>;

const NANOS_PER_DAY = 86_400_000_000_000n;

/** Returns the cast of an operand; null if there is none between the types. */
export function castKernel(from: ValueType, to: ValueType, isTry: boolean): ValueKernel | null {
  if (areSame(from, to)) return ([{ column }]) => column;
  if (from.kind === "list" && to.kind === "list") return listCast(from, to, isTry);
  if (from.kind === "struct" && to.kind === "struct") return structCast(from, to, isTry);
  const quick = quickCast(from, to) ?? byteCast(from, to, isTry);
  if (quick !== null) return quick;
  if (from.kind === "list" && to.kind === "string") return listTextCast(from, to);
  const convert = conversion(from, to);
  if (convert === null) return null;
  return function* run([operand], length, valid) {
    const read = from.kind === "string" ? shortTexts(operand) : scalarReader(operand, from);
    const values = new Array<Scalar>(length).fill(null);
    const pace = new Pace(STEP_ROWS);
    for (let row = 0; row < length; row++) {
      if (!isValid(valid, row)) continue;
      const value = read(row);
      const result = typeof value === "string" && value.length > MAX_VALUE_TEXT ? null : convert(value);
      if (result === null && !isTry) throw castError(value, from, to);
      values[row] = result;
      if (pace.isStep(1 + (typeof value === "string" ? value.length >>> 7 : 0))) yield;
    }
    return yield* columnInSteps(to, values);
  };
}

const STEP_ROWS = 256;

/** Maximum length, in UTF-16 units, of the text of a number, a time or a boolean. */
const MAX_VALUE_TEXT = 2 ** 14;

/** Reads texts. It cuts a long text to a length at which its cast still fails. */
function shortTexts(operand: Operand): (row: number) => Scalar {
  const lane = new TextLane(operand);
  return (row) => {
    if (lane.isNull(row)) return null;
    const start = lane.start(row);
    return decodeText(lane.bytes, start, Math.min(lane.end(row), start + 4 * MAX_VALUE_TEXT));
  };
}

/** Casts between texts and bytes, which keep the bytes; null for other types. */
function byteCast(from: ValueType, to: ValueType, isTry: boolean): ValueKernel | null {
  const isText = from.kind === "string";
  if (!isText && from.kind !== "binary" && from.kind !== "fixedSizeBinary") return null;
  if (to.kind === "binary" || (to.kind === "string" && isText)) {
    return ([operand], length, valid) => withOffsets(operand, length, valid, to.large);
  }
  if (to.kind !== "string") return null;
  return function* run([operand], length, valid) {
    const lane = new TextLane(operand);
    const failed = new Uint8Array((length + 7) >>> 3);
    const pace = new RowPace([lane]);
    for (let row = 0; row < length; row++) {
      if (!isValid(valid, row)) continue;
      if (!(yield* isUtf8(lane.bytes, lane.start(row), lane.end(row)))) {
        if (!isTry) throw castError(lane.of(row), from, to);
        failed[row >>> 3] |= 1 << (row & 7);
      }
      if (pace.isStep(row)) yield;
    }
    const column = withOffsets(operand, length, valid, to.large);
    return { ...column, validity: without(valid, failed, length) } as Column;
  };
}

const STEP_CHECKED = 2 ** 18;

function* isUtf8(bytes: Uint8Array, start: number, end: number): Steps<boolean> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    for (let offset = start; offset < end; offset += STEP_CHECKED) {
      const stop = Math.min(end, offset + STEP_CHECKED);
      decoder.decode(bytes.subarray(offset, stop), { stream: stop < end });
      if (stop < end) yield;
    }
    return true;
  } catch {
    // The bytes are not UTF-8.
    return false;
  }
}

/** Keeps the bytes of a column and changes the width of its offsets. */
function withOffsets(operand: Operand, length: number, valid: Validity | null, isLarge: boolean): Column {
  const { bytes, offsets } = byteLane(operand);
  if (!isLarge) {
    checkOffsetRange(offsets[length]);
    const narrow = Int32Array.from(offsets.subarray(0, length + 1));
    return { kind: "variable", length, validity: valid, offsets: narrow, bytes };
  }
  const wide = new BigInt64Array(length + 1);
  const words = new Int32Array(wide.buffer);
  for (let row = 0; row <= length; row++) {
    words[2 * row] = offsets[row];
    words[2 * row + 1] = Math.floor(offsets[row] / 2 ** 32);
  }
  return { kind: "variable", length, validity: valid, offsets: wide, bytes };
}

/** Lists as text: their items between brackets. */
function listTextCast(from: ListValueType, to: Extract<ValueType, { kind: "string" }>): ValueKernel | null {
  if (!hasListText(from)) return null;
  return function* run([operand], length, valid) {
    const texts = new GrowingTexts(null);
    const pace = new Pace(STEP_ROWS);
    const write = listWriter(operand.column, from, texts, pace);
    for (let row = 0; row < length; row++) {
      if (isValid(valid, row)) yield* write(row * operand.step);
      texts.end();
      if (pace.isStep()) yield;
    }
    const column = yield* texts.finish(valid);
    return to.large ? withOffsets({ column: column, step: 1 }, length, valid, true) : column;
  };
}

/** True if lists of a type, and the lists in them, have a text form. */
const hasListText = (type: ListValueType): boolean =>
  type.size === null && (type.item.kind === "list" ? hasListText(type.item) : itemText(type.item) !== null);

/** Writes the text of a list. A null in it is empty. */
function listWriter(
  column: Column,
  type: ListValueType,
  texts: GrowingTexts,
  pace: Pace,
): (position: number) => Steps<void> {
  const { items, offsets } = listLane({ column, step: 1 });
  const within = type.item.kind === "list" ? listWriter(items, type.item, texts, pace) : null;
  const item = within === null ? itemText(type.item) : null;
  const read = item === null ? null : scalarReader({ column: items, step: 1 }, type.item);
  return function* write(position) {
    texts.putText("[");
    for (let index = offsets[position]; index < offsets[position + 1]; index++) {
      if (index > offsets[position]) texts.putText(", ");
      const before = texts.size;
      if (within !== null) {
        if (isValid(items.validity, index)) yield* within(index);
      } else texts.putText(String(item?.(read?.(index) ?? null) ?? ""));
      if (pace.isStep(1 + ((texts.size - before) >>> 8))) yield;
    }
    texts.putText("]");
  };
}

function castError(value: Scalar, from: ValueType, to: ValueType): InvalidInputError {
  const shown = isUint8Array(value) ? `of ${value.length} bytes` : shownScalar(value);
  return new InvalidInputError(`${typeName(from)} ${shown} cannot be cast to ${typeName(to)}`);
}

function listCast(from: ListValueType, to: ListValueType, isTry: boolean): ValueKernel | null {
  const items = memberCast(from.item, to.item, isTry);
  if (items === null || (to.size !== null && to.size !== from.size)) return null;
  return function* run([{ column }]) {
    const lane = listLane({ column, step: 1 });
    const first = lane.offsets[0];
    // The items of a page belong to the lists of many batches.
    const listItems = sliceColumn(lane.items, first, lane.offsets[column.length] - first);
    const cast = yield* castItems(items, listItems);
    const offsets = new Int32Array(column.length + 1);
    for (let row = 0; row < offsets.length; row++) offsets[row] = lane.offsets[row] - first;
    return { kind: "list", length: column.length, validity: column.validity, offsets, items: cast };
  };
}

/** Returns the cast of items or members, which may all be null. */
const memberCast = (from: ValueType, to: ValueType, isTry: boolean): ValueKernel | null =>
  from.kind === "null" ? (_, length) => nullsOf(to, length) : castKernel(from, to, isTry);

const ITEMS_AT_ONCE = 2 ** 18;

export function* castItems(cast: ValueKernel, items: Column): Steps<Column> {
  const parts: Column[] = [];
  for (let first = 0; first < items.length || parts.length === 0; first += ITEMS_AT_ONCE) {
    const part = sliceColumn(items, first, Math.min(ITEMS_AT_ONCE, items.length - first));
    parts.push(yield* madeBy(cast([{ column: part, step: 1 }], part.length, part.validity)));
    if (first + ITEMS_AT_ONCE < items.length) yield;
  }
  return yield* concatInSteps(parts);
}

/** Members are matched by name, in any order; both structs have the same members. */
function structCast(from: StructValueType, to: StructValueType, isTry: boolean): ValueKernel | null {
  if (from.members.length !== to.members.length) return null;
  const casts: { readonly source: number; readonly cast: ValueKernel }[] = [];
  for (const { name, type } of to.members) {
    const source = from.members.findIndex((member) => member.name === name);
    if (source < 0) return null;
    const cast = memberCast(from.members[source].type, type, isTry);
    if (cast === null) return null;
    casts.push({ source, cast });
  }
  return function* run([{ column }]) {
    if (column.kind !== "struct") return nullsOf(to, column.length);
    const { length, validity } = column;
    const children: Column[] = [];
    for (const { source, cast } of casts) {
      const child = plainColumn(column.children[source]);
      const childValidity = child.kind === "null" ? null : bothValid(child.validity, validity, length);
      children.push(yield* madeBy(cast([{ column: child, step: 1 }], length, childValidity)));
    }
    return { kind: "struct", length, validity, children };
  };
}

/** Casts that cannot fail, between types whose values are JavaScript numbers. */
function quickCast(from: ValueType, to: ValueType): ValueKernel | null {
  const source = from.kind === "int" || from.kind === "float" ? from : null;
  if (source === null || isWide(source)) return null;
  if (to.kind === "float" && to.bits >= 32) {
    return ([operand], length, valid) => {
      const numbers = numbersOf(operand, source);
      const result = to.bits === 64 ? new Float64Array(length) : new Float32Array(length);
      if (operand.step === 1) result.set(numbers.subarray(0, length));
      else result.fill(numbers[0]);
      return fixedColumn(result, length, valid);
    };
  }
  if (source.kind !== "int" || to.kind !== "int") return null;
  const widens = to.bits > source.bits && (to.signed || !source.signed);
  if (!widens) return null;
  return ([operand], length, valid) => {
    const numbers = numbersOf(operand, source);
    if (to.bits < 64) {
      const result = to.bits === 16 ? new Int16Array(length) : new Int32Array(length);
      for (let row = 0, index = 0; row < length; row++, index += operand.step) result[row] = numbers[index];
      return fixedColumn(result, length, valid);
    }
    const words = new Int32Array(2 * length);
    for (let row = 0, slot = 0; row < length; row++, slot += operand.step) {
      words[2 * row] = numbers[slot];
      words[2 * row + 1] = numbers[slot] < 0 ? -1 : 0;
    }
    return fixedColumn(new BigInt64Array(words.buffer), length, valid);
  };
}

/** Returns null for a value that the new type lacks. */
type Convert = (value: Scalar) => Scalar;

function conversion(from: ValueType, to: ValueType): Convert | null {
  switch (to.kind) {
    case "bool":
      return toBoolean(from);
    case "int":
    case "float":
      return toNumber(from, to);
    case "decimal":
      return toDecimal(from, to);
    case "string":
      return toText(from);
    case "fixedSizeBinary":
      return from.kind === "binary"
        ? (value) => ((value as Uint8Array).length === to.bytes ? value : null)
        : null;
    case "date":
    case "timestamp":
    case "time":
    case "duration":
      return toTime(from, to);
    default:
      return null;
  }
}

function toBoolean(from: ValueType): Convert | null {
  if (from.kind === "string") {
    return (value) => {
      const text = (value as string).trim().toLowerCase();
      if (["t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"].includes(text)) return true;
      return ["f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"].includes(text) ? false : null;
    };
  }
  if (from.kind === "int" || from.kind === "float") return (value) => Number(value) !== 0;
  return null;
}

const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;

function toNumber(from: ValueType, to: Extract<PlainType, { kind: "int" | "float" }>): Convert | null {
  const within = to.kind === "float" ? (value: number | bigint) => Number(value) : integerFit(to);
  const whole = (value: number): number | bigint | null =>
    to.kind === "float" ? value : Number.isFinite(value) ? Math.trunc(value) : null;
  switch (from.kind) {
    case "bool":
      return (value) => within(value === true ? 1 : 0);
    case "int":
      return (value) => within(value as number | bigint);
    case "float":
      return (value) => {
        const number = whole(value as number);
        return number === null ? null : within(number);
      };
    case "decimal": {
      const perOne = 10n ** BigInt(from.scale);
      return to.kind === "float"
        ? // Both rounded before they are divided, as the reference does it.
          (value) => Number(value as bigint) / 10 ** from.scale
        : (value) => within((value as bigint) / perOne);
    }
    case "string":
      return (value) => {
        const text = value as string;
        if (to.kind === "float") {
          return SPECIAL_FLOATS.get(text.toLowerCase()) ?? (NUMBER.test(text) ? Number(text) : null);
        }
        return /^[+-]?\d{1,40}$/.test(text) ? within(BigInt(text.replace(/^\+/, ""))) : null;
      };
    case "date":
    case "time":
      return to.kind === "int" ? (value) => within(value as number | bigint) : null;
    case "timestamp":
    case "duration":
      return (value) => within(value as number | bigint);
    default:
      return null;
  }
}

const SPECIAL_FLOATS: ReadonlyMap<string, number> = new Map([
  ["nan", Number.NaN],
  ["inf", Number.POSITIVE_INFINITY],
  ["+inf", Number.POSITIVE_INFINITY],
  ["infinity", Number.POSITIVE_INFINITY],
  ["-inf", Number.NEGATIVE_INFINITY],
  ["-infinity", Number.NEGATIVE_INFINITY],
]);

function integerFit(to: Extract<PlainType, { kind: "int" }>): (value: number | bigint) => Scalar {
  const least = leastInteger(to);
  const greatest = greatestInteger(to);
  if (to.bits === 64) {
    return (value) => {
      const integer = BigInt(value);
      return integer < least || integer > greatest ? null : integer;
    };
  }
  const low = Number(least);
  const high = Number(greatest);
  return (value) => (value < low || value > high ? null : Number(value));
}

function toDecimal(from: ValueType, to: DecimalType): Convert | null {
  const limit = 10n ** BigInt(to.precision);
  const within = (value: bigint | null): Scalar =>
    value === null || value >= limit || value <= -limit ? null : value;
  switch (from.kind) {
    case "int":
    case "timestamp":
    case "duration":
      return (value) => within(rescale(BigInt(value as number | bigint), 0, to.scale));
    case "decimal":
      return (value) => within(rescale(value as bigint, from.scale, to.scale));
    case "float":
      return (value) =>
        Number.isFinite(value as number) ? within(parseDecimal(String(value as number), to.scale)) : null;
    case "string":
      return (value) => within(parseDecimal((value as string).trim(), to.scale));
    default:
      return null;
  }
}

function decimalText(value: bigint, scale: number): string {
  if (scale <= 0) return String(value * 10n ** BigInt(-scale));
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, "0");
  return `${value < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function toText(from: ValueType): Convert | null {
  switch (from.kind) {
    case "bool":
    case "int":
      return (value) => String(value);
    case "float":
      return (value) => formatFloat(value as number, from.bits);
    case "decimal":
      return (value) => decimalText(value as bigint, from.scale);
    case "date":
      return from.bits === 32
        ? (value) => formatDay(value as number)
        : (value) => formatTime((value as bigint) * 1_000_000n, null);
    case "timestamp":
      return (value) => formatTime((value as bigint) * nanosPerTick(from), from.timezone);
    case "time":
      return (value) => formatTimeOfDay(BigInt(value as number | bigint) * nanosPerTick(from));
    default:
      return null;
  }
}

/** Converts an item to its text in a list: bytes as digits, null as the empty text. */
function itemText(type: ValueType): Convert | null {
  if (type.kind === "null") return () => "";
  const text =
    type.kind === "binary" || type.kind === "fixedSizeBinary"
      ? (value: Scalar) => toHex(value as Uint8Array)
      : type.kind === "string"
        ? (value: Scalar) => value as string
        : toText(type);
  return text === null ? null : (value) => (value === null ? "" : text(value));
}

/** Prints floats like the reference: with a point or exponent, except those of 16 bits. */
function formatFloat(value: number, bits: 16 | 32 | 64): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const text = bits === 64 ? String(value) : shortestFloat(value);
  const plain = Object.is(value, -0) ? "-0" : text.replace("e+", "e");
  return bits === 16 || /[.e]/.test(plain) ? plain : `${plain}.0`;
}

function shortestFloat(value: number): string {
  for (let digits = 1; digits < 10; digits++) {
    const text = String(Number(value.toPrecision(digits)));
    if (Math.fround(Number(text)) === value) return text;
  }
  return String(value);
}

function toTime(from: ValueType, to: TimeType): Convert | null {
  const isNarrow = byteWidthOf(to) === 4;
  const inRange = integerFit({ kind: "int", bits: isNarrow ? 32 : 64, signed: true });
  if (from.kind === "int") return (value) => inRange(value as number | bigint);
  if (from.kind === "float" || from.kind === "decimal") {
    if (to.kind !== "timestamp" && to.kind !== "duration") return null;
    return toNumber(from, INT64);
  }
  const nanosOf = nanosReader(from, to);
  if (nanosOf === null) return null;
  const perTick = nanosPerTick(to);
  return (value) => {
    const nanos = nanosOf(value);
    if (nanos === null) return null;
    // Between units of one type, the reference rounds towards 1970. Days and texts round to the earlier unit.
    const ticks =
      to.kind === "date" || from.kind === "string" ? floorDivide(nanos, perTick) : nanos / perTick;
    return isNarrow ? Number(ticks) : inRange(ticks);
  };
}

function nanosPerTick(type: TimeType): bigint {
  if (type.kind === "date") return type.bits === 32 ? NANOS_PER_DAY : 1_000_000n;
  return BigInt(1_000_000_000 / TICKS_PER_SECOND[type.unit]);
}

/** Reads values as nanoseconds of the meaning of `to`: since the epoch, since midnight, or of a duration. */
function nanosReader(from: ValueType, to: TimeType): ((value: Scalar) => bigint | null) | null {
  const zone = to.kind === "timestamp" ? to.timezone : null;
  switch (from.kind) {
    case "string":
      if (to.kind === "duration") return null;
      if (to.kind === "time") return (value) => parseTimeOfDay(value as string);
      if (to.kind === "timestamp" || to.bits === 64) return (value) => parseInstant(value as string, zone);
      return (value) => {
        const day = parseDay(value as string);
        return day === null ? null : BigInt(day) * NANOS_PER_DAY;
      };
    case "date": {
      if (to.kind !== "date" && to.kind !== "timestamp") return null;
      const perTick = nanosPerTick(from);
      // A day begins at midnight in UTC, whatever the zone.
      return (value) => BigInt(value as number | bigint) * perTick;
    }
    case "timestamp": {
      if (to.kind === "duration") return null;
      const perTick = nanosPerTick(from);
      const local = (nanos: bigint): bigint => {
        if (from.timezone === null) return nanos;
        const ms = floorDivide(nanos, 1_000_000n);
        return nanos + (BigInt(localMillisOf(Number(ms), from.timezone)) - ms) * 1_000_000n;
      };
      return (value) => {
        const nanos = (value as bigint) * perTick;
        if (to.kind === "timestamp") {
          // An instant with a zone becomes the local time of UTC. Digits finer than the new unit are cut off
          // first.
          return from.timezone === null ? nanosInZone(nanos - (nanos % nanosPerTick(to)), zone) : nanos;
        }
        const shifted = local(nanos);
        return to.kind === "date" ? shifted : shifted - floorDivide(shifted, NANOS_PER_DAY) * NANOS_PER_DAY;
      };
    }
    case "time":
    case "duration": {
      if (to.kind !== from.kind) return null;
      const perTick = nanosPerTick(from);
      return (value) => BigInt(value as number | bigint) * perTick;
    }
    default:
      return null;
  }
}
