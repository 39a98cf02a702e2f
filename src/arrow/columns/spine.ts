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

/** Marks a missing child: it ends the branch of a leaf, or stands for a member of a packed struct. */
export const MISSING_CHILD = -1;

export interface Spine {
  readonly layout: Layout;
  readonly path: LeafPath;
}

/** Returns the spines of a layout in the order of its leaves; itself if the layout is not nested. */
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

/** Returns the events per value of a spine without lists: one per item of a sized list, else one. */
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

/** Returns the spine of a column along a branch; a missing child becomes nulls of the spine's layout. */
export function pruneColumn(column: Column, branch: LeafPath, layout: Layout, depth = 0): Column {
  if (column.kind === "struct" && layout.kind === "struct") {
    const [child] = layout.children;
    const index = branch[depth];
    const pruned =
      index === MISSING_CHILD
        ? nullColumn(child.layout, column.length)
        : pruneColumn(column.children[index], branch, child.layout, depth + 1);
    return { ...column, children: [pruned] };
  }
  if (
    (column.kind === "list" && layout.kind === "list") ||
    (column.kind === "sizedList" && layout.kind === "sizedList")
  ) {
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
  throw new InternalError(`a branch has ${branch.length} nodes, but the layout ends at depth ${depth}`);
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
 * Merges spines, in the order of {@link spinesOf}, to a column. Null stands for a leaf of nulls.
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
      if (list !== first && !sameRuns(list, first)) {
        throw new CorruptFileError(path, 0, "columns of one list hold lists of different lengths");
      }
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
    const count = spinesOf(child.layout).length;
    const parts = spines
      .slice(next, next + count)
      .map((spine) => (spine === null ? null : (spine as StructColumn).children[0]));
    next += count;
    return mergeSpines(child.layout, parts, length, path);
  });
  return { kind: "struct", length, validity: structs[0].validity, children };
}

/** Follows `members` into structs, outermost first. A value is null if any of the structs is. */
export function unwrapStructs(column: Column, members: readonly number[]): Column {
  let node = column;
  for (const [level, member] of members.entries()) {
    if (node.kind !== "struct" && node.kind !== "packedStruct") {
      throw new InternalError(`a column has ${level} structs around it, not ${members.length}`);
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

/** True if the lists of two columns have equal lengths, one by one. */
function sameRuns(a: ListColumn, b: ListColumn): boolean {
  const [left, right] = [a.offsets, b.offsets];
  const delta = Number(left[0]) - Number(right[0]);
  for (let row = 1; row <= a.length; row++)
    if (Number(left[row]) - Number(right[row]) !== delta) return false;
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
