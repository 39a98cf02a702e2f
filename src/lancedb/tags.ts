/** Tags of a table. */

import { TagContents } from "./native.js";
import type { TableState } from "./tableState.js";

/** Tags of a table: names of versions. */
export class Tags {
  readonly #table: TableState;

  /** Makes the tags of a table. Programs get theirs from `Table.tags`. */
  constructor(table: TableState) {
    this.#table = table;
  }

  /** Lists the tags by name. */
  async list(): Promise<Record<string, TagContents>> {
    const { tags } = await this.#table.ask((namespace, { id }) => namespace.listTableTags({ id }));
    return Object.fromEntries(
      Object.entries(tags).map(([name, { version, manifestSize }]) => [
        name,
        new TagContents(version, manifestSize),
      ]),
    );
  }

  /** Returns the version that a tag names. */
  async getVersion(tag: string): Promise<number> {
    const { version } = await this.#table.ask((namespace, { id }) =>
      namespace.getTableTagVersion({ id, tag }),
    );
    return version;
  }

  /** Creates a tag of a version. */
  async create(tag: string, version: number): Promise<void> {
    await this.#table.ask((namespace, table) => namespace.createTableTag({ ...table, tag, version }));
  }

  /** Deletes a tag. */
  async delete(tag: string): Promise<void> {
    await this.#table.ask((namespace, { id }) => namespace.deleteTableTag({ id, tag }));
  }

  /** Lets a tag name another version. */
  async update(tag: string, version: number): Promise<void> {
    await this.#table.ask((namespace, table) => namespace.updateTableTag({ ...table, tag, version }));
  }
}
