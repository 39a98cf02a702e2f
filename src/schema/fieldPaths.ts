/**
 * Looks field paths up in a table's schema. Names address the members of structs, the item of a list and the
 * `entries`, key and value of a map. They are case-sensitive. Pure.
 */

import { fieldNamed } from "../arrow/types/fieldNamed.js";
import { TableColumnNotFoundError } from "../errors.js";
import { formatFieldPath, parseFieldPath } from "../ident.js";
import { nearestHint } from "../nearestName.js";
import type { TableField } from "./schema.js";

/** A field, and the path to it. */
export interface FieldAtPath {
  /** Canonical form of the path. */
  readonly path: string;
  /** From the top-level column down to the field itself. */
  readonly chain: readonly TableField[];
  /** Last field of the chain. */
  readonly field: TableField;
}

/**
 * Finds the field at a path.
 * @throws InvalidInputError for a malformed path, naming the position; TableColumnNotFoundError for a path
 *   that the schema does not have
 */
export function resolveField(fields: readonly TableField[], text: string): FieldAtPath {
  const segments = parseFieldPath(text);
  const chain = chainOf(fields, segments);
  if (chain.length === segments.length) return fieldAtChain(chain);
  const siblings = chain.length === 0 ? fields : chain[chain.length - 1].children;
  const near = nearestHint(
    segments[chain.length],
    siblings.map(({ name }) => name),
    (name) => formatFieldPath([...segments.slice(0, chain.length), name]),
  );
  throw new TableColumnNotFoundError(
    `column ${formatFieldPath(segments)} is not in the table's schema${near}`,
  );
}

/** The field at a path; null if the schema does not have it. */
export function findField(fields: readonly TableField[], segments: readonly string[]): FieldAtPath | null {
  const chain = chainOf(fields, segments);
  return chain.length === segments.length ? fieldAtChain(chain) : null;
}

/** The fields along a path, up to the first segment that the schema does not have. */
function chainOf(fields: readonly TableField[], segments: readonly string[]): TableField[] {
  const chain: TableField[] = [];
  let siblings = fields;
  for (const segment of segments) {
    const field = fieldNamed(siblings, segment);
    if (field === undefined) break;
    chain.push(field);
    siblings = field.children;
  }
  return chain;
}

const fieldAtChain = (chain: readonly TableField[]): FieldAtPath => ({
  path: formatFieldPath(chain.map(({ name }) => name)),
  chain,
  field: chain[chain.length - 1],
});

/** Yields every field of a schema with the path to it, parents before children. */
export function* allFields(
  fields: readonly TableField[],
  parents: readonly TableField[] = [],
): Generator<FieldAtPath, void, undefined> {
  for (const field of fields) {
    const chain = [...parents, field];
    yield fieldAtChain(chain);
    yield* allFields(field.children, chain);
  }
}

/** Ids of a field and all its parts. A file of version 2.1 or later lists only the parts without children. */
export const fieldIdsOf = (field: TableField): number[] => [field.id, ...field.children.flatMap(fieldIdsOf)];
