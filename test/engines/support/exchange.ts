/** Round trips of rows between us and pylance. A fault is its own if a table of its own has it, too. */

import type { Table } from "apache-arrow";
import { type CompareOptions, compareTables } from "../../support/compareTables.js";
import type { FileVersion } from "../../support/interop.js";
import type { PylancePair } from "./pylance.js";
import { PythonError } from "./python.js";

/** Faults of pylance, by names of columns. */
export type Faults = Map<string, string>;

const firstLine = (failure: unknown): string =>
  (failure instanceof Error ? failure.message : String(failure))
    .split("\n", 1)[0]
    .replace(/, \S+\.rs:.*/, "");

export class Exchange {
  readonly #pair: PylancePair;
  readonly #version: FileVersion;
  readonly #compared: CompareOptions;

  constructor(pair: PylancePair, version: FileVersion, compared: CompareOptions = { metadata: false }) {
    this.#pair = pair;
    this.#version = version;
    this.#compared = compared;
  }

  /**
   * We write, and both read.
   * @throws Error if we read other rows, or if pylance does that reads its own table of them
   */
  columnsWrittenHere(rows: Table): Promise<Faults> {
    return this.#byColumn(rows, async (some) => {
      const name = this.#pair.freshName();
      await this.#pair.namespaces[this.#version].createTable({ id: [name] }, some);
      this.#compare(some, await this.#pair.rowsHere(name));
      const fault = await this.#faultOfReading(name, some);
      if (fault === null) return null;
      const control = await this.#written(some);
      const controlFault =
        "fault" in control ? control.fault : await this.#faultOfReading(control.name, some);
      if (controlFault === null) throw new Error(`pylance, of our table: ${fault}`);
      return controlFault;
    });
  }

  /**
   * pylance writes, and both read.
   * @throws Error if we read other rows
   */
  columnsWrittenThere(rows: Table): Promise<Faults> {
    return this.#byColumn(rows, async (some) => {
      const written = await this.#written(some);
      if ("fault" in written) return written.fault;
      this.#compare(some, await this.#pair.rowsHere(written.name));
      return this.#faultOfReading(written.name, some);
    });
  }

  /** All columns in one table; if that fails, each in its own. */
  async #byColumn(rows: Table, exchange: (some: Table) => Promise<string | null>): Promise<Faults> {
    const faults: Faults = new Map();
    const outcome = await exchange(rows).catch((failure: unknown) => failure as Error);
    if (outcome === null) return faults;
    for (const { name, type } of rows.schema.fields) {
      try {
        const fault = await exchange(rows.select([name]));
        if (fault !== null) faults.set(name, fault);
      } catch (cause) {
        throw new Error(`column ${name} (${type}), data files ${this.#version}: ${firstLine(cause)}`, {
          cause,
        });
      }
    }
    if (faults.size > 0) return faults;
    if (outcome instanceof Error) {
      throw new Error(`right one by one, and wrong together: ${firstLine(outcome)}`, { cause: outcome });
    }
    return new Map([["all columns together", outcome]]);
  }

  #compare(expected: Table, actual: Table): void {
    compareTables(expected, actual, this.#compared);
  }

  async #written(rows: Table): Promise<{ readonly name: string } | { readonly fault: string }> {
    const name = this.#pair.freshName();
    try {
      await this.#pair.there("write", name, rows, { data_storage_version: this.#version });
      return { name };
    } catch (failure) {
      if (!(failure instanceof PythonError)) throw failure;
      return { fault: `cannot write: ${firstLine(failure)}` };
    }
  }

  async #faultOfReading(name: string, rows: Table): Promise<string | null> {
    try {
      this.#compare(rows, await this.#pair.rowsThere(name));
      return null;
    } catch (failure) {
      return `cannot read: ${firstLine(failure)}`;
    }
  }
}
