/** Types of rows, as far as the compiler knows them. Types only. */

import type { ColumnSelection } from "../namespace/queries.js";

/** A row of unknown type: values by column name. */
export type AnyRow = Record<string, unknown>;

/** 64-bit integer columns that every row has besides those of its table. */
type SystemColumnName =
  | "_rowid"
  | "_rowaddr"
  | "_rowoffset"
  | "_row_created_at_version"
  | "_row_last_updated_at_version";

/** Type of the value under a name or a path. */
type ValueUnder<Row, Name> = Name extends keyof Row
  ? Row[Name]
  : Name extends SystemColumnName
    ? bigint
    : unknown;

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
  : [Columns] extends [readonly (infer Name)[]]
    ? RowOf<Row, Name>
    : [Columns] extends [AliasedOnly<infer Aliases>]
      ? { -readonly [Name in keyof Aliases]: ValueUnder<Row, Aliases[Name]> }
      : AnyRow;

/** Columns of a query. Undefined: all columns of the table. */
export type Selectable = ColumnSelection | undefined;
