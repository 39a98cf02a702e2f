/** Types of aggregations: their options, and rows of their results. Types only. */

import type { AggregateTableRequest, FilterExpression } from "../namespace/queries.js";
import type { OptionsOf } from "./handleOptions.js";
import type { AnyRow, AnyText, ColumnPath, SortColumns, SystemColumnName, ValueUnder } from "./rowTypes.js";

/** A key of groups: the path of a column, the name of a value, or an expression. */
export type GroupKey<Row, ValueName = never> =
  | ColumnPath<Row>
  | SystemColumnName
  | (ValueName & string)
  | AnyText
  | FilterExpression;
/** Keys of groups: one or a list. */
export type GroupKeys<Row, ValueName = never> =
  | GroupKey<Row, ValueName>
  | readonly GroupKey<Row, ValueName>[];
/** SQL expressions with aggregate functions, by the names of the resulting columns. */
export type GroupValues = Readonly<Record<string, string | FilterExpression>>;

/** Options of {@link TableHandle.aggregate}. */
export interface AggregateOptions<
  Row = AnyRow,
  Keys extends GroupKeys<Row, keyof Values> = GroupKeys<Row>,
  Values extends GroupValues = GroupValues,
> extends Omit<OptionsOf<AggregateTableRequest>, "groupBy" | "values" | "orderBy"> {
  /**
   * Keys of the groups: paths of columns, expressions, or names of `values`. The result has a column for each
   * key, under its text. Default: all rows form one group, even if there are none.
   */
  readonly groupBy?: CheckedKeys<Row, Keys, keyof Values> | undefined;
  /** SQL expressions with aggregate functions, by the names of the resulting columns. */
  readonly values: { readonly [Name in keyof Values]: CheckedText<Row, Values[Name], never> };
  /** Columns of the result to sort by; the first has the highest priority. Default: no order. */
  readonly orderBy?: SortColumns<KeyName<Keys> | (keyof Values & string), never> | undefined;
}

/** Options of {@link TableHandle.distinct}. */
export interface DistinctOptions<Keys = GroupKeys<AnyRow>>
  extends Omit<AggregateOptions, "groupBy" | "values" | "having" | "orderBy"> {
  /** Columns of the result to sort by; the first has the highest priority. Default: no order. */
  readonly orderBy?: SortColumns<KeyName<Keys>, never> | undefined;
}

/** Names of the columns that keys give. Any text if there is a key whose text is unknown. */
type KeyName<Keys> =
  Each<Keys> extends infer Key
    ? Key extends string
      ? Key
      : Key extends FilterExpression
        ? string
        : never
    : never;
/** One of several keys. */
type Each<Keys> = Keys extends readonly (infer Key)[] ? Key : Keys;

// ------------------------------------------------------------------------------------------ checks of names

/** Characters that expressions have, and paths have not. */
type Operator =
  | (" " | "\n" | "\t" | "(" | ")" | "[" | "," | ":" | "?" | "$" | "`" | '"' | "'")
  | ("+" | "-" | "*" | "/" | "%" | "<" | ">" | "=" | "!" | "|" | "&" | "^" | "~");
/** A text that is an expression, whichever columns the table has. */
type Operation = `${string}${Operator}${string}` | `${number}` | "null" | "true" | "false";
/** Path of a column in an expression, in which case does not matter. */
type IsPath<Row, Text extends string> =
  Lowercase<Text> extends Lowercase<ColumnPath<Row> | SystemColumnName> ? true : false;

/**
 * The text if it is an expression, or names a column or one of `More`. Otherwise the texts that may stand in
 * its place, so that the compiler points at it. A function of one name is checked too, as in `sum(price)`.
 */
export type CheckedText<Row, Text, More> = Text extends string
  ? string extends Text | ColumnPath<Row>
    ? Text
    : Text extends More
      ? Text
      : Text extends `${infer Name}(${infer Inner})`
        ? Inner extends Operation
          ? Text
          : IsPath<Row, Inner> extends true
            ? Text
            : `${Name}(${ColumnPath<Row>})`
        : Text extends Operation
          ? Text
          : IsPath<Row, Text> extends true
            ? Text
            : ColumnPath<Row> | More
  : Text;

/** Checks each key; see {@link CheckedText}. */
export type CheckedKeys<Row, Keys, ValueName = never> = Keys extends readonly unknown[]
  ? { readonly [Index in keyof Keys]: CheckedText<Row, Keys[Index], ValueName> }
  : CheckedText<Row, Keys, ValueName>;

// ------------------------------------------------------------------------------------------ rows of groups

/** Row of a group: its keys, then its values. */
export type GroupRow<Row, Keys, Values> = string extends KeyName<Keys> | keyof Values
  ? AnyRow
  : {
      -readonly [Name in KeyName<Keys> | keyof Values]: Name extends keyof Values
        ? GroupValue<Row, Values[Name]>
        : ValueUnder<Row, Name>;
    };

type CountName = "count" | "approx_count_distinct";
type ChosenName = "min" | "max" | "first" | "last" | "any_value";
type FloatName =
  | ("avg" | "mean" | "median" | "stddev" | "stddev_samp" | "stddev_pop")
  | ("variance" | "var_samp" | "var_pop");

/** Type of a value, as far as its text tells: of a column, or of a single function. */
type GroupValue<Row, Text> = Text extends `${infer Name}(${infer Inner})`
  ? Inner extends `${string})${string}`
    ? unknown
    : Lowercase<Name> extends CountName
      ? bigint
      : Lowercase<Name> extends FloatName
        ? number | null
        : Lowercase<Name> extends ChosenName
          ? ValueUnder<Row, Inner> | null
          : Lowercase<Name> extends "sum"
            ? SumOf<ValueUnder<Row, Inner>>
            : unknown
  : ValueUnder<Row, Text>;
/** Sum of values of a type. Sums of 32-bit integers have 64 bits. */
type SumOf<Value> = [NonNullable<Value>] extends [bigint]
  ? bigint | null
  : [NonNullable<Value>] extends [number]
    ? number | bigint | null
    : unknown;
