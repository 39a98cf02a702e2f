/** A REST server of ours, a client in Python, and our engine on one directory. */

import {
  Table as ArrowTable,
  Field,
  FixedSizeList,
  Float32,
  Int64,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { expect } from "vitest";
import { compareTables } from "../../support/compareTables.js";
import { makeTempDir } from "../../support/tempDir.js";
import { type Handler, startHandler } from "./handler.js";
import { sortedBy } from "./pylance.js";
import { Python } from "./python.js";

export const ROWS = 300;
const VECTORS = new FixedSizeList(4, new Field("item", new Float32(), true));

/** Rows with ids from `first` on. */
export function rowsFrom(first: number, count = ROWS): ArrowTable {
  const ids = Array.from({ length: count }, (_, index) => first + index);
  const texts = ids.map((id) => (id % 5 === 0 ? null : `text ${id % 13} row${id}`));
  return new ArrowTable({
    id: vectorFromArray(ids.map(BigInt), new Int64()),
    s: vectorFromArray(texts, new Utf8()),
    v: vectorFromArray(
      ids.map((id) => [id, id % 10, (id * 7) % 31, 1]),
      VECTORS,
    ),
  });
}

/** A server, a client in Python and our engine on one directory. */
export class RestPair implements AsyncDisposable {
  readonly namespace: DirectoryNamespace;
  readonly python: Python;
  readonly handler: Handler;
  #tables = 0;

  private constructor(namespace: DirectoryNamespace, python: Python, handler: Handler) {
    this.namespace = namespace;
    this.python = python;
    this.handler = handler;
  }

  static async open(environment: string, managedVersioning: boolean): Promise<RestPair> {
    const root = await makeTempDir();
    const [python, handler] = await Promise.all([
      Python.start(environment, "rest_clients"),
      startHandler(root, { managedVersioning }),
    ]);
    return new RestPair(new DirectoryNamespace({ root, durability: "none" }), python, handler);
  }

  freshId(): string[] {
    return [`t${this.#tables++}`];
  }

  call<Result = unknown>(name: string, ...args: readonly unknown[]): Promise<Result> {
    return this.python.call<Result>(name, ...args);
  }

  /** @param target a version or tag; absent: the latest version */
  rowsHere(id: readonly string[], target: object = {}, options: object = {}): Promise<ArrowTable> {
    return this.namespace
      .table([...id], target)
      .scan(options)
      .toArrow();
  }

  /** What Python reads of a table is what we read. */
  async expectEqual(
    id: readonly string[],
    theirs: Promise<ArrowTable>,
    target: object = {},
    options: object = {},
  ): Promise<void> {
    const ours = await this.rowsHere(id, target, options);
    expect(ours.numRows).toBeGreaterThan(0);
    compareTables(sortedBy("id", ours), sortedBy("id", await theirs), { metadata: false });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.namespace.close();
    await this.python[Symbol.asyncDispose]();
    await this.handler[Symbol.asyncDispose]();
  }
}

/** Ids of rows, in their order. */
export const idsOf = (rows: ArrowTable): number[] => Array.from(rows.getChild("id") ?? [], Number);

export const sorted = (ids: readonly number[]): number[] => [...ids].sort((one, two) => one - two);
