/**
 * Calls every function and operator of SQL. The columns are `s` and `t` (texts), `l` and `m` (lists of
 * integers), `k` (lists of lists), `v` (lists of floats), `n` (small integers), `f` (floats), `d` (instants).
 */

export interface HoldCase {
  /** Names of functions that `?` stands for; operators have none. */
  readonly names: readonly string[];
  readonly call: string;
  /**
   * Cost of a value: in proportion to its bytes or items, a copy of these, a small constant, or one turn of a
   * loop over numbers.
   */
  readonly work: "bytes" | "copy" | "value" | "number";
}

const split = (names: string): readonly string[] => (names === "" ? [] : names.split(" "));

const cases = (work: HoldCase["work"], calls: Readonly<Record<string, string>>): readonly HoldCase[] =>
  Object.entries(calls).map(([call, names]) => ({ names: split(names), call, work }));

export const HOLD_CASES: readonly HoldCase[] = [
  ...cases("bytes", {
    "?(s)": "lower upper initcap reverse length char_length character_length",
    "?(s, 'ab')": "btrim trim ltrim rtrim",
    "?(s, 3000000)": "substr substring left right",
    "?(s, 4100000, 'xy')": "lpad rpad",

    "?(s, 'ab', 'c')": "replace translate",
    "?(s, t, 3000000)": "overlay",
    "?(s, 'b', 3)": "split_part",
    "?(s, 'b', -3)": "substr_index substring_index",
    "?(s, t)": "instr strpos contains starts_with ends_with find_in_set contains_tokens",
    "?(s, 'base64')": "encode",
    "?(s || 'aa', 'hex')": "decode",
    "?(left(s, 4000), left(t, 4000))": "levenshtein",
    "?(s, 'a[bc]*b')": "regexp_like regexp_count regexp_instr regexp_match",
    "?(s, 'a[bc]*b', 'x', 'g')": "regexp_replace",
    "?(s, 'a')": "string_to_array string_to_list",
    "?(l, m)":
      "array_has_any list_has_any arrays_overlap array_has_all list_has_all array_concat array_cat list_concat list_cat array_union list_union array_intersect list_intersect array_except list_except arrays_zip list_zip",
    "?(l, n)":
      "array_has list_has array_contains list_contains array_position list_position array_indexof array_append list_append array_push_back list_push_back array_remove list_remove array_remove_all list_remove_all array_positions list_positions",
    "?(n, l)": "array_prepend list_prepend array_push_front list_push_front",
    "?(l)":
      "array_distinct list_distinct array_reverse list_reverse array_pop_front list_pop_front array_pop_back list_pop_back array_sort list_sort array_max list_max array_min list_min",
    "?(l, n, 2)": "array_remove_n list_remove_n",
    "?(l, n, 7)": "array_replace list_replace array_replace_all list_replace_all",
    "?(l, n, 7, 2)": "array_replace_n list_replace_n",
    "?(l, 2, 400000)": "array_slice list_slice",
    "?(k)": "flatten cardinality",
    "?(l, ',')": "array_to_string list_to_string array_join list_join",
    "?(v, v)": "array_distance list_distance inner_product dot_product cosine_distance",
    "?(v)": "array_normalize list_normalize",
    "?(n, 500000)": "array_repeat list_repeat",
    "?(500000 + n)": "range generate_series",
    "s LIKE '%b%b_c%'": "",
    "s ILIKE '%xyz%'": "",
    "s = s || ''": "",
    "s < s || 'a'": "",
    "l = array_append(l, 1)": "",
    "s IN ('x', 'y', s)": "",
    "s IN ('x', 'y', 'z', 'u', 'v')": "",
    "greatest(s, s || 'a')": "",
    "nullif(s, s || 'a')": "",
    "coalesce(nullif(s, s), s || 'b')": "",
    "CAST(l AS STRING)": "",
    "CAST(arrow_cast(s, 'Binary') AS STRING) = s || ''": "",
  }),
  ...cases("copy", {
    "?(s)": "md5 sha224 sha256 sha384 sha512",
    "?(s, 'sha256')": "digest",
    "?(t, 2)": "repeat",
    "?(s, t)": "concat concat_ws",
    "s || t": "",
    "CASE WHEN s LIKE '%c' THEN s || 'c' ELSE t || s END": "",
    "s LIKE t": "",
    "CAST(s AS BINARY) = CAST(t AS BINARY)": "",
    "TRY_CAST(s AS INT)": "",
  }),
  ...cases("value", {
    "?(l)": "array_length list_length empty array_empty list_empty array_dims list_dims",
    "?(l, 3)": "array_element array_extract list_element list_extract",
    "?(l) ": "array_any_value list_any_value array_ndims list_ndims",
    "?(s)": "octet_length bit_length ascii struct",
    "?('a', s)": "named_struct",
    "?(struct(s), 'c0')": "get_field",
    "?(n)": "to_hex factorial abs",
    "?(n + 65)": "chr",
    "?(n, 3)": "gcd lcm",
    "?(d)":
      "to_date to_local_time to_timestamp to_timestamp_seconds to_timestamp_millis to_timestamp_micros to_timestamp_nanos to_unixtime",
    "?('year', d)": "date_part datepart date_trunc datetrunc",
    "?(2020, 1 + n, 3)": "make_date",
    "?(n) ": "from_unixtime",
    "?(d, '%Y-%m-%d')": "to_char date_format",
    "?('15 minutes', d)": "date_bin",
    "?()": "uuid",
    "CAST(f AS STRING)": "",
    "CAST(n AS STRING)": "",
    "round(CAST(f AS DECIMAL(20, 4)), 2)": "",
    "d + INTERVAL '1 month'": "",
  }),
  ...cases("number", {
    "?(f)":
      "ceil floor round trunc signum sqrt cbrt exp ln log log2 log10 sin cos tan cot asin acos atan sinh cosh tanh degrees radians isnan iszero",
    "?(f, 2.0)": "power pow atan2 nanvl",
    "?()": "pi now current_timestamp current_date today current_time random",
    "s LIKE 'x%'": "",
    "f * 2 + n": "",
    "n IN (1, 2, 3, 4, 5)": "",
    "NOT (f > 1 AND n < 3 OR f IS NULL)": "",
  }),
];

/** The calls of a case, one for each of its names. */
export const callsOf = ({ names, call }: HoldCase): readonly string[] =>
  names.length === 0 ? [call] : names.map((name) => call.trim().replace("?", name));
