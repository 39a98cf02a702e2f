/** Collects the columns that a query reads, each once, and says where each comes from. Pure. */

import { typeInText } from "../../arrow/types/type.js";
import { TableColumnNotFoundError, UnsupportedError } from "../../errors.js";
import type { TypedField } from "../../expression/values/types.js";
import { formatFieldPath } from "../../ident.js";
import { nearestHint } from "../../nearestName.js";
import { type FieldChain, type LeafPlan, planLeaves } from "../../rows/leafPlan.js";
import { fieldFinder } from "../../schema/fieldPaths.js";
import type { TableField } from "../../schema/schema.js";
import type { FoundColumn } from "./foundColumns.js";
import { SYSTEM_FIELDS, type SystemColumn, systemColumn } from "./systemColumns.js";

/** Where a column comes from: from what is read, as one of its outputs, from the places of the rows, or from a search. */
export type ColumnSource =
  | { readonly kind: "stored"; readonly output: number }
  | { readonly kind: "system"; readonly which: SystemColumn }
  /** Counted from the addresses, which are the last column, backwards. */
  | { readonly kind: "found"; readonly column: FoundColumn; readonly beforeAddresses: number };

/** What is read of each row. */
export interface RowsPlan extends LeafPlan {
  /** Whether the addresses of rows follow the outputs. */
  readonly withAddresses: boolean;
  /** The outputs that make up the bytes of a batch; one that is used twice counts twice. Default: each once. */
  readonly measured?: readonly number[];
}

export class ColumnReads {
  readonly #fields: readonly TableField[];
  readonly #find = fieldFinder();
  readonly #chains: FieldChain[] = [];
  readonly #outputs = new Map<string, number>();
  /** Columns that the search adds to each row, after the outputs and before the addresses. */
  readonly found: readonly FoundColumn[];

  constructor(fields: readonly TableField[], found: readonly FoundColumn[] = []) {
    this.#fields = fields;
    this.found = found;
  }

  /** What expressions may name. */
  get bindable(): readonly TypedField[] {
    return [...this.#fields, ...SYSTEM_FIELDS, ...this.found];
  }

  /** The names of columns that are none of the system's. */
  get named(): readonly { readonly name: string }[] {
    return this.found.length === 0 ? this.#fields : [...this.#fields, ...this.found];
  }

  /**
   * The source of the column at an exact path. A column of the table comes before any other column of its name.
   * @throws TableColumnNotFoundError; UnsupportedError for a part of what is no struct
   */
  source(segments: readonly string[]): ColumnSource {
    const which = segments.length === 1 ? systemColumn(segments[0]) : undefined;
    if (which !== undefined && this.#find(this.#fields, which) === undefined)
      return { kind: "system", which };
    const place = segments.length === 1 ? this.found.findIndex(({ name }) => name === segments[0]) : -1;
    if (place >= 0 && this.#find(this.#fields, segments[0]) === undefined) {
      return { kind: "found", column: this.found[place], beforeAddresses: this.found.length - place };
    }
    return { kind: "stored", output: this.#output(this.chain(segments)) };
  }

  /** The fields that an exact path names, from the top-level column down; the source is not read yet. */
  chain(segments: readonly string[]): FieldChain {
    const path = formatFieldPath(segments);
    const chain: TableField[] = [];
    for (const segment of segments) {
      const parent = chain.at(-1);
      const siblings = parent?.children ?? this.#fields;
      const field = this.#find(siblings, segment);
      if (field === undefined) {
        const near = nearestHint(
          segment,
          (parent === undefined ? this.named : siblings).map(({ name }) => name),
        );
        // What is computed has no name of its own.
        const computed =
          near === "" && /[()+*/]/.test(segment)
            ? "; { columnAliases: { name: expression } } computes one"
            : "";
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
   * The plan to read what was asked for so far. Outputs asked for later come after it.
   * @throws UnsupportedError for a column of a type this build does not read
   */
  plan(): LeafPlan {
    return planLeaves(this.#chains);
  }
}
