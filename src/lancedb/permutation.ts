/** Permutations of a table: its rows in another order, in splits, as a table of row ids. */

import type { Table } from "./abstractTable.js";
import { connect } from "./connect.js";
import type { Connection } from "./connection.js";
import { failure } from "./failures.js";
import { type PermutationPlan, permutedRows } from "./permutations/assignment.js";
import { requireOneSize, type SizeOptions } from "./permutations/splits.js";
import { readerOf } from "./queriedTable.js";
import { textOf } from "./queries/numbers.js";
import type {
  ShuffleOptions,
  SplitCalculatedOptions,
  SplitHashOptions,
  SplitRandomOptions,
  SplitSequentialOptions,
} from "./splitOptions.js";
import type { TableReader } from "./tableReader.js";

/** Name of a permutation that is not kept. */
const NAME = "permutation";

/** Settings that a builder and those made of it share. */
interface PermutationState extends PermutationPlan {
  readonly reader: TableReader;
  readonly target: { readonly connection: Connection; readonly tableName: string } | null;
  readonly isConsumed: boolean;
}

/** Builds a permutation. Methods change the settings and return a builder with them. */
export class PermutationBuilder {
  private readonly inner: { -readonly [Name in keyof PermutationState]: PermutationState[Name] };

  /** @hidden */
  constructor(inner: PermutationState) {
    this.inner = inner;
  }

  /** Keeps the permutation as a table. Without this, it is in memory. */
  persist(connection: Connection, tableName: string): PermutationBuilder {
    if (typeof connection?.createTable !== "function") throw failure("persist: a connection is required");
    return this.#set({ target: { connection, tableName: textOf(tableName, "tableName") } });
  }

  /** Assigns rows to splits at random. Sizes are shares, numbers of rows, or a number of equal splits. */
  splitRandom(options: SplitRandomOptions): PermutationBuilder {
    const { seed, clumpSize, splitNames } = options;
    const split = { kind: "random", sizes: checkedSizes(options), draw: { seed, clumpSize } } as const;
    return this.#set({ split, splitNames: splitNames ?? null });
  }

  /**
   * Assigns rows to splits by hashes of columns, so that rows with equal values share a split. The hash is
   * not that of LanceDB.
   */
  splitHash(options: SplitHashOptions): PermutationBuilder {
    const { columns, splitWeights, splitNames } = options;
    if (!Array.isArray(columns)) throw failure("Missing field `columns`");
    if (!Array.isArray(splitWeights)) throw failure("Missing field `splitWeights`");
    return this.#set({ split: { kind: "hash", options }, splitNames: splitNames ?? null });
  }

  /** Assigns rows to splits in the order of the table. */
  splitSequential(options: SplitSequentialOptions): PermutationBuilder {
    const split = { kind: "sequential", sizes: checkedSizes(options) } as const;
    return this.#set({ split, splitNames: options.splitNames ?? null });
  }

  /** Assigns rows to splits by an SQL expression. */
  splitCalculated(options: SplitCalculatedOptions): PermutationBuilder {
    const { calculation, splitNames } = options;
    if (typeof calculation !== "string") throw failure("Missing field `calculation`");
    return this.#set({ split: { kind: "calculated", calculation }, splitNames: splitNames ?? null });
  }

  /**
   * Puts the rows of each split in a random order. Equal seeds give equal orders, but not those of LanceDB.
   */
  shuffle(options: ShuffleOptions): PermutationBuilder {
    return this.#set({ shuffle: { ...options } });
  }

  /** Takes only the rows for which a condition in SQL holds. */
  filter(filter: string): PermutationBuilder {
    return this.#set({ filter: textOf(filter, "filter") });
  }

  /** Makes the permutation and returns its table, which has the columns `row_id` and `split_id`. */
  async execute(): Promise<Table> {
    this.#requireUnconsumed();
    this.inner.isConsumed = true;
    const { reader, target, split } = this.inner;
    if (split.kind === "hash") {
      const { columns, splitWeights } = split.options;
      if (columns.length === 0) throw failure("Invalid input, Hash strategy requires at least one column");
      if (splitWeights.length === 0) {
        throw failure("Invalid input, Hash strategy requires at least one split weight");
      }
    }
    const snapshot = await reader.snapshot();
    const version = await snapshot.read(async (namespace, shown) => {
      return shown.version ?? (await namespace.describeTable(shown)).version ?? 0;
    });
    const rows = await permutedRows(snapshot, version, this.inner);
    const connection = target?.connection ?? (await connect("memory://"));
    return connection.createTable(target?.tableName ?? NAME, rows);
  }

  #set(settings: Partial<PermutationState>): PermutationBuilder {
    this.#requireUnconsumed();
    Object.assign(this.inner, settings);
    return new PermutationBuilder(this.inner);
  }

  #requireUnconsumed(): void {
    if (this.inner.isConsumed) throw failure("Builder already consumed");
  }
}

function checkedSizes(options: SizeOptions): SizeOptions {
  requireOneSize(options);
  const { ratios, counts, fixed } = options;
  return { ratios, counts, fixed };
}

/** Begins a permutation of the version that a table shows. */
export function permutationBuilder(table: Table): PermutationBuilder {
  return new PermutationBuilder({
    reader: readerOf(table),
    target: null,
    isConsumed: false,
    split: { kind: "none" },
    splitNames: null,
    shuffle: null,
    filter: null,
  });
}
