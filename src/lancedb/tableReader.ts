/**
 * The seam between a table handle and everything that reads through it: queries, rerankers, permutations.
 * A handle of LanceDB shows one version until it is refreshed, so each read asks the handle first.
 *
 * `Table` constructs `new Query(reader)`, `new TakeQuery(reader, { offsets } | { rowIds })`, and
 * `searchTable(reader, query, queryType, ftsColumns)` of `query.ts`.
 */

import type { Schema } from "apache-arrow";
import type { DirectoryNamespace } from "../DirectoryNamespace.js";
import type { OperationName } from "../operationTable.js";

/** The methods of a namespace that the drop-in calls, in this process or over HTTP. */
export type NamespaceCalls = Pick<DirectoryNamespace, OperationName | "close">;

/** Members of a request that name the version of a table that a handle shows. */
export interface ShownVersion {
  /** Path of the table: its namespaces, then its name. */
  readonly id: readonly string[];
  /** Branch of the handle. Absent: main. */
  readonly branch?: string;
  /** Version that the handle shows. Absent: the latest, for handles that refresh with every read. */
  readonly version?: number;
}

/** Reads of one table handle. */
export interface TableReader {
  /** Name of the table. */
  readonly name: string;
  /**
   * Runs a read of the version that the handle shows, which it refreshes first if its read consistency
   * interval has passed. Errors of the engine get the sentences of LanceDB.
   *
   *     reader.read((namespace, shown) => namespace.queryTable({ ...shown, limit: 10 }));
   *
   * @throws Error if the table is closed
   */
  read<Answer>(call: (namespace: NamespaceCalls, shown: ShownVersion) => Promise<Answer>): Promise<Answer>;
  /** Returns the error that a LanceDB user expects for an error of the engine, for failures after `read`. */
  translate(error: unknown): Error;
  /** Returns the Arrow schema of the version that the handle shows, with the metadata of the table. */
  schema(): Promise<Schema>;
  /** Returns a reader that stays at the version that the handle shows now. */
  snapshot(): Promise<TableReader>;
}
