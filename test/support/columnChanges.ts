/** Changes of columns by us and by the reference on two equal tables, and the comparison of the results. */

import { join } from "node:path";
import * as arrow from "apache-arrow";
import type { DirectoryNamespace } from "tiltyard";
import { expect } from "vitest";
import type { Manifest } from "../../src/format/table.js";
import { NodeDisk } from "../../src/io/disk/nodeDisk.js";
import type {
  AlterTableAddColumnsRequest,
  AlterTableAlterColumnsRequest,
} from "../../src/namespace/schema.js";
import { branchRoot } from "../../src/table/refs/refNames.js";
import { findLatestVersion } from "../../src/table/versions/latestVersion.js";
import { readManifestFile } from "../../src/table/versions/manifest.js";
import { fieldOf, listOf } from "./arrowColumns.js";
import { compareTables, reference } from "./reference.js";

/** Deterministic values of a type; every fifth row is null if the type and the file version allow it. */
function sampleOf(type: arrow.DataType, row: number, nullable: boolean, version: string): unknown {
  if (nullable && row % 5 === 4 && !(version === "2.0" && type instanceof arrow.Struct)) return null;
  switch (type.typeId) {
    case -1:
      return sampleOf((type as arrow.Dictionary).dictionary, row, false, version);
    case 2:
      return (type as arrow.Int64 | arrow.Int32).bitWidth === 64 ? BigInt(row % 100) : row % 100;
    case 3:
      return (row % 50) / 2;
    case 5:
    case 20:
      return `row ${row % 7}`;
    case 6:
      return row % 2 === 0;
    case 12:
    case 21:
      return Array.from({ length: row % 3 }, (_, index) =>
        sampleOf(type.children[0].type, row + index, true, version),
      );
    case 13:
      return Object.fromEntries(
        type.children.map(({ name, type: child, nullable: may }) => [
          name,
          sampleOf(child, row, may, version),
        ]),
      );
    case 16:
      return Array.from({ length: (type as arrow.FixedSizeList).listSize }, (_, index) =>
        sampleOf(type.children[0].type, row + index, false, version),
      );
    case 17: {
      const [key, value] = type.children[0].type.children as arrow.Field[];
      return new Map(
        Array.from({ length: row % 3 }, (_, index) => [
          sampleOf(key.type, row + index, false, version),
          sampleOf(value.type, row + index, true, version),
        ]),
      );
    }
  }
  return null;
}

/** Rows from `first` on, as files of that version can hold them. */
export function rowsOf(schema: arrow.Schema, first: number, count: number, version: string): arrow.Table {
  const children = schema.fields.map(({ type, nullable }) => {
    const values = Array.from({ length: count }, (_, row) => sampleOf(type, first + row, nullable, version));
    return arrow.vectorFromArray(values as never[], type as never).data[0];
  });
  const data = arrow.makeData({
    type: new arrow.Struct(schema.fields),
    length: count,
    children: children as never,
  });
  return new arrow.Table(schema, new arrow.RecordBatch(schema, data as never));
}

type Added = AlterTableAddColumnsRequest["newColumns"];
type Alterations = AlterTableAlterColumnsRequest["alterations"];

export type Change =
  | { readonly add: Readonly<Record<string, string>> }
  | { readonly addNull: readonly string[] }
  | { readonly alter: Alterations }
  | { readonly drop: readonly string[] }
  | {
      readonly metadata: readonly {
        path: string;
        metadata: Record<string, string | null>;
        replace?: boolean;
      }[];
    }
  | { readonly append: arrow.Table }
  | { readonly overwrite: arrow.Table }
  | { readonly restore: number }
  /** Made by the reference on both sides. */
  | { readonly delete: string };

/** Columns of nulls, in the requests of both engines. */
const NULL_COLUMNS: Record<string, { json: unknown; type: arrow.DataType }> = {
  w: { json: { type: "int32" }, type: new arrow.Int32() },
  u: {
    json: {
      type: "struct",
      fields: [
        { name: "p", type: { type: "utf8" } },
        { name: "q", type: { type: "list", fields: [{ name: "item", type: { type: "float32" } }] } },
      ],
    },
    type: new arrow.Struct([fieldOf("p", new arrow.Utf8()), fieldOf("q", listOf(new arrow.Float32()))]),
  },
  z: {
    json: { type: "fixed_size_list", length: 3, fields: [{ name: "item", type: { type: "float" } }] },
    type: new arrow.FixedSizeList(3, fieldOf("item", new arrow.Float32())),
  },
};

export class Side {
  readonly request: { readonly id: string[]; readonly branch?: string };
  readonly #options: { branch?: string };

  constructor(
    readonly namespace: DirectoryNamespace,
    readonly root: string,
    readonly name: string,
    readonly branch?: string,
  ) {
    this.request = { id: [name], branch };
    this.#options = { branch };
  }

  async byUs(change: Change): Promise<number> {
    return (await this.#changeByUs(change)).version;
  }

  async byThem(change: Change): Promise<number> {
    return (await this.#changeByThem(change)).version;
  }

  #changeByUs(change: Change): Promise<{ readonly version: number }> {
    const { namespace, request: target } = this;
    if ("add" in change) {
      const newColumns: Added = Object.entries(change.add).map(([name, expression]) => ({
        name,
        expression,
      }));
      return namespace.alterTableAddColumns({ ...target, newColumns });
    }
    if ("addNull" in change) {
      const newColumns = change.addNull.map((name) => ({ name, dataType: NULL_COLUMNS[name].json as never }));
      return namespace.alterTableAddColumns({ ...target, newColumns });
    }
    if ("alter" in change) return namespace.alterTableAlterColumns({ ...target, alterations: change.alter });
    if ("drop" in change) return namespace.alterTableDropColumns({ ...target, columns: change.drop });
    if ("metadata" in change) return namespace.updateFieldMetadata({ ...target, updates: change.metadata });
    if ("append" in change) return namespace.insertIntoTable(target, change.append);
    if ("overwrite" in change)
      return namespace.insertIntoTable({ ...target, mode: "overwrite" }, change.overwrite);
    if ("restore" in change) return namespace.restoreTable({ ...target, version: change.restore });
    return this.#changeByThem(change);
  }

  #changeByThem(change: Change): Promise<{ readonly version: number }> {
    const { root, name } = this;
    const options = this.#options;
    if ("add" in change) return reference.addColumns(root, name, change.add, options);
    if ("addNull" in change) {
      const fields = change.addNull.map((column) => fieldOf(column, NULL_COLUMNS[column].type));
      const schema = arrow.tableToIPC(new arrow.Table(new arrow.Schema(fields)));
      return reference.addNullColumns(root, name, schema, options);
    }
    if ("alter" in change) return reference.alterColumns(root, name, change.alter as never, options);
    if ("drop" in change) return reference.dropColumns(root, name, [...change.drop], options);
    if ("metadata" in change) return reference.updateFieldMetadata(root, name, [...change.metadata], options);
    if ("append" in change)
      return reference.appendTable(root, name, arrow.tableToIPC(change.append), options);
    if ("overwrite" in change)
      return reference.overwriteTable(root, name, arrow.tableToIPC(change.overwrite), options);
    if ("restore" in change) return reference.restoreTable(root, name, change.restore, options);
    return reference.deleteRows(root, name, change.delete, options);
  }

  readByUs = (version?: number): Promise<arrow.Table> =>
    this.namespace.table([this.name], { branch: this.branch, version }).scan().toArrow();
  readByThem = (version?: number): Promise<Uint8Array> =>
    reference.readTable(this.root, this.name, { ...this.#options, version });
}

const disk = new NodeDisk({ durability: "none" });
export async function latestManifest({ root, name, branch }: Side) {
  const directory = join(root, `${name}.lance`);
  const entry = await findLatestVersion({
    disk,
    root: branch === undefined ? directory : branchRoot(directory, branch),
  });
  return (await readManifestFile(disk, entry!.path))!;
}

/** Compares everything that both engines see of our result and of the reference's. */
export async function expectAlike(ours: Side, theirs: Side, what: string, version?: number): Promise<void> {
  const expected = await theirs.readByThem(version).catch((error: unknown) => {
    throw new Error(`${what}: they of theirs: ${String(error)}`);
  });
  for (const [who, read] of [
    ["we of ours", ours.readByUs],
    ["they of ours", ours.readByThem],
    ["we of theirs", theirs.readByUs],
  ] as const) {
    try {
      compareTables(expected, await read(version));
    } catch (error) {
      throw new Error(`${what}: ${who}: ${String(error)}`);
    }
  }
  const [a, b] = await Promise.all([latestManifest(ours), latestManifest(theirs)]);
  expect(outline(a.manifest), what).toEqual(outline(b.manifest));
}

const outline = (manifest: Manifest) => ({
  version: manifest.version,
  fields: manifest.fields.map((field) => ({
    ...field,
    metadata: Object.fromEntries(field.metadata),
    // A meaningless rest of versions before 2.0.
    dictionary: undefined,
  })),
  flags: [manifest.readerFeatureFlags, manifest.writerFeatureFlags],
  fragments: manifest.fragments.map((fragment) => [
    fragment.id,
    fragment.physicalRows,
    fragment.deletionFile?.numDeletedRows,
    fragment.inlineCreatedAtVersions,
    fragment.inlineRowIds,
  ]),
});
