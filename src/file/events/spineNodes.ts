/** Nodes of a spine: the leaf, and the lists and structs around it. */

import type { Layout } from "../../arrow/columns/column.js";

/** A node of a spine: the leaf, or a list or struct around it. */
export interface SpineNode {
  readonly layout: Layout;
  readonly nullable: boolean;
}

/** Nodes of a spine, outermost first; the last is the leaf. */
export function nodesOf(layout: Layout, nullable: boolean): SpineNode[] {
  const nodes: SpineNode[] = [{ layout, nullable }];
  for (let node = layout; ; ) {
    if (node.kind === "list" || node.kind === "sizedList") {
      nodes.push({ layout: node.item, nullable: node.itemNullable });
      node = node.item;
    } else if (node.kind === "struct") {
      nodes.push({ layout: node.children[0].layout, nullable: node.children[0].nullable });
      node = node.children[0].layout;
    } else {
      return nodes;
    }
  }
}
