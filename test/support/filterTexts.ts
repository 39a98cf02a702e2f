/** Rows of all kinds of columns, and generated filters over them. */

import * as arrow from "apache-arrow";
import fc from "fast-check";
import {
  bools,
  fieldOf,
  float32s,
  float64s,
  int8s,
  int32s,
  int64s,
  listOf,
  uint64s,
  utf8s,
} from "./arrowColumns.js";

const TEXTS = ["", "a", "A", "ab", "abc", "b%", "x_y", "é", "😀b", "Zebra", "it's", "10", "-2.5", "true"];
const DAY = 86_400_000;
const TIMES = [0, -1, 1, DAY, -DAY, 1_577_836_800_123, 1_593_561_600_000, 951_782_399_999];

/** A table of all types in filters; every column holds nulls. */
export function filterTable(rowCount: number, seed: number): arrow.Table {
  let state = seed;
  const next = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const values = <Value>(choices: readonly Value[]): (Value | null)[] =>
    Array.from({ length: rowCount }, () => (next(6) === 0 ? null : choices[next(choices.length)]));
  const items = <Value>(choices: readonly Value[]) =>
    values(Array.from({ length: 12 }, () => values(choices).slice(0, next(4))));
  const member = new arrow.Struct([
    fieldOf("a", new arrow.Int32()),
    fieldOf("B", new arrow.Utf8()),
    fieldOf("c.d", new arrow.Float64()),
  ]);
  const structs = Array.from({ length: rowCount }, () =>
    next(6) === 0
      ? null
      : {
          a: next(4) === 0 ? null : next(10) - 5,
          B: next(4) === 0 ? null : TEXTS[next(TEXTS.length)],
          "c.d": next(4) === 0 ? null : next(10) / 4,
        },
  );
  return new arrow.Table({
    id: int32s(rowCount, (row) => row),
    i8: int8s(values([0, 1, -1, 2, 127, -128])),
    i32: int32s(values([0, 1, -1, 2, 2147483647, -2147483648])),
    i64: int64s(values([0n, 1n, -1n, 2n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)])),
    u8: arrow.vectorFromArray(values([0, 1, 2, 255]), new arrow.Uint8()),
    u64: uint64s(values([0n, 1n, 2n, 2n ** 63n, 2n ** 64n - 1n])),
    f32: float32s(values([0, 1.5, -0.1, 2, Number.NaN, Number.POSITIVE_INFINITY])),
    f64: float64s(values([0, 1.5, -0.1, 2, Number.NaN, Number.NEGATIVE_INFINITY, 1e300])),
    bo: bools(values([true, false])),
    s: utf8s(values(TEXTS)),
    Mixed: utf8s(values(TEXTS)),
    dic: arrow.vectorFromArray(
      values(TEXTS.slice(0, 5)),
      new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
    ),
    d32: arrow.vectorFromArray(
      values(TIMES.map((time) => new Date(Math.floor(time / DAY) * DAY))),
      new arrow.DateDay(),
    ),
    ts: arrow.vectorFromArray(values(TIMES), new arrow.Timestamp(arrow.TimeUnit.MILLISECOND, null)),
    tz: arrow.vectorFromArray(values(TIMES), new arrow.Timestamp(arrow.TimeUnit.MICROSECOND, "UTC")),
    tb: arrow.vectorFromArray(
      values(TIMES),
      new arrow.Timestamp(arrow.TimeUnit.MILLISECOND, "Europe/Berlin"),
    ),
    dec: decimals(values([0, 150, -10, 12_345, 99_999_999])),
    li: arrow.vectorFromArray(items([1n, 2n, 3n, -1n]), listOf(new arrow.Int64())),
    lt: arrow.vectorFromArray(items(TEXTS.slice(0, 5)), listOf(new arrow.Utf8())),
    vec: arrow.vectorFromArray(
      values([
        [1, 2],
        [0, 0.5],
      ]),
      new arrow.FixedSizeList(2, fieldOf("item", new arrow.Float32())),
    ),
    st: arrow.vectorFromArray(structs, member),
  });
}

function decimals(unscaled: readonly (number | null)[]) {
  const words = new Int32Array(4 * unscaled.length);
  const nullBitmap = new Uint8Array((unscaled.length + 7) >>> 3);
  let nullCount = 0;
  for (const [row, value] of unscaled.entries()) {
    if (value === null) nullCount++;
    else nullBitmap[row >>> 3] |= 1 << (row & 7);
    words[4 * row] = value ?? 0;
    words.fill((value ?? 0) < 0 ? -1 : 0, 4 * row + 1, 4 * row + 4);
  }
  const type = new arrow.Decimal(2, 10, 128);
  return arrow.makeVector(
    arrow.makeData({
      type,
      length: unscaled.length,
      nullCount,
      nullBitmap,
      data: new Uint32Array(words.buffer),
    }),
  );
}

type Text = fc.Arbitrary<string>;
const of = (...texts: readonly string[]): Text => fc.constantFrom(...texts);
const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const integer = of("0", "1", "-1", "2", "3", "100", "127", "-128");
const anyInteger = fc.oneof(
  { weight: 6, arbitrary: integer },
  of(
    "128",
    "256",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "-129",
  ),
);
const real = of("0.0", "1.5", "-0.1", "2.0", "1e300", "2.5e-1", "0", "1", "-2");
const text = fc.constantFrom(...TEXTS).map(quote);
const pattern = of("a%", "%b", "%b%", "_", "__", "a_c", "%", "", "A%", "\\%", "b\\%", "%é%", "x\\_y").map(
  quote,
);
const day = of("1970-01-01", "1970-01-02", "1969-12-31", "2020-01-01", "2000-02-28").map(
  (day) => `date '${day}'`,
);
const time = of(
  "1970-01-01",
  "1970-01-01 00:00:00",
  "1970-01-01 00:00:00.001",
  "2020-01-01 00:00:00.123",
  "2020-07-01 02:00:00",
  "1969-12-31 23:59:59.9995",
).map((time) => `timestamp '${time}'`);

const integers = of("i8", "i32", "i64", "u8", "u64", "st.a");
const reals = of("f32", "f64", "st.`c.d`");
const texts = of("s", "Mixed", "dic", "st.B", "`s`", "st['B']");
const times = of("ts", "tz", "tb", "d32");
const comparison = of("=", "!=", "<>", "<", "<=", ">", ">=", "==");

/** Regular expressions; some match nothing, or the empty text. */
const matched = of(
  "a",
  "b+",
  "(a)(b)",
  "(a|ab)(c|bcd)?",
  "a*?",
  "[a-z]",
  "^.",
  "x*",
  "(?<first>.)b",
  "é|😀",
  "\\\\b",
).map(quote);

const list = fc.oneof(
  integer.map((item) => `array_append(li, ${item})`),
  integer.map((item) => `array_prepend(${item}, li)`),
  fc
    .tuple(
      of("array_concat", "array_union", "array_intersect", "array_except"),
      fc.array(integer, { minLength: 1, maxLength: 3 }),
    )
    .map(([f, items]) => `${f}(li, [${items}])`),
  of("distinct", "reverse", "pop_front", "pop_back", "sort").map((f) => `array_${f}(li)`),
  of("array_sort(li, 'DESC')", "array_sort(li, 'ASC', 'NULLS LAST')"),
  fc.tuple(of("remove", "remove_all"), integer).map(([f, item]) => `array_${f}(li, ${item})`),
  fc
    .tuple(of("replace", "replace_all"), integer, integer)
    .map(([f, item, operand]) => `array_${f}(li, ${item}, ${operand})`),
);

/** False for a column beside a literal: the reference narrows such literals to the column's type. */
function areAlike([left, , right]: readonly [string, string, string]): boolean {
  const isColumn = (side: string) => /^[\w.`[\]']+$/.test(side) && !/^['\d-]/.test(side);
  return isColumn(left) === isColumn(right) || !/[( ]/.test(left + right);
}

/** Nested numbers, texts and conditions. */
const { condition, number, float, string } = fc.letrec<{
  number: string;
  float: string;
  string: string;
  condition: string;
  leaf: string;
}>((tie) => ({
  number: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    integers,
    fc.tuple(tie("number"), of("+", "-", "*"), integer).map((parts) => `(${parts.join(" ")})`),
    fc.tuple(tie("number"), of("/", "%"), of("2", "3", "-3")).map((parts) => `(${parts.join(" ")})`),
    tie("string").map((inner) => `length(${inner})`),
    tie("string").map((inner) => `octet_length(${inner})`),
    of("li", "lt", "vec").map((list) => `array_length(${list})`),
    fc
      .tuple(tie("string"), matched, of("", ", 1", ", 2", ", 1, 'i'"))
      .map(([inner, regex, rest]) => `regexp_count(${inner}, ${regex}${rest})`),
    fc.tuple(tie("string"), matched).map(([inner, regex]) => `regexp_instr(${inner}, ${regex})`),
    fc
      .tuple(of("year", "month", "day", "hour", "dow", "doy", "week", "quarter"), times)
      .map(([part, column]) => `date_part('${part}', ${column})`),
    fc.tuple(integers, integer).map(([column, operand]) => `coalesce(${column}, ${operand})`),
    fc.tuple(integers, integer).map(([column, operand]) => `nullif(${column}, ${operand})`),
  ),
  float: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    reals,
    // The reference's comparisons respect the sign of computed zeros and NaN.
    fc.tuple(of("st.`c.d`", "cast(i8 as double)"), of("+", "-"), real).map((parts) => `(${parts.join(" ")})`),
    tie("float").map((inner) => `abs(${inner})`),
    tie("float").map((inner) => `abs(round(${inner}))`),
    tie("number").map((inner) => `cast(${inner} as double)`),
    of("u8", "u64").map((column) => `sqrt(${column})`),
  ),
  string: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    texts,
    fc
      .tuple(of("lower", "upper", "btrim", "reverse", "ltrim"), tie("string"))
      .map(([f, inner]) => `${f}(${inner})`),
    fc.tuple(tie("string"), text).map(([inner, operand]) => `(${inner} || ${operand})`),
    fc.tuple(tie("string"), text).map(([inner, operand]) => `coalesce(${inner}, ${operand})`),
    fc.tuple(tie("string"), text, text).map(([inner, from, to]) => `replace(${inner}, ${from}, ${to})`),
    fc
      .tuple(of("left", "right"), tie("string"), of("0", "1", "2", "-1"))
      .map(([f, inner, n]) => `${f}(${inner}, ${n})`),
    fc.tuple(tie("string"), text).map(([inner, operand]) => `concat(${inner}, ${operand})`),
    of("i8", "i64", "bo", "u64", "d32").map((column) => `cast(${column} as string)`),
    fc
      .tuple(
        tie("string"),
        matched,
        of("x", "[$0]", "$1-$2", "\\1", "\\\\1", "$\u007b1}a", "$$"),
        of("", ", 'g'", ", 'gi'", ", 'i'"),
      )
      .map(([inner, regex, to, flags]) => `regexp_replace(${inner}, ${regex}, ${quote(to)}${flags})`),
  ),
  leaf: fc.oneof(
    fc.tuple(integers, comparison, anyInteger).map((parts) => parts.join(" ")),
    fc.tuple(anyInteger, comparison, integers).map((parts) => parts.join(" ")),
    fc.tuple(reals, comparison, real).map((parts) => parts.join(" ")),
    fc.tuple(fc.oneof(texts, of("mixed", "MIXED")), comparison, text).map((parts) => parts.join(" ")),
    fc.tuple(times, comparison, fc.oneof(time, day)).map((parts) => parts.join(" ")),
    fc.tuple(of("dec"), comparison, integer).map((parts) => parts.join(" ")),
    fc.tuple(integers, comparison, integers).map((parts) => parts.join(" ")),
    fc.tuple(reals, comparison, reals).map((parts) => parts.join(" ")),
    fc.tuple(texts, comparison, texts).map((parts) => parts.join(" ")),
    fc.tuple(times, comparison, times).map((parts) => parts.join(" ")),
    fc.tuple(texts, of("like", "not like", "ilike", "not ilike"), pattern).map((parts) => parts.join(" ")),
    fc
      .tuple(
        integers,
        of("in", "not in"),
        fc.array(fc.oneof(integer, of("null")), { minLength: 1, maxLength: 6 }),
      )
      .map(([column, word, list]) => `${column} ${word} (${list.join(", ")})`),
    fc
      .tuple(texts, of("in", "not in"), fc.array(text, { minLength: 1, maxLength: 6 }))
      .map(([column, word, list]) => `${column} ${word} (${list.join(", ")})`),
    fc
      .tuple(reals, of("in", "not in"), fc.array(real, { minLength: 1, maxLength: 6 }))
      .map(([column, word, list]) => `${column} ${word} (${list.join(", ")})`),
    fc
      .tuple(integers, of("between", "not between"), integer, integer)
      .map(([column, word, low, high]) => `${column} ${word} ${low} and ${high}`),
    fc.tuple(times, time, time).map(([column, low, high]) => `${column} between ${low} and ${high}`),
    fc
      .tuple(
        of("i8", "f64", "bo", "s", "dic", "li", "vec", "st", "st.a", "dec", "tb"),
        of("is null", "is not null"),
      )
      .map((parts) => parts.join(" ")),
    fc
      .tuple(of("bo", "i8 > 0", "s = 'a'"), of("is true", "is not true", "is false", "is not false"))
      .map(([what, word]) => `(${what}) ${word}`),
    of("bo", "true", "1 = 1", "bo = true", "bo != false"),
    fc
      .tuple(of("li"), of("array_has", "array_contains"), integer)
      .map(([list, f, item]) => `${f}(${list}, ${item})`),
    fc
      .tuple(of("array_has_any", "array_has_all"), fc.array(integer, { minLength: 1, maxLength: 3 }))
      .map(([f, list]) => `${f}(li, [${list}])`),
    fc
      .tuple(of("array_has_any", "array_has_all"), fc.array(text, { minLength: 1, maxLength: 3 }))
      .map(([f, list]) => `${f}(lt, [${list}])`),
    text.map((item) => `array_has(lt, ${item})`),
    fc
      .tuple(texts, of("like", "not like", "ilike"), of("s", "Mixed", "concat(s, '%')"))
      .map((parts) => parts.join(" ")),
    fc
      .tuple(times, of("<", ">="), of("now()", "current_timestamp", "current_date"))
      .map((parts) => parts.join(" ")),
    fc
      .tuple(of("array_min", "array_max"), comparison, integer)
      .map(([f, sign, operand]) => `${f}(li) ${sign} ${operand}`),
    fc
      .tuple(list, of("1", "2", "-1"), integer)
      .map(([inner, index, item]) => `array_element(${inner}, ${index}) = ${item}`),
    fc
      .tuple(list, of(",", ""), text)
      .map(([inner, separator, operand]) => `array_to_string(${inner}, '${separator}') <= ${operand}`),
    fc.tuple(of("1", "2", "-1", "0"), integer).map(([index, item]) => `li[${index}] = ${item}`),
    fc
      .tuple(texts, of("starts_with", "ends_with", "contains"), text)
      .map(([column, f, operand]) => `${f}(${column}, ${operand})`),
    fc
      .tuple(texts, of("^a", "b$", "[a-c]+", "a|b", "^.$", "\\\\w", "(ab)?c", "é"))
      .map(([column, regex]) => `regexp_like(${column}, ${quote(regex)})`),
    fc
      .tuple(of("year", "month", "day", "hour", "week", "quarter"), of("ts", "tz", "tb"), comparison, time)
      .map(([part, column, sign, operand]) => `date_trunc('${part}', ${column}) ${sign} ${operand}`),
    fc
      .tuple(of("s", "Mixed", "st.B"), of("int", "double", "boolean", "date"), of("is null", "is not null"))
      .map(([column, type, word]) => `try_cast(${column} as ${type}) ${word}`),
    fc
      .tuple(tie("number"), comparison, fc.oneof(integer, tie("number")))
      .filter(areAlike)
      .map((parts) => parts.join(" ")),
    fc
      .tuple(tie("float"), comparison, fc.oneof(real, tie("float")))
      .filter(areAlike)
      .map((parts) => parts.join(" ")),
    fc
      .tuple(tie("string"), comparison, fc.oneof(text, tie("string")))
      .filter(areAlike)
      .map((parts) => parts.join(" ")),
  ),
  condition: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 3, arbitrary: tie("leaf") },
    fc.array(tie("condition"), { minLength: 2, maxLength: 4 }).map((parts) => `(${parts.join(" and ")})`),
    fc.array(tie("condition"), { minLength: 2, maxLength: 4 }).map((parts) => `(${parts.join(" or ")})`),
    tie("condition").map((inner) => `not (${inner})`),
    tie("condition").map((inner) => `(${inner}) is not true`),
  ),
}));

export const filterTexts = condition;

export const valueTexts = fc.oneof(number, float, string, condition, list);

/** Expressions that may be columns of a result. */
export const columnTexts = fc.oneof(number, float, string, condition);

/** Columns of {@link filterTable} by which both engines sort. */
export const SORTED_COLUMNS = [
  ...["i8", "i32", "i64", "u8", "u64", "f32", "f64"],
  ...["bo", "s", "dic", "d32", "ts", "tz", "dec"],
];

export const orderBy = (columns: readonly string[]) =>
  fc.record({
    columnName: fc.constantFrom(...columns),
    ascending: fc.boolean(),
    nullsFirst: fc.boolean(),
  });
