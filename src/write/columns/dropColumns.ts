/** Plans the schema that remains after columns are dropped. Pure. The files and the ids they name stay. */

import { InvalidInputError, UnsupportedError } from "../../errors.js";
import type { Field } from "../../format/file.js";
import { formatFieldPath } from "../../ident.js";
import { type FieldAtPath, resolveField } from "../../schema/fieldPaths.js";
import { decodeSchema, isPacked, storageOf, type TableField } from "../../schema/schema.js";
import type { ManifestFile } from "../../table/versions/manifest.js";

/**
 * Returns the schema without some fields, each a column or a member of one. A field that loses all its
 * members is dropped too.
 * @throws TableColumnNotFoundError, InvalidInputError if no column would remain, UnsupportedError for a
 *   member that shares its bytes with others
 */
export function planDroppedFields(base: ManifestFile, paths: readonly string[]): Field[] {
  const fields = decodeSchema(base.manifest.fields, base.path);
  const dropped = new Set<number>();
  for (const path of new Set(paths)) {
    const located = resolveField(fields, path);
    checkSeparable(located, "dropped");
    dropped.add(located.field.id);
  }
  const kept = new Set<number>();
  const keep = (field: TableField): boolean => {
    if (dropped.has(field.id)) return false;
    const hadChildren = field.children.length > 0;
    if (hadChildren && field.children.filter(keep).length === 0) return false;
    kept.add(field.id);
    return true;
  };
  if (fields.filter(keep).length === 0)
    throw new InvalidInputError("not all columns of a table can be dropped");
  const left = base.manifest.fields.filter((field) => kept.has(field.id));
  checkStillThere(base, fields, left);
  return left;
}

/**
 * Checks that a part of a column can change without the rest.
 * @throws UnsupportedError if the parts are stored together, or belong together
 */
export function checkSeparable({ chain, path }: FieldAtPath, done: string): void {
  for (const parent of chain.slice(0, -1)) {
    const refuse = (what: string) =>
      new UnsupportedError(`column ${path} cannot be ${done} by itself: ${parent.name} is ${what}`);
    if (parent.type.kind === "map") throw refuse("a map");
    if (isPacked(parent)) throw refuse("a packed struct");
    if (storageOf(parent) === "blobStructs") throw refuse("a column of blobs");
    if (parent.type.kind === "fixedSizeList") throw refuse("a fixed-size list");
  }
}

/** Refuses a drop that would lose the nulls of a struct or list: the files of its members record them. */
function checkStillThere(base: ManifestFile, fields: readonly TableField[], left: readonly Field[]): void {
  const leftIds = new Set(left.map((field) => field.id));
  const nested = (function* visit(
    siblings: readonly TableField[],
    parents: readonly string[],
  ): Generator<{ field: TableField; path: string[] }> {
    for (const field of siblings) {
      if (!leftIds.has(field.id) || field.children.length === 0) continue;
      const path = [...parents, field.name];
      yield { field, path };
      yield* visit(field.children, path);
    }
  })(fields, []);
  for (const { field, path } of nested) {
    const before = leavesOf(field);
    const after = before.filter((id) => leftIds.has(id));
    if (after.length === before.length) continue;
    for (const fragment of base.manifest.fragments) {
      const stored = new Set(fragment.files.flatMap((file) => file.fields));
      if (!before.some((id) => stored.has(id)) || after.some((id) => stored.has(id))) continue;
      throw new UnsupportedError(
        `column ${formatFieldPath(path)}: fragment ${fragment.id} has no values of the remaining members; drop the whole column`,
      );
    }
  }
}

const leavesOf = (field: TableField): number[] =>
  field.children.length === 0 ? [field.id] : field.children.flatMap(leavesOf);
