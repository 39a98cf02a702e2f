/** Plans a new index on a version: its column, its name, and the index that it replaces. */

import { typeInText } from "../../arrow/types/type.js";
import { InvalidInputError, TableIndexAlreadyExistsError } from "../../errors.js";
import { formatFieldPath } from "../../ident.js";
import type { BuildableKind } from "../../indexes/kind.js";
import { isSameTypeUrl, isVectorTypeUrl, kindOfTypeUrl } from "../../indexes/kinds/kinds.js";
import { type FieldAtPath, resolveField } from "../../schema/fieldPaths.js";
import { decodeSchema } from "../../schema/schema.js";
import { type NamedIndex, namedIndexes } from "../../table/commit/namedIndexes.js";
import { isSystemIndex } from "../../table/fragments/tableStatistics.js";
import type { ManifestFile } from "../../table/versions/manifest.js";
import { columnAt, hasPlainValues, type IndexColumn } from "./indexColumn.js";
import { kindNamesFor } from "./kindNames.js";

export interface IndexDefinition {
  /** Path of the column. */
  readonly column: string;
  readonly kind: BuildableKind;
  /** Null to make one from the column's path. */
  readonly name: string | null;
  /** True if the index may replace one of the same name and column. */
  readonly replaces: boolean;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** False for an index of no rows, which the next optimisation fills. Default: true. */
  readonly isTrained?: boolean;
}

export interface IndexPlan {
  readonly name: string;
  readonly column: IndexColumn;
  /** The index to replace. */
  readonly replaced: NamedIndex | null;
}

/**
 * @throws InvalidInputError, TableColumnNotFoundError for a column that can't have the index;
 *   TableIndexAlreadyExistsError if the name is taken
 */
export function planIndex(file: ManifestFile, definition: IndexDefinition): IndexPlan {
  const plan = planReplacement(file, definition);
  if (plan.replaced === null || definition.replaces) return plan;
  throw indexExists(plan.name);
}

export const indexExists = (name: string): TableIndexAlreadyExistsError =>
  new TableIndexAlreadyExistsError(`name: index ${name} already exists; replace: true replaces it`);

/**
 * Plans an index without checking that it may replace one.
 * @throws InvalidInputError, TableColumnNotFoundError for a column that can't have the index;
 *   TableIndexAlreadyExistsError if an index of another column has the name
 */
export function planReplacement(file: ManifestFile, definition: IndexDefinition): IndexPlan {
  const fields = decodeSchema(file.manifest.fields, file.path);
  const located = resolveField(fields, definition.column);
  requireKind(located, definition.kind.name, (field) => definition.kind.refusal(field));
  const column = columnAt(fields, located);
  const present = namedIndexes(file);
  const name = definition.name ?? freeName(present, located, definition);
  const replaced = present.find((index) => index.name === name) ?? null;
  if (replaced?.segments.some(({ fields: ids }) => ids.length !== 1 || ids[0] !== located.field.id)) {
    throw new TableIndexAlreadyExistsError(`name: index ${name} is on another column`);
  }
  return { name, column, replaced };
}

/**
 * Checks that a column can have an index of a kind.
 * @param refusal reason against it, as the rest of a sentence about the column; null if it is allowed
 * @throws InvalidInputError naming the kinds that the column can have
 */
export function requireKind(
  located: FieldAtPath,
  kindName: string,
  refusal: (field: FieldAtPath["field"]) => string | null,
): void {
  const isInside = located.chain.slice(0, -1).some(({ type }) => type.kind !== "struct");
  const why = isInside
    ? "is a part of what is no struct"
    : hasPlainValues(located)
      ? refusal(located.field)
      : "is stored in a way that indexes do not read";
  if (why === null) return;
  const names = isInside || !hasPlainValues(located) ? [] : kindNamesFor(located.field);
  const choices = names.length === 0 ? "it can have no index" : `it can have ${names.join(", ")}`;
  throw new InvalidInputError(
    `column: ${located.path}, ${typeInText(located.field.type)}, can't have an index of type ${kindName}: it ${why}; ${choices}`,
  );
}

/** Quotes a name only for dots, like LanceDB, which else would build the index again under its own name. */
const nameInPath = (name: string): string => (name.includes(".") ? formatFieldPath([name]) : name);

/**
 * Returns `<path>_idx`, with a number after it if an index on another column, or of another kind, has that
 * name. An index of the same column and kind keeps its name: the new index replaces it, or is refused. All
 * vector kinds count as one kind here. An index of unknown kind may be replaced like one of the same kind.
 */
function freeName(
  present: readonly NamedIndex[],
  field: FieldAtPath,
  { kind, replaces }: Pick<IndexDefinition, "kind" | "replaces">,
): string {
  const base = `${field.chain.map(({ name }) => nameInPath(name)).join(".")}_idx`;
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}_${number}`;
    if (isSystemIndex(name)) continue;
    const taken = present.find((index) => index.name === name);
    if (taken === undefined) return name;
    const isSame = taken.segments.every(({ fields, indexDetails }) => {
      const typeUrl = indexDetails?.typeUrl ?? "";
      const isUnknown = !isVectorTypeUrl(typeUrl) && kindOfTypeUrl(typeUrl) === null;
      const isKind = isSameTypeUrl(typeUrl, kind.typeUrl) || (replaces && isUnknown);
      return fields.length === 1 && fields[0] === field.field.id && isKind;
    });
    if (isSame) return name;
  }
}
