/** Types of rows and of column paths, as far as the compiler knows them. Types only. */

import type { ColumnSelection, FilterExpression, Highlight, SortColumn } from "../namespace/queries.js";
import type { RowObject } from "../namespace/request.js";

/** A row of unknown type: values by column name. */
export type AnyRow = Record<string, unknown>;

/** `Yes` for rows whose columns are unknown, and `No` for others. */
type IfUnknown<Row, Yes, No> = string extends keyof Row ? Yes : [keyof Row] extends [never] ? Yes : No;

/** 64-bit integer columns that every row has besides those of its table. */
export type SystemColumnName =
  | "_rowid"
  | "_rowaddr"
  | "_rowoffset"
  | "_row_created_at_version"
  | "_row_last_updated_at_version";

// ------------------------------------------------------------------------------------------ column paths

/** One entry per level of structs that paths are made for. It ends the recursion for recursive types. */
type Levels = readonly [1, 1, 1, 1];
/** Objects that are single values. */
type Scalar = Date | ArrayBuffer | ArrayBufferView | ReadonlyMap<unknown, unknown>;
/** A name as paths spell it: a name with a dot needs backticks. */
type Spelled<Name extends string> = Name extends `${string}.${string}` ? `\`${Name}\`` : Name;

/**
 * Path of a column of a row: a name, or `address.city` for a member of a struct. Any text for rows of unknown
 * type.
 */
export type ColumnPath<Row> = IfUnknown<Row, string, KnownPath<Row, Levels>>;

type KnownPath<Row, Depth extends readonly unknown[]> = {
  [Name in keyof Row & string]-?:
    | Spelled<Name>
    | `${Spelled<Name>}.${PathBelow<NonNullable<Row[Name]>, Depth>}`;
}[keyof Row & string];
type PathBelow<Value, Depth extends readonly unknown[]> = Value extends Scalar
  ? never
  : Value extends readonly (infer Item)[]
    ? Item extends object
      ? string
      : never
    : Value extends object
      ? Depth extends readonly [unknown, ...infer Rest]
        ? string extends keyof Value
          ? string
          : KnownPath<Value, Rest>
        : string
      : never;

/** A text that completion does not offer, although every text is accepted. */
export type AnyText = string & Record<never, never>;
/** Path of a column that the row type may lack. Completion offers the paths of the row type. */
export type LoosePath<Row> = ColumnPath<Row> | AnyText;

/** A column in a list of columns. */
type SelectableColumn<Row> = ColumnPath<Row> | SystemColumnName | SearchColumnName | "*" | FilterExpression;
/** Columns that searches add. */
type SearchColumnName = "_distance" | "_score" | "_relevance_score" | "_highlights" | "query_index";

/** Columns of a query. Undefined: all columns of the table. */
export type Selectable<Row = AnyRow> = IfUnknown<Row, ColumnSelection, KnownSelection<Row>> | undefined;
type KnownSelection<Row> =
  | ColumnPath<Row>
  | SystemColumnName
  | "*"
  | readonly SelectableColumn<Row>[]
  | {
      /** Paths of columns. Not allowed with `columnAliases`. */
      readonly columnNames?: readonly SelectableColumn<Row>[] | undefined;
      /** Paths or expressions, by the names of the resulting columns. */
      readonly columnAliases?: Readonly<Record<string, LoosePath<Row> | FilterExpression>> | undefined;
    };

/** Columns that sort rows, given the paths of a table's columns. */
export type SortColumns<Path extends string, System extends string = SystemColumnName> =
  | SortColumn<Path | System>
  | readonly SortColumn<Path | System>[];

// ------------------------------------------------------------------------------------------ rows out

/** Type of the value under a name or a path. */
export type ValueUnder<Row, Name> = Name extends keyof Row
  ? Row[Name]
  : Name extends SystemColumnName
    ? bigint
    : Name extends `${infer Head}.${infer Rest}`
      ? Head extends keyof Row
        ? MemberUnder<Row[Head], Rest>
        : unknown
      : unknown;
/** Value of a member of a struct. It is null if the struct is. */
type MemberUnder<Struct, Path> =
  NonNullable<Struct> extends Scalar | readonly unknown[]
    ? unknown
    : ValueUnder<NonNullable<Struct>, Path> | (null extends Struct ? null : never);

/** Row of named columns, as far as the names are known. */
type RowOf<Row, Name> = [Name] extends [string]
  ? string extends Name
    ? AnyRow
    : "*" extends Name
      ? Row & { [Each in Exclude<Name, "*">]: ValueUnder<Row, Each> }
      : { [Each in Name]: ValueUnder<Row, Each> }
  : AnyRow;

/** A selection that names each column. */
interface AliasedOnly<Aliases> {
  /** Paths or expressions by the names of the resulting columns. */
  readonly columnAliases: Aliases;
  /** Absent. */
  readonly columnNames?: undefined;
}

/** Row of a query: that of the table, or that of the selected columns if these are literals. */
export type SelectedRow<Row, Columns> = [Columns] extends [undefined]
  ? Row
  : [Columns] extends [string]
    ? RowOf<Row, Columns>
    : [Columns] extends [readonly (infer Name)[]]
      ? RowOf<Row, Name>
      : [Columns] extends [AliasedOnly<infer Aliases>]
        ? { -readonly [Name in keyof Aliases]: ValueUnder<Row, Aliases[Name]> }
        : AnyRow;

// ------------------------------------------------------------------------------------------ searches

/** Columns that a text search adds. */
export interface Score {
  /** BM25 score; the best row comes first. */
  _score: number;
  /** Matching ranges; only with `highlight: true`. */
  _highlights?: readonly Highlight[];
}

/** Column that a vector search adds. */
export interface Distance {
  /** Distance from the query vector. */
  _distance: number;
}

/** Column that a hybrid search adds. */
export interface Relevance {
  /** Relevance; the most relevant row comes first. */
  _relevance_score: number;
}

/** Columns that a hybrid search adds. */
export interface Hybrid extends Relevance, Pick<Score, "_highlights"> {
  /** Distance from the query vector. Null if only the text search found the row. */
  _distance: number | null;
  /** BM25 score. Null if only the vector search found the row. */
  _score: number | null;
}

/** Columns that a search adds: those of a hybrid search if an earlier search is of the other kind. */
export type Searched<Earlier, Added extends keyof Hybrid, Alone> = Earlier extends {
  [Each in Added]: unknown;
}
  ? Hybrid
  : Alone;

/** Row with the columns of a search, which replace those of an earlier search. */
export type WithSearch<Row, Columns> = Columns extends Hybrid
  ? Omit<Row, keyof Hybrid> & Columns
  : Row & Columns;

/** Row of a search: the selected columns, and those that its kind of search adds. */
export type FoundRowOf<Row, Vector, Text, Query> = [IsGiven<Vector>, IsGiven<Text | Query>] extends [
  "no",
  "no",
]
  ? Row
  : [IsGiven<Vector>, IsGiven<Text>, IsGiven<Query>] extends ["no", infer First, infer Second]
    ? "yes" extends First | Second
      ? { [Name in keyof (Row & Score)]: (Row & Score)[Name] }
      : { [Name in keyof (Row & Partial<Score>)]: (Row & Partial<Score>)[Name] }
    : [IsGiven<Vector>, IsGiven<Text | Query>] extends ["yes", "no"]
      ? { [Name in keyof (Row & Distance)]: (Row & Distance)[Name] }
      : [IsGiven<Vector>, IsGiven<Text | Query>] extends ["maybe", "no"]
        ? { [Name in keyof (Row & Partial<Distance>)]: (Row & Partial<Distance>)[Name] }
        : { [Name in keyof HybridRow<Row>]: HybridRow<Row>[Name] };
type HybridRow<Row> = Omit<Row, keyof Hybrid> & Hybrid;
/** Tells if an option is given: always, never, or only if it is not undefined. */
type IsGiven<Option> = [Option] extends [undefined] ? "no" : undefined extends Option ? "maybe" : "yes";

// ------------------------------------------------------------------------------------------ rows in

/**
 * A row to insert. A value may have another form than the one that is read, because the column's type
 * decides what it means. Examples: a number for a 64-bit integer, ISO text for a date, an array for a vector.
 * Members that may be null may be absent.
 */
export type InputRow<Row> = IfUnknown<
  Row,
  RowObject,
  { readonly [Name in keyof Row as IsAbsentable<Row[Name], never, Name>]: InputValue<Row[Name]> } & {
    readonly [Name in keyof Row as IsAbsentable<Row[Name], Name, never>]?: InputValue<Row[Name]> | null;
  }
>;
type IsAbsentable<Value, Yes, No> = undefined extends Value ? Yes : null extends Value ? Yes : No;

/** Values that may be given for a value of a type. */
type InputValue<Value> = Value extends bigint
  ? bigint | number | string
  : Value extends number
    ? number | bigint
    : Value extends Date
      ? Date | string | number
      : Value extends Uint8Array
        ? Uint8Array | ArrayLike<number> | ArrayBuffer | string
        : Value extends ArrayBufferView
          ? ArrayLike<number> | ArrayLike<bigint>
          : Value extends ReadonlyMap<infer Key, infer Item>
            ? ReadonlyMap<Key, InputValue<Item>>
            : Value extends readonly (infer Item)[]
              ? ArrayLike<InputValue<Item>>
              : Value extends object
                ? InputRow<Value>
                : Value;

/** New values of columns by name. */
export type InputValues<Row> = IfUnknown<
  Row,
  Readonly<Record<string, unknown>>,
  { readonly [Name in keyof Row]?: InputValue<Row[Name]> | null }
>;
