/** pylance beside us on one directory. */

import { join } from "node:path";
import { Table as ArrowTable, type Table } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { compareTables } from "../../support/compareTables.js";
import { makeTempDir } from "../../support/tempDir.js";
import { Python } from "./python.js";

/** A release of each major version. */
export const MAJORS = [9, 10, 11, 12, 13, 14] as const;

/** Type of a test's note on what pylance gets wrong on a table of its own as well. */
export const ITS_OWN_FAULT = "its own fault";

/** One directory that is open in both engines. */
export class PylancePair implements AsyncDisposable {
  readonly root: string;
  readonly namespace: DirectoryNamespace;
  readonly python: Python;
  #tables = 0;

  private constructor(root: string, namespace: DirectoryNamespace, python: Python) {
    this.root = root;
    this.namespace = namespace;
    this.python = python;
  }

  static async open(major: number, options: object = {}): Promise<PylancePair> {
    const [root, python] = await Promise.all([
      makeTempDir(),
      Python.start(`pylance${major}`, "pylance_tables"),
    ]);
    return new PylancePair(root, new DirectoryNamespace({ root, durability: "none", ...options }), python);
  }

  freshName(): string {
    return `t${this.#tables++}`;
  }

  pathOf(name: string): string {
    return join(this.root, `${name}.lance`);
  }

  /** Calls a function of `pylance_tables.py` about a table. */
  there<Result = unknown>(call: string, name: string, ...args: readonly unknown[]): Promise<Result> {
    return this.python.call<Result>(call, this.pathOf(name), ...args);
  }

  rowsHere(name: string, options: object = {}): Promise<Table> {
    return this.namespace.table([name]).scan(options).toArrow();
  }

  rowsThere(name: string, query: object = {}): Promise<Table> {
    return this.there<Table>("rows", name, query);
  }

  /** Both engines see these rows, in this order. */
  async expectRows(name: string, rows: Table): Promise<void> {
    compareTables(rows, await this.rowsHere(name), { metadata: false });
    compareTables(rows, await this.rowsThere(name), { metadata: false });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.namespace.close();
    await this.python[Symbol.asyncDispose]();
  }
}

/** Rows in the order of a column of integers. */
export function sortedBy(column: string, rows: Table): Table {
  const keys = Array.from(rows.getChild(column) ?? [], Number);
  const order = [...keys.keys()].sort((one, other) => keys[one] - keys[other]);
  const slices = order.map((row) => rows.slice(row, row + 1));
  return slices.length === 0 ? rows : new ArrowTable(slices.flatMap(({ batches }) => batches));
}
