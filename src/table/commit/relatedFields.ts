/**
 * Relates fields of a schema. From 2.1 on, data files name only the leaves of a column, while an index on a
 * list names the list. Their ids can therefore not be compared directly.
 */

import type { Field } from "../../format/file.js";

/** Returns the ids with those of the fields' parents and children. Ids that the schema lacks stay. */
export function withRelatedFields(schema: readonly Field[], ids: Iterable<number>): Set<number> {
  const startIds = new Set(ids);
  const related = new Set(startIds);
  const byId = new Map(schema.map((field) => [field.id, field]));
  for (const { id } of schema) {
    const chain = chainTo(id, byId);
    if (chain.some((each) => startIds.has(each))) related.add(id);
    if (startIds.has(id)) for (const each of chain) related.add(each);
  }
  return related;
}

/** Returns the ids of a field and of its parents. */
function chainTo(id: number, byId: ReadonlyMap<number, Field>): number[] {
  const chain: number[] = [];
  let field = byId.get(id);
  // A schema that another engine wrote may be circular.
  while (field !== undefined && chain.length < byId.size) {
    chain.push(field.id);
    field = byId.get(field.parentId);
  }
  return chain;
}
