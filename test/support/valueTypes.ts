/** Types of Arrow, with values of them as callers pass them, and the same values as JSON has them. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import { fieldOf, listOf } from "./arrowColumns.js";

export interface TypedValue {
  readonly type: arrow.DataType;
  /** Values as programs pass them, not null. */
  readonly value: fc.Arbitrary<unknown>;
  /** Returns the same value in JSON. */
  json(value: never): unknown;
}

const same = (value: unknown): unknown => value;
const digits = (value: bigint): unknown => `${value}`;
const base64 = (value: Uint8Array): unknown => Buffer.from(value).toString("base64");
const array = (value: ArrayLike<unknown>): unknown => Array.from(value);
const float = (value: number): unknown => (Number.isFinite(value) ? value : `${value}`);

/** JSON.stringify writes -0 as 0. */
const positiveZero = (value: number): number => value + 0;

const int = (bits: number) => fc.integer({ min: -(2 ** (bits - 1)), max: 2 ** (bits - 1) - 1 });
const uint = (bits: number) => fc.nat(2 ** bits - 1);
const long = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

/** Days that have four digits in their year. */
const moment = fc.date({
  min: new Date("0001-01-01"),
  max: new Date("9999-12-31T23:59:59.999Z"),
  noInvalidDate: true,
});
/** Nanoseconds fit 64 bits only in these years. */
const nearMoment = fc.date({ min: new Date("1680-01-01"), max: new Date("2260-01-01"), noInvalidDate: true });
const iso = (value: Date): unknown => value.toISOString();
const midnight = moment.map((date) => new Date(Math.floor(date.getTime() / 86_400_000) * 86_400_000));
const second = moment.map((date) => new Date(Math.floor(date.getTime() / 1000) * 1000));

/** Returns the text of a time of day. */
const timeText =
  (perSecond: number) =>
  (value: bigint | number): string => {
    const ticks = Number(value);
    const seconds = Math.floor(ticks / perSecond);
    const pad = (part: number) => String(part).padStart(2, "0");
    const fraction =
      perSecond === 1 ? "" : `.${String(ticks % perSecond).padStart(String(perSecond).length - 1, "0")}`;
    return `${pad(Math.floor(seconds / 3600))}:${pad(Math.floor(seconds / 60) % 60)}:${pad(seconds % 60)}${fraction}`;
  };
const time = (perSecond: number) => fc.nat(86_400 * perSecond - 1);
const longTime = (perSecond: number) => time(perSecond).map(BigInt);

const decimal = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map(
  (unscaled) =>
    `${unscaled < 0n ? "-" : ""}${String(unscaled < 0n ? -unscaled : unscaled)
      .padStart(3, "0")
      .replace(/(..)$/, ".$1")}`,
);

const pairsType = new arrow.Map_(
  fieldOf(
    "entries",
    new arrow.Struct([fieldOf("key", new arrow.Int32(), false), fieldOf("value", new arrow.DateDay())]),
    false,
  ) as never,
);
const structType = new arrow.Struct([
  fieldOf("at", new arrow.TimestampMicrosecond("Europe/Oslo")),
  fieldOf("n", new arrow.Uint64()),
  fieldOf("bytes", listOf(new arrow.Binary())),
]);
const structValue = fc.record({
  at: fc.option(nearMoment),
  n: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  bytes: fc.array(fc.option(fc.uint8Array({ maxLength: 5 })), { maxLength: 3 }),
});
const vector = (type: arrow.DataType) => new arrow.FixedSizeList(3, fieldOf("item", type));

/** Types by their names. */
export const VALUE_TYPES: Readonly<Record<string, TypedValue>> = {
  bool: { type: new arrow.Bool(), value: fc.boolean(), json: same },
  int8: { type: new arrow.Int8(), value: int(8), json: same },
  uint8: { type: new arrow.Uint8(), value: uint(8), json: same },
  int16: { type: new arrow.Int16(), value: int(16), json: same },
  uint16: { type: new arrow.Uint16(), value: uint(16), json: same },
  int32: { type: new arrow.Int32(), value: int(32), json: same },
  uint32: { type: new arrow.Uint32(), value: fc.maxSafeNat().map((value) => value % 2 ** 32), json: same },
  int64: { type: new arrow.Int64(), value: long, json: digits },
  uint64: { type: new arrow.Uint64(), value: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), json: digits },
  float16: {
    type: new arrow.Float16(),
    value: fc.constantFrom(0, -0.5, 65_504, Number.NaN, Number.NEGATIVE_INFINITY),
    json: float,
  },
  float32: { type: new arrow.Float32(), value: fc.float().map(positiveZero), json: float },
  float64: { type: new arrow.Float64(), value: fc.double().map(positiveZero), json: float },
  utf8: { type: new arrow.Utf8(), value: fc.string({ unit: "binary" }), json: same },
  largeUtf8: { type: new arrow.LargeUtf8(), value: fc.string({ unit: "grapheme" }), json: same },
  dictionary: {
    type: new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
    value: fc.constantFrom("a", "b", ""),
    json: same,
  },
  binary: { type: new arrow.Binary(), value: fc.uint8Array({ maxLength: 20 }), json: base64 },
  largeBinary: { type: new arrow.LargeBinary(), value: fc.uint8Array({ maxLength: 20 }), json: base64 },
  fixedBinary: {
    type: new arrow.FixedSizeBinary(4),
    value: fc.uint8Array({ minLength: 4, maxLength: 4 }),
    json: base64,
  },
  decimal: { type: new arrow.Decimal(2, 30, 128), value: decimal, json: same },
  dateDay: {
    type: new arrow.DateDay(),
    value: midnight,
    json: (value: Date) => value.toISOString().slice(0, 10),
  },
  dateMs: {
    type: new arrow.DateMillisecond(),
    value: midnight,
    json: (value: Date) => value.toISOString().slice(0, 10),
  },
  seconds: { type: new arrow.TimestampSecond("UTC"), value: second, json: iso },
  milliseconds: { type: new arrow.TimestampMillisecond(), value: moment, json: iso },
  microseconds: { type: new arrow.TimestampMicrosecond("-0330"), value: moment, json: iso },
  nanoseconds: { type: new arrow.TimestampNanosecond("America/New_York"), value: nearMoment, json: iso },
  timeSecond: { type: new arrow.TimeSecond(), value: time(1), json: timeText(1) },
  timeMs: { type: new arrow.TimeMillisecond(), value: time(1000), json: timeText(1000) },
  timeUs: { type: new arrow.TimeMicrosecond(), value: longTime(1_000_000), json: timeText(1_000_000) },
  timeNs: { type: new arrow.TimeNanosecond(), value: longTime(1_000_000_000), json: timeText(1_000_000_000) },
  duration: { type: new arrow.DurationMicrosecond(), value: long, json: digits },
  vector32: {
    type: vector(new arrow.Float32()),
    value: fc
      .float32Array({ minLength: 3, maxLength: 3, noNaN: true, noDefaultInfinity: true })
      .map((items) => items.map(positiveZero)),
    json: array,
  },
  vector64: {
    type: vector(new arrow.Float64()),
    value: fc
      .float64Array({ minLength: 3, maxLength: 3, noNaN: true, noDefaultInfinity: true })
      .map((items) => items.map(positiveZero)),
    json: array,
  },
  vector8: {
    type: vector(new arrow.Uint8()),
    value: fc.uint8Array({ minLength: 3, maxLength: 3 }),
    json: array,
  },
  list: {
    type: listOf(new arrow.Int64()),
    value: fc.array(fc.option(long), { maxLength: 4 }),
    json: (value: (bigint | null)[]) => value.map((item) => (item === null ? null : digits(item))),
  },
  struct: {
    type: structType,
    value: structValue,
    json: (value: { at: Date | null; n: bigint; bytes: (Uint8Array | null)[] }) => ({
      at: value.at && iso(value.at),
      n: digits(value.n),
      bytes: value.bytes.map((bytes) => bytes && base64(bytes)),
    }),
  },
  map: {
    type: pairsType,
    value: fc
      .uniqueArray(fc.tuple(int(32), fc.option(midnight)), { selector: ([key]) => key, maxLength: 3 })
      .map((pairs) => new Map(pairs)),
    json: (value: Map<number, Date | null>) => Array.from(value, ([key, date]) => [key, date && iso(date)]),
  },
};
