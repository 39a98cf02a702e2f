/** Plans which leaves are read, and assembles the wanted columns, which may be any fields. Pure. */

import { type Column, JSONB_LAYOUT, type Layout } from "../arrow/columns/column.js";
import {
  eventsPerValue,
  mapLeaf,
  mergeSpines,
  spinesOf,
  unwrapStructs,
  withLeaf,
} from "../arrow/columns/spine.js";
import { lazyModule } from "../async/lazy.js";
import { DESCRIPTOR_LAYOUT, PACKED_DESCRIPTOR_LAYOUT } from "../file/blobs/descriptorLayouts.js";
import { formatFieldPath } from "../ident.js";
import {
  type FieldStorage,
  fieldsAlong,
  isPacked,
  specialStorage,
  storageOf,
  type TableField,
} from "../schema/schema.js";
import { storedLayoutOf } from "../schema/storedLayout.js";

/** Opening a column of JSON loads this module. */
const json = lazyModule(() => import("../arrow/columns/json.js"));

/**
 * Loads what {@link assembleOutputs} needs of the leaves. Whoever reads columns calls it first.
 * @returns null if nothing is to be loaded
 */
export function loadConversions(leaves: readonly ReadLeaf[]): Promise<unknown> | null {
  if (json.current !== undefined || !leaves.some(({ storage }) => storage === "json")) return null;
  return json.get();
}

/** One physical column to read: a leaf, and the lists and structs around it. */
export interface ReadLeaf {
  /** Field id of the leaf. */
  readonly fieldId: number;
  /** Field ids of the lists around it, outermost first. */
  readonly listFieldIds: readonly number[];
  /** Number of values per row that its pages count; more than 1 in fixed-size lists of structs. */
  readonly valuesPerRow: number;
  /** Type of the column's blobs if this release cannot read it, in words; null for any other column. */
  readonly specialStorage: string | null;
  /** Canonical path, for messages. */
  readonly path: string;
  /** Form in which pages store the values of the leaf. */
  readonly storage: FieldStorage;
  /** Number of struct members of a blob leaf; 0 for any other leaf. */
  readonly blobMembers: number;
  /** A spine from the top-level column down to the leaf, with the leaf as its pages store it. */
  readonly layout: Layout;
}

/** One column to make of the leaves read. */
export interface OutputColumn {
  /** Layout from the top-level column on, with one child in each struct around the column. */
  readonly layout: Layout;
  /** The member of each struct around the column that leads to it. The structs are left out of the output. */
  readonly members: readonly number[];
  /** Indexes of the leaves it is made of, in their order. Several outputs may share one. */
  readonly leaves: readonly number[];
}

export interface LeafPlan {
  /** The leaves to read, each once. */
  readonly leaves: readonly ReadLeaf[];
  /** The columns made of the leaves, one for each wanted field. */
  readonly outputs: readonly OutputColumn[];
  /** True if some outputs hold blobs, whose descriptors `readBlobs` (blobValues.ts) replaces with values. */
  readonly hasBlobs: boolean;
}

/** A wanted field with the fields around it, from a top-level column down. Never empty. */
export type FieldChain = readonly TableField[];

/**
 * @param wanted fields of the columns to make, in their order
 * @param jsonAs `jsonb` leaves JSON as files hold it: for copying rows from file to file
 * @throws UnsupportedError for a column of a type that this release does not read
 */
export function planLeaves(wanted: readonly FieldChain[], jsonAs: "text" | "jsonb" = "text"): LeafPlan {
  const leaves: ReadLeaf[] = [];
  const indexOfField = new Map<TableField, number>();
  const outputs = wanted.map((chain): OutputColumn => {
    const { branch, members, path } = wantedBranch(chain);
    const layout = storedLayoutOf(branch, path, (leaf, field) => readLayout(leaf, storageOf(field), jsonAs));
    const indexes = spinesOf(layout).map((spine) => {
      const fields = fieldsAlong(branch, spine.path);
      const field = fields[fields.length - 1];
      const index = indexOfField.get(field) ?? leaves.push(readLeaf(fields, spine.layout, path, jsonAs)) - 1;
      indexOfField.set(field, index);
      return index;
    });
    return { layout, members, leaves: indexes };
  });
  return { leaves, outputs, hasBlobs: leaves.some(({ storage }) => isBlob(storage)) };
}

/**
 * Assembles the outputs from the leaves that were read. Blobs are still descriptors.
 * @param columns of `rowCount` rows each, one for each leaf; null for a leaf that no file has
 */
export function assembleOutputs(
  plan: LeafPlan,
  columns: readonly (Column | null)[],
  rowCount: number,
  path: string,
): Column[] {
  const spines = columns.map((spine, index) =>
    spine === null || plan.leaves[index].storage !== "json"
      ? spine
      : mapLeaf(spine, (leaf) => json.made.jsonTextColumn(leaf, path)),
  );
  return plan.outputs.map(({ layout, members, leaves }) => {
    const outputSpines = leaves.map((leaf) => spines[leaf]);
    return unwrapStructs(mergeSpines(layout, outputSpines, rowCount, path), members);
  });
}

/** True if the pages of a column hold descriptors of blobs. */
export const isBlob = (storage: FieldStorage): boolean => storage === "blobs" || storage === "blobStructs";

/** Returns the top-level column with the wanted field only, and all members of packed structs. */
function wantedBranch(chain: FieldChain): {
  readonly branch: TableField;
  readonly members: readonly number[];
  readonly path: string;
} {
  const parents = chain.slice(0, -1);
  const branch = parents.reduceRight<TableField>(
    (child, parent) => (isPacked(parent) ? parent : { ...parent, children: [child] }),
    chain[chain.length - 1],
  );
  const members = parents.map((parent, depth) =>
    isPacked(parent) ? parent.children.indexOf(chain[depth + 1]) : 0,
  );
  return { branch, members, path: formatFieldPath(chain.map(({ name }) => name)) };
}

/** @param fields from the top-level column down to the leaf */
function readLeaf(
  fields: readonly TableField[],
  layout: Layout,
  path: string,
  jsonAs: "text" | "jsonb",
): ReadLeaf {
  const leaf = fields[fields.length - 1];
  const storage = storageOf(leaf);
  const lists = fields.slice(0, -1).filter((field) => field.type.kind !== "struct");
  return {
    fieldId: leaf.id,
    listFieldIds: lists.map(({ id }) => id),
    valuesPerRow: eventsPerValue(layout),
    specialStorage: fields.map(specialStorage).find((what) => what !== null) ?? null,
    path,
    storage: storage === "json" && jsonAs === "jsonb" ? "values" : storage,
    blobMembers: storage === "blobStructs" ? leaf.children.length : 0,
    layout: storage === "json" ? withLeaf(layout, JSONB_LAYOUT) : layout,
  };
}

/** Returns the layout of a leaf in memory, with descriptors in place of blobs. */
function readLayout(layout: Layout, storage: FieldStorage, jsonAs: "text" | "jsonb"): Layout {
  switch (storage) {
    case "blobStructs":
      return PACKED_DESCRIPTOR_LAYOUT;
    case "blobs":
      return DESCRIPTOR_LAYOUT;
    case "json":
      return jsonAs === "jsonb" ? JSONB_LAYOUT : layout;
    case "values":
      return layout;
  }
}
