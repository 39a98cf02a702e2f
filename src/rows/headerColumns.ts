/**
 * Adds header columns to a plan. Files of version 2.0 have a column for every list and struct, before the
 * columns of its items or members. A plan without headers has leaves only. Pure.
 */

import type { Column, Layout } from "../arrow/columns/column.js";
import { nullColumn } from "../arrow/columns/nullColumn.js";
import { type LeafPath, MISSING_CHILD } from "../arrow/columns/spine.js";
import { InternalError } from "../errors.js";
import type { TableField } from "../schema/schema.js";
import type { ColumnPlan, PlannedColumn } from "./columnPlan.js";

const NULL_LAYOUT: Layout = { kind: "null" };

/** Returns the plan with a column for every list and struct around the leaves. */
export function withHeaderColumns(plan: ColumnPlan): ColumnPlan {
  const planned = new Set<number>();
  const columns = plan.columns.flatMap((leaf) => {
    const chain = chainTo(plan.fields, leaf.target.fieldId);
    if (chain === null) throw new InternalError(`column ${leaf.target.path} is in no schema`);
    const headers: PlannedColumn[] = [];
    for (const [depth, field] of chain.slice(0, -1).entries()) {
      if (planned.has(field.id)) continue;
      planned.add(field.id);
      headers.push({
        sourceIndex: leaf.sourceIndex,
        branch: leaf.branch.slice(0, depth),
        target: {
          ...leaf.target,
          fieldId: field.id,
          layout: cutBelow(leaf.target.layout, depth),
          isHeader: true,
          blobs: undefined,
          metadata: field.metadata,
        },
        conversion: "none",
      });
    }
    return [...headers, leaf];
  });
  return { ...plan, columns };
}

/** Returns the fields from the top down to the field with this id. */
function chainTo(fields: readonly TableField[], id: number): TableField[] | null {
  for (const field of fields) {
    if (field.id === id) return [field];
    const chain = chainTo(field.children, id);
    if (chain !== null) return [field, ...chain];
  }
  return null;
}

/** Cuts a spine below its node number `depth`, and puts nulls inside that node. */
function cutBelow(layout: Layout, depth: number): Layout {
  if (layout.kind === "list") {
    return { ...layout, item: depth === 0 ? NULL_LAYOUT : cutBelow(layout.item, depth - 1) };
  }
  if (layout.kind !== "struct")
    throw new InternalError(`a column of layout ${layout.kind} has nothing inside`);
  const [child] = layout.children;
  const inside = depth === 0 ? NULL_LAYOUT : cutBelow(child.layout, depth - 1);
  return { ...layout, children: [{ ...child, layout: inside }] };
}

/** Returns the list or struct at the end of the branch, with the nodes around it and nulls inside. */
export function headerColumn(column: Column, branch: LeafPath, layout: Layout, depth = 0): Column {
  if (column.kind === "list" && layout.kind === "list") {
    return { ...column, items: inside(column.items, branch, layout.item, depth) };
  }
  if (column.kind !== "struct" || layout.kind !== "struct") {
    throw new InternalError(`a branch has ${branch.length} nodes, but the layout ends at depth ${depth}`);
  }
  const [{ layout: member }] = layout.children;
  const { length, children } = column;
  if (branch[depth] === MISSING_CHILD) return { ...column, children: [nullColumn(member, length)] };
  const child = depth === branch.length ? nullColumn(member, length) : children[branch[depth]];
  return { ...column, children: [inside(child, branch, member, depth)] };
}

/** Returns the content of node number `depth`. */
function inside(column: Column, branch: LeafPath, layout: Layout, depth: number): Column {
  return depth === branch.length
    ? nullColumn(layout, column.length)
    : headerColumn(column, branch, layout, depth + 1);
}
