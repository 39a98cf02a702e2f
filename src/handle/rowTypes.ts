/** Types of rows, as far as they are known when a program is compiled. Types only. */

import type { ColumnSelection } from "../namespace/queries.js";

/** A row of which nothing is known: values by the names of columns. */
export type AnyRow = Record<string, unknown>;

/** The columns that every row has besides those of its table; integers of 64 bits. */
type SystemColumnName =
  | "_rowid"
  | "_rowaddr"
  | "_rowoffset"
  | "_row_created_at_version"
  | "_row_last_updated_at_version";

/** The value that a row has under a name or a path. */
type ValueUnder<Row, Name> = Name extends keyof Row
  ? Row[Name]
  : Name extends SystemColumnName
    ? bigint
    : unknown;

/** Rows of named columns, as far as the names are known. */
type RowOf<Row, Name> = [Name] extends [string]
  ? string extends Name
    ? AnyRow
    : "*" extends Name
      ? Row & { [Each in Exclude<Name, "*">]: ValueUnder<Row, Each> }
      : { [Each in Name]: ValueUnder<Row, Each> }
  : AnyRow;

/** Rows of a query: those of the table, or of the columns that are selected where these are literals. */
export type SelectedRow<Row, Columns> = [Columns] extends [undefined]
  ? Row
  : [Columns] extends [readonly (infer Name)[]]
    ? RowOf<Row, Name>
    : [Columns] extends [
          {
            /** The columns by the names that they get. */
            readonly columnAliases: infer Aliases;
            /** Absent beside `columnAliases`. */
            readonly columnNames?: undefined;
          },
        ]
      ? { -readonly [Name in keyof Aliases]: ValueUnder<Row, Aliases[Name]> }
      : AnyRow;

/** Columns of a query, or none: then it has those of the table. */
export type Selectable = ColumnSelection | undefined;
