/**
 * Spines: a column tree, leaf by leaf. A file stores each leaf of a nested column by itself, together with
 * the lists and structs around it. The spine of a leaf is the tree with everything else left out. In a spine
 * every struct has exactly one child.
 *
 *     struct { a: list<int32>, b: utf8 }    struct { a: list<int32> }   and   struct { b: utf8 }
 */

import { CorruptFileError, InternalError } from "../../errors.js";
import type {
  Column,
  Layout,
  LeafColumn,
  LeafLayout,
  ListColumn,
  ListLayout,
  PackedMemberColumn,
  SizedListColumn,
  SizedListLayout,
  StructColumn,
  StructLayout,
  Validity,
} from "./column.js";
import { withValidity } from "./lazyColumn.js";
import { nullColumn } from "./nullColumn.js";
import { areNarrow } from "./offsets.js";
import { sliceColumn } from "./sliceColumn.js";
import { bothValid } from "./validity.js";

/**
 * Path to a leaf: the index of the child to follow at each node, 0 for the items of a list. For a packed
 * struct, the indexes of its members may follow if they come in another order.
 */
export type LeafPath = readonly number[];

/**
 * Marks a missing child in a branch: it ends the branch of a leaf, or stands for a member of a packed struct.
 */
export const MISSING_CHILD = -1;

export interface Spine {
  readonly layout: Layout;
  readonly path: LeafPath;
}

/**
 * Returns the spines of a layout, in the order of its leaves. A layout that is not nested has one spine,
 * itself.
 */
export function spinesOf(layout: Layout): Spine[] {
  switch (layout.kind) {
    case "list":
    case "sizedList":
      return spinesOf(layout.item).map((spine) => ({
        layout: { ...layout, item: spine.layout } as Layout,
        path: [0, ...spine.path],
      }));
    case "struct":
      return layout.children.flatMap((child, index) =>
        spinesOf(child.layout).map((spine) => ({
          layout: { kind: "struct", children: [{ ...child, layout: spine.layout }] },
          path: [index, ...spine.path],
        })),
      );
    default:
      return [{ layout, path: [] }];
  }
}

/** True if a column of the layout is stored leaf by leaf. */
export const isNested = (layout: Layout): layout is ListLayout | SizedListLayout | StructLayout =>
  layout.kind === "list" || layout.kind === "sizedList" || layout.kind === "struct";

/**
 * Returns the number of events per value of a spine without lists: one per item of fixed-size lists of
 * structs, else one.
 */
export function eventsPerValue(layout: Layout): number {
  let count = 1;
  for (let node = layout; ; ) {
    if (node.kind === "sizedList") {
      count *= node.dimension;
      node = node.item;
    } else if (node.kind === "struct") {
      node = node.children[0].layout;
    } else {
      return count;
    }
  }
}

/** Returns the layout of the leaf of a spine. */
export function leafOf(layout: Layout): LeafLayout {
  let node = layout;
  for (;;) {
    if (node.kind === "list" || node.kind === "sizedList") node = node.item;
    else if (node.kind === "struct") node = node.children[0].layout;
    else return node;
  }
}

/**
 * Returns the spine of a column along a branch.
 * @param layout of the spine; a missing child becomes nulls of its layout
 */
export function pruneColumn(column: Column, branch: LeafPath, layout: Layout, depth = 0): Column {
  if (column.kind === "list" && layout.kind === "list") {
    return { ...column, items: pruneColumn(column.items, branch, layout.item, depth + 1) };
  }
  if (column.kind === "struct" && layout.kind === "struct") {
    const [child] = layout.children;
    const index = branch[depth];
    const pruned =
      index === MISSING_CHILD
        ? nullColumn(child.layout, column.length)
        : pruneColumn(column.children[index], branch, child.layout, depth + 1);
    return { ...column, children: [pruned] };
  }
  if (column.kind === "sizedList" && layout.kind === "sizedList") {
    return { ...column, items: pruneColumn(column.items, branch, layout.item, depth + 1) };
  }
  if ((column.kind === "struct" || column.kind === "packedStruct") && layout.kind === "packedStruct") {
    const members = branch.slice(depth);
    const children = layout.children.map((member, index) =>
      members[index] === MISSING_CHILD
        ? nullColumn(member.layout, column.length)
        : column.children[members[index] ?? index],
    );
    return { ...column, kind: "packedStruct", children: children as readonly PackedMemberColumn[] };
  }
  if (depth === branch.length) return column;
  throw new InternalError(`a branch of ${branch.length} nodes ends at ${depth}`);
}

/** Replaces the leaf in the layout of a spine. */
export function withLeaf(layout: Layout, leaf: LeafLayout): Layout {
  if (layout.kind === "list" || layout.kind === "sizedList") {
    return { ...layout, item: withLeaf(layout.item, leaf) } as Layout;
  }
  if (layout.kind !== "struct") return leaf;
  const [child] = layout.children;
  return { ...layout, children: [{ ...child, layout: withLeaf(child.layout, leaf) }] };
}

/** Returns the leaf of a spine. */
export function leafColumn(spine: Column): LeafColumn {
  let node = spine;
  for (;;) {
    if (node.kind === "list" || node.kind === "sizedList") node = node.items;
    else if (node.kind === "struct") node = node.children[0];
    else return node;
  }
}

/** Replaces the leaf of a spine by the result of `make`. */
export function mapLeaf(spine: Column, make: (leaf: LeafColumn) => Column): Column {
  if (spine.kind === "list" || spine.kind === "sizedList") {
    return { ...spine, items: mapLeaf(spine.items, make) };
  }
  if (spine.kind === "struct") return { ...spine, children: [mapLeaf(spine.children[0], make)] };
  return make(spine);
}

/**
 * Merges spines, in the order of {@link spinesOf}, to a column. Null stands for an absent leaf; its values
 * are null.
 * @param path of the file, for errors
 * @throws CorruptFileError if spines disagree about the lists around them
 */
export function mergeSpines(
  layout: Layout,
  spines: readonly (Column | null)[],
  length: number,
  path: string,
): Column {
  const [only] = spines;
  if (!isNested(layout)) return only ?? nullColumn(layout, length);
  const present = spines.filter((spine) => spine !== null);
  if (present.length === 0) return nullColumn(layout, length);
  if (layout.kind === "list") {
    const lists = present as ListColumn[];
    const [first] = lists;
    if (spines.length === 1) {
      return { ...first, items: mergeSpines(layout.item, [first.items], first.items.length, path) };
    }
    const { offsets, itemCount } = offsetsFromZero(first);
    const items = spines.map((spine) => {
      if (spine === null) return null;
      const list = spine as ListColumn;
      if (list !== first && !sameRuns(list, first)) throw disagreement(path);
      return sliceColumn(list.items, Number(list.offsets[0]), itemCount);
    });
    return { ...first, offsets, items: mergeSpines(layout.item, items, itemCount, path) };
  }
  if (layout.kind === "sizedList") {
    const [first] = present as SizedListColumn[];
    const items = spines.map((spine) => (spine === null ? null : (spine as SizedListColumn).items));
    return { ...first, items: mergeSpines(layout.item, items, length * layout.dimension, path) };
  }
  const structs = present as StructColumn[];
  let next = 0;
  const children = layout.children.map((child) => {
    const count = leafCount(child.layout);
    const parts = spines
      .slice(next, next + count)
      .map((spine) => (spine === null ? null : (spine as StructColumn).children[0]));
    next += count;
    return mergeSpines(child.layout, parts, length, path);
  });
  const validity: Validity | null = structs[0].validity;
  return { kind: "struct", length, validity, children };
}

/**
 * Replaces structs with their members: `members` has the member to follow in each struct, outermost first. A
 * value is null if any of the structs is.
 */
export function unwrapStructs(column: Column, members: readonly number[]): Column {
  let node = column;
  for (const [level, member] of members.entries()) {
    if (node.kind !== "struct" && node.kind !== "packedStruct") {
      throw new InternalError(`${level} structs where ${members.length} are to be left out`);
    }
    const child: Column = node.children[member];
    // A column of type null has no validity.
    node =
      child.kind === "null" || node.validity === null
        ? child
        : withValidity(child, bothValid(node.validity, child.validity, node.length));
  }
  return node;
}

function disagreement(path: string): CorruptFileError {
  return new CorruptFileError(path, 0, "columns of one list hold lists of different lengths");
}

function leafCount(layout: Layout): number {
  if (layout.kind === "list" || layout.kind === "sizedList") return leafCount(layout.item);
  if (layout.kind !== "struct") return 1;
  return layout.children.reduce((sum, child) => sum + leafCount(child.layout), 0);
}

/** True if the lists of two columns have equal lengths, one by one. */
function sameRuns(a: ListColumn, b: ListColumn): boolean {
  if (areNarrow(a.offsets) && areNarrow(b.offsets)) {
    const delta = a.offsets[0] - b.offsets[0];
    for (let row = 1; row <= a.length; row++) if (a.offsets[row] - b.offsets[row] !== delta) return false;
    return true;
  }
  const left = a.offsets as BigInt64Array;
  const right = b.offsets as BigInt64Array;
  const delta = left[0] - right[0];
  for (let row = 1; row <= a.length; row++) if (left[row] - right[row] !== delta) return false;
  return true;
}

function offsetsFromZero({ offsets, length }: ListColumn): {
  offsets: Int32Array | BigInt64Array;
  itemCount: number;
} {
  const itemCount = Number(offsets[length]) - Number(offsets[0]);
  if (areNarrow(offsets)) {
    const [first] = offsets;
    return { offsets: first === 0 ? offsets : offsets.map((offset) => offset - first), itemCount };
  }
  const [first] = offsets;
  return { offsets: first === 0n ? offsets : offsets.map((offset) => offset - first), itemCount };
}
