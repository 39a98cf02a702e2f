/** A client in Python of our REST server, and our engine on the same directory. */

import { type Table, Utf8 } from "apache-arrow";
import { expect } from "vitest";
import { compareTables } from "../../support/compareTables.js";
import { makeTempDir } from "../../support/tempDir.js";
import { type Handler, startHandler } from "./handler.js";
import { Python } from "./python.js";
import { numbersFrom, rowsOf, sortedBy, VECTORS } from "./rows.js";
import { ServedDirectory } from "./served.js";

export const ROWS = 300;

/** Rows with ids from `first` on. */
export const rowsFrom = (first: number, count = ROWS): Table =>
  rowsOf(numbersFrom(first, count), {
    s: [new Utf8(), (id) => (id % 5 === 0 ? null : `text ${id % 13} row${id}`)],
    v: VECTORS,
  });

export class RestPair extends ServedDirectory {
  readonly python: Python;

  private constructor(root: string, handler: Handler, python: Python) {
    super(root, handler);
    this.python = python;
  }

  static async open(environment: string, managedVersioning: boolean): Promise<RestPair> {
    const root = await makeTempDir();
    const [python, handler] = await Promise.all([
      Python.start(environment, "rest_clients"),
      startHandler(root, { managedVersioning }),
    ]);
    return new RestPair(root, handler, python);
  }

  freshId(): string[] {
    return [this.freshName()];
  }

  call<Result = unknown>(name: string, ...args: readonly unknown[]): Promise<Result> {
    return this.python.call<Result>(name, ...args);
  }

  /** @param point a version or tag; without one the latest version */
  rowsHere(id: readonly string[], point: object = {}, options: object = {}): Promise<Table> {
    return this.namespace
      .table([...id], point)
      .scan(options)
      .toArrow();
  }

  /** Python reads the rows of a table that we read. */
  async expectEqual(
    id: readonly string[],
    theirs: Promise<Table>,
    point: object = {},
    options: object = {},
  ): Promise<void> {
    const ours = await this.rowsHere(id, point, options);
    expect(ours.numRows).toBeGreaterThan(0);
    compareTables(sortedBy("id", ours), sortedBy("id", await theirs), { metadata: false });
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.python[Symbol.asyncDispose]();
    await super[Symbol.asyncDispose]();
  }
}
