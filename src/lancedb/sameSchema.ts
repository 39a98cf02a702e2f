/** Compares Arrow schemas as LanceDB does when a table may exist already. */

import type { Field, Schema } from "apache-arrow";

/** Returns true if names, types, nullability, order and metadata are equal. */
export const isSameSchema = (a: Schema, b: Schema): boolean =>
  isSameMap(a.metadata, b.metadata) && areSameFields(a.fields, b.fields);

const areSameFields = (a: readonly Field[], b: readonly Field[]): boolean =>
  a.length === b.length && a.every((field, index) => isSameField(field, b[index] as Field));

function isSameField(a: Field, b: Field): boolean {
  return (
    a.name === b.name &&
    a.nullable === b.nullable &&
    isSameMap(a.metadata, b.metadata) &&
    a.type.typeId === b.type.typeId &&
    String(a.type) === String(b.type) &&
    areSameFields(a.type.children ?? [], b.type.children ?? [])
  );
}

const isSameMap = (a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean =>
  a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
