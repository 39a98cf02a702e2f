/** pylance beside us on one directory. */

import { join } from "node:path";
import type { Table } from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll } from "vitest";
import { compareTables } from "../../support/compareTables.js";
import { closeAll, namespacesOf } from "../../support/interop.js";
import { makeTempDir } from "../../support/tempDir.js";
import { Python } from "./python.js";

/** A release of each major version. */
export const MAJORS = [9, 10, 11, 12, 13, 14] as const;

/** Type of a test's note on what pylance gets wrong on a table of its own as well. */
export const ITS_OWN_FAULT = "its own fault";

/** Everything that a pair has open. */
interface OpenPair {
  readonly root: string;
  readonly namespace: DirectoryNamespace;
  readonly namespaces: ReturnType<typeof namespacesOf>;
  readonly python: Python;
}

export function openPair(major: number): PylancePair {
  const pair = new PylancePair(major);
  beforeAll(() => pair.open());
  afterAll(() => pair.close());
  return pair;
}

/** One directory that is open in both engines. */
export class PylancePair {
  readonly #major: number;
  #opened: OpenPair | null = null;
  #tables = 0;

  constructor(major: number) {
    this.#major = major;
  }

  async open(): Promise<void> {
    const [root, python] = await Promise.all([
      makeTempDir(),
      Python.start(`pylance${this.#major}`, "pylance_tables"),
    ]);
    const namespace = new DirectoryNamespace({ root, durability: "none" });
    this.#opened = { root, namespace, namespaces: namespacesOf(root), python };
  }

  async close(): Promise<void> {
    if (this.#opened === null) return;
    const { namespace, namespaces, python } = this.#opened;
    await namespace.close();
    await closeAll(namespaces);
    await python[Symbol.asyncDispose]();
  }

  get #pair(): OpenPair {
    if (this.#opened === null) throw new Error("the pair is not open");
    return this.#opened;
  }

  get root(): string {
    return this.#pair.root;
  }

  get namespace(): DirectoryNamespace {
    return this.#pair.namespace;
  }

  /** Namespaces that make tables in one version of data files each. */
  get namespaces(): OpenPair["namespaces"] {
    return this.#pair.namespaces;
  }

  freshName(): string {
    return `t${this.#tables++}`;
  }

  pathOf(name: string): string {
    return join(this.root, `${name}.lance`);
  }

  there<Result = unknown>(call: string, name: string, ...args: readonly unknown[]): Promise<Result> {
    return this.#pair.python.call<Result>(call, this.pathOf(name), ...args);
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
}
