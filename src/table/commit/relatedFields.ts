/**
 * Which fields of a schema have values in common. From 2.1 on, data files name the leaves of a column alone,
 * while an index on a list names the list: their ids are never to be compared as they are.
 */

import type { Field } from "../../format/file.js";

/** Ids of fields, and of the fields that they are in and that are in them. Ids that the schema lacks stay. */
export function withRelatedFields(schema: readonly Field[], ids: Iterable<number>): Set<number> {
  const given = new Set(ids);
  const related = new Set(given);
  const byId = new Map(schema.map((field) => [field.id, field]));
  for (const { id } of schema) {
    const chain = chainTo(id, byId);
    if (chain.some((each) => given.has(each))) related.add(id);
    if (given.has(id)) for (const each of chain) related.add(each);
  }
  return related;
}

/** The ids of a field and of those that it is in. */
function chainTo(id: number, byId: ReadonlyMap<number, Field>): number[] {
  const chain: number[] = [];
  let field = byId.get(id);
  // A schema that another engine wrote may go round in circles.
  while (field !== undefined && chain.length < byId.size) {
    chain.push(field.id);
    field = byId.get(field.parentId);
  }
  return chain;
}
