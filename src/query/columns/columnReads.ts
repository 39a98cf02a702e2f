/** Collects the columns that a query reads, each once, and says where each one comes from. Pure. */

import { fieldNamed } from "../../arrow/types/fieldNamed.js";
import { typeInText } from "../../arrow/types/type.js";
import { TableColumnNotFoundError, UnsupportedError } from "../../errors.js";
import { AGGREGATES } from "../../expression/parse/aggregateNames.js";
import type { TypedField } from "../../expression/values/types.js";
import { formatFieldPath } from "../../ident.js";
import { nearestHint } from "../../nearestName.js";
import { type FieldChain, type LeafPlan, planLeaves } from "../../rows/leafPlan.js";
import type { TableField } from "../../schema/schema.js";
import type { FoundColumn } from "./foundColumns.js";
import { SYSTEM_FIELDS, type SystemColumn, systemColumn } from "./systemColumns.js";

/** The source of a column: an output of the read, the addresses of the rows, or a search. */
export type ColumnSource =
  | { readonly kind: "stored"; readonly output: number }
  | { readonly kind: "system"; readonly which: SystemColumn }
  /** Index counted backwards from the addresses, which are the last column. */
  | { readonly kind: "found"; readonly column: FoundColumn; readonly beforeAddresses: number };

/** The columns that are read for each row. */
export interface RowsPlan extends LeafPlan {
  /** True if the addresses of rows follow the outputs. */
  readonly withAddresses: boolean;
  /** Outputs that count toward the bytes of a batch, twice if used twice. Default: each once. */
  readonly measured?: readonly number[];
}

/** The columns that expressions may name, by the columns of their table. Each filter needs them. */
const bindableOfTables = new WeakMap<readonly TableField[], readonly TypedField[]>();

export class ColumnReads {
  readonly #fields: readonly TableField[];
  readonly #chains: FieldChain[] = [];
  readonly #outputs = new Map<string, number>();
  /** Columns that the search adds to each row. They lie between the outputs and the addresses. */
  readonly searchColumns: readonly FoundColumn[];

  constructor(fields: readonly TableField[], searchColumns: readonly FoundColumn[] = []) {
    this.#fields = fields;
    this.searchColumns = searchColumns;
  }

  /** The columns that expressions may name. */
  get bindable(): readonly TypedField[] {
    if (this.searchColumns.length > 0) return [...this.named, ...this.#unshared(SYSTEM_FIELDS)];
    let bindable = bindableOfTables.get(this.#fields);
    if (bindable === undefined) {
      bindable = [...this.#fields, ...this.#unshared(SYSTEM_FIELDS)];
      bindableOfTables.set(this.#fields, bindable);
    }
    return bindable;
  }

  /** The columns that a name may mean, without system columns. */
  get named(): readonly TypedField[] {
    return this.searchColumns.length === 0
      ? this.#fields
      : [...this.#fields, ...this.#unshared(this.searchColumns)];
  }

  /** Returns the columns whose name no column of the table has. */
  #unshared<Each extends TypedField>(columns: readonly Each[]): readonly Each[] {
    return columns.filter(({ name }) => fieldNamed(this.#fields, name) === undefined);
  }

  /**
   * The source of the column at an exact path. A column of the table hides any other column of its name.
   * @throws TableColumnNotFoundError; UnsupportedError for a part of a value that is not a struct
   */
  source(segments: readonly string[]): ColumnSource {
    const [name] = segments;
    if (segments.length === 1 && fieldNamed(this.#fields, name) === undefined) {
      const which = systemColumn(name);
      if (which !== undefined) return { kind: "system", which };
      const column = this.searchColumns.find((each) => each.name === name);
      if (column !== undefined) return this.foundSource(column);
    }
    return { kind: "stored", output: this.#output(this.chain(segments)) };
  }

  /** The source of a column that the search adds, even if the table has a column of its name. */
  foundSource(column: FoundColumn): ColumnSource {
    const beforeAddresses = this.searchColumns.length - this.searchColumns.indexOf(column);
    return { kind: "found", column, beforeAddresses };
  }

  /** Names of the columns that the search adds and that the table has too. */
  get sharedNames(): readonly string[] {
    const unshared = this.#unshared(this.searchColumns);
    return this.searchColumns.filter((column) => !unshared.includes(column)).map(({ name }) => name);
  }

  /** The fields along an exact path, from the top-level column down. Does not add the column to the plan. */
  chain(segments: readonly string[]): FieldChain {
    const path = formatFieldPath(segments);
    const chain: TableField[] = [];
    for (const segment of segments) {
      const parent = chain.at(-1);
      const siblings = parent?.children ?? this.#fields;
      const field = fieldNamed(siblings, segment);
      if (field === undefined) {
        const near = nearestHint(
          segment,
          (parent === undefined ? this.named : siblings).map(({ name }) => name),
          (name) => formatFieldPath([...segments.slice(0, chain.length), name]),
        );
        // A name with an operator may be an expression, which belongs in `columnAliases`.
        const computed =
          near !== "" || !/[()+*/]/.test(segment)
            ? ""
            : AGGREGATES.has(segment.slice(0, segment.indexOf("(")).trim().toLowerCase())
              ? "; table.aggregate({ values: { name: expression } }) computes one of many rows"
              : "; { columnAliases: { name: expression } } computes one";
        throw new TableColumnNotFoundError(`column ${path} is not in the table's schema${near}${computed}`);
      }
      if (parent !== undefined && parent.type.kind !== "struct") {
        throw new UnsupportedError(
          `column ${path}: reading parts of a ${typeInText(parent.type)} is not supported by this release`,
        );
      }
      chain.push(field);
    }
    return chain;
  }

  #output(chain: FieldChain): number {
    const key = formatFieldPath(chain.map(({ name }) => name));
    let output = this.#outputs.get(key);
    if (output === undefined) {
      output = this.#chains.push(chain) - 1;
      this.#outputs.set(key, output);
    }
    return output;
  }

  /**
   * The plan that reads the columns requested so far. Later requests append their outputs to it.
   * @throws UnsupportedError for a column of a type this build does not read
   */
  plan(): LeafPlan {
    return planLeaves(this.#chains);
  }
}
