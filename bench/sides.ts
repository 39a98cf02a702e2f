/** Both contestants, opened the way a program would, and tables of either's apache-arrow release. */

import * as arrow from "apache-arrow";
import { DirectoryNamespace } from "tiltyard";
import type { Connection, Table as ReferenceTable } from "tiltyard-reference/session.js";
import * as reference from "tiltyard-reference/session.js";
import { type ArrowModule, type BenchRows, toTable } from "./data.js";

/** Rows as the reference takes them. */
export type ReferenceRows = Parameters<ReferenceTable["add"]>[0];

export type { Connection, ReferenceTable };

export function openTiltyard(root: string, durability: "fsync" | "none" = "none"): DirectoryNamespace {
  return new DirectoryNamespace({ root, durability });
}

/** A connection that sees the commits of others at the next call, as ours does. */
export function openReference(root: string): Promise<Connection> {
  return reference.connect(root, { readConsistencyInterval: 0 });
}

/** The reference's directory catalog. */
export function openReferenceCatalog(root: string): Promise<Connection> {
  return reference.connectNamespace("dir", { root });
}

export function tiltyardTable(rows: BenchRows): arrow.Table {
  return toTable(arrow, rows);
}

export function referenceTable(rows: BenchRows): ReferenceRows {
  return toTable(reference.arrow as unknown as ArrowModule, rows) as unknown as ReferenceRows;
}
