/**
 * Columns whose values are computed from others of their row: how the metadata of a field declares one. The keys are those
 * by which other engines recognise such columns. A value that is not computed yet, or not any more, is null. So that nobody
 * takes an outdated value for a current one, changes of rows make it null, and changes of columns that would give it other
 * inputs are refused. Other engines do neither; `write/backfill/outdatedRows` finds what they leave outdated.
 *
 *   virtual_column              "true": computed by a function that programs register
 *   virtual_column.udf_name     its name
 *   virtual_column.udf_version  its version
 *   virtual_column.udf_backend  "tiltyard": no engine but this one has the function
 *   virtual_column.udf_inputs   JSON array of the paths of its inputs
 *   virtual_column.auto_backfill  "false"
 *
 *   computed_column             "true": computed by SQL
 *   computed_column.kind        "sql"
 *   computed_column.expression  its text
 *   computed_column.inputs      JSON array of the paths that it names
 */

import { parseBoundedJson } from "../bytes/boundedJson.js";
import { InvalidInputError } from "../errors.js";
import { formatFieldPath, parseFieldPath } from "../ident.js";
import { type FieldAtPath, type FindField, fieldFinder, findField } from "./fieldPaths.js";
import type { TableField } from "./schema.js";

/** What computes a column, as the metadata of its field declares it. */
export type ColumnDeclaration =
  | {
      readonly kind: "function";
      readonly udfName: string;
      /** Undefined where another engine declared the column. */
      readonly udfVersion: string | undefined;
      /** Paths. */
      readonly inputs: readonly string[];
    }
  | { readonly kind: "sql"; readonly expression: string; readonly inputs: readonly string[] };

interface DeclaredField {
  readonly name: string;
  readonly metadata: ReadonlyMap<string, string>;
}

const VIRTUAL = "virtual_column";
const COMPUTED = "computed_column";
const BACKEND = "tiltyard";
/** Inputs of one column that are looked at. */
const MAX_INPUTS = 10_000;

/** The metadata of a field that declares it. */
export function declarationMetadata(declaration: ColumnDeclaration): Map<string, string> {
  const inputs = JSON.stringify(declaration.inputs);
  if (declaration.kind === "sql") {
    return new Map([
      [COMPUTED, "true"],
      [`${COMPUTED}.kind`, "sql"],
      [`${COMPUTED}.expression`, declaration.expression],
      [`${COMPUTED}.inputs`, inputs],
    ]);
  }
  const metadata = new Map([
    [VIRTUAL, "true"],
    [`${VIRTUAL}.udf_name`, declaration.udfName],
    [`${VIRTUAL}.udf_backend`, BACKEND],
    [`${VIRTUAL}.udf_inputs`, inputs],
    [`${VIRTUAL}.auto_backfill`, "false"],
  ]);
  if (declaration.udfVersion !== undefined) metadata.set(`${VIRTUAL}.udf_version`, declaration.udfVersion);
  return metadata;
}

/** Whether a field is declared as a computed one, even if the declaration is damaged. */
export const isComputed = ({ metadata }: DeclaredField): boolean =>
  metadata.get(VIRTUAL) === "true" || metadata.get(COMPUTED) === "true";

/**
 * What computes a field; null for a plain one.
 * @throws InvalidInputError for a declaration that says too little, or is of a kind unknown to this release
 */
export function declarationOf({ name, metadata }: DeclaredField): ColumnDeclaration | null {
  if (metadata.get(VIRTUAL) === "true") {
    const udfName = metadata.get(`${VIRTUAL}.udf_name`);
    if (udfName === undefined) throw malformed(name, `${VIRTUAL}.udf_name`);
    const inputs = pathList(name, metadata, `${VIRTUAL}.udf_inputs`);
    return { kind: "function", udfName, udfVersion: metadata.get(`${VIRTUAL}.udf_version`), inputs };
  }
  if (metadata.get(COMPUTED) !== "true") return null;
  const expression = metadata.get(`${COMPUTED}.expression`);
  if (metadata.get(`${COMPUTED}.kind`) !== "sql" || expression === undefined) {
    throw malformed(name, `${COMPUTED}.expression`);
  }
  return { kind: "sql", expression, inputs: pathList(name, metadata, `${COMPUTED}.inputs`) };
}

const malformed = (name: string, key: string): InvalidInputError =>
  new InvalidInputError(
    `column ${JSON.stringify(name)}: its metadata has no ${key} that this release understands`,
  );

function pathList(name: string, metadata: ReadonlyMap<string, string>, key: string): readonly string[] {
  const text = metadata.get(key);
  if (text === undefined || text === "null") return [];
  let list: unknown;
  try {
    list = parseBoundedJson(text);
  } catch (error) {
    throw new InvalidInputError(`column ${JSON.stringify(name)}: ${key} is no JSON`, { cause: error });
  }
  if (!Array.isArray(list) || list.length > MAX_INPUTS) throw malformed(name, key);
  if (!list.every((each: unknown) => typeof each === "string")) throw malformed(name, key);
  return list as string[];
}

/**
 * The computed columns whose values no longer hold once some columns of a row are set, those that are computed from
 * computed ones included. Columns whose declaration is damaged are left out: nothing can compute them.
 * @param set names of the columns that are set; they get the values that they are set to
 */
export function outdatedFields<Field extends DeclaredField>(
  fields: readonly Field[],
  set: ReadonlySet<string>,
): Field[] {
  const computedFrom = new Map<string, Field[]>();
  for (const field of fields) {
    if (set.has(field.name)) continue;
    for (const input of new Set(inputNames(field))) {
      const known = computedFrom.get(input);
      if (known === undefined) computedFrom.set(input, [field]);
      else known.push(field);
    }
  }
  const outdated = new Set<Field>();
  const changed = [...set];
  for (let name = changed.pop(); name !== undefined; name = changed.pop()) {
    for (const field of computedFrom.get(name) ?? []) {
      if (outdated.has(field)) continue;
      outdated.add(field);
      changed.push(field.name);
    }
  }
  return fields.filter((field) => outdated.has(field));
}

/** Names of the columns that a field is computed from. */
const inputNames = (field: DeclaredField): string[] => inputPaths(field).map(([name]) => name);

/** Each once; none where the declaration is damaged. */
function inputPaths(field: DeclaredField): string[][] {
  try {
    return [...new Set(declarationOf(field)?.inputs)].map((path) => parseFieldPath(path));
  } catch (error) {
    if (error instanceof InvalidInputError) return [];
    throw error;
  }
}

/** A column from which another is computed, and what about it is not the same in a changed schema. */
export interface ChangedInput {
  /** Path of the input. */
  readonly input: string;
  /** Path of what changed: of the input itself, of something around it or of something in it. */
  readonly changed: string;
  /** Name of the column that is computed from it. */
  readonly computed: string;
}

/**
 * An input, of a column that stays, whose path no longer leads to the same values: it, or something around it or in it, has
 * another name or type, or is gone. Nothing records which values were computed of the one that was there. Inputs that were
 * not there before are left out. Every path and every field is looked at once.
 * @param staying columns as they were before the change, with which they remain in the table
 */
export function changedInput(
  staying: readonly TableField[],
  before: readonly TableField[],
  after: readonly TableField[],
): ChangedInput | null {
  const [findBefore, findAfter] = [fieldFinder(), fieldFinder()];
  const same = new Set<TableField>();
  for (const column of staying) {
    for (const path of inputPaths(column)) {
      const input = findField(before, path, findBefore);
      if (input === null) continue;
      const changed = changedPart(input, after, findAfter, same);
      if (changed !== null) return { input: input.path, changed, computed: column.name };
    }
  }
  return null;
}

/** Path of the first field on the way to a field, or inside it, that is not there any more as it was. */
function changedPart(
  { chain, field }: FieldAtPath,
  after: readonly TableField[],
  find: FindField,
  same: Set<TableField>,
): string | null {
  let now: TableField | undefined;
  for (const [depth, step] of chain.entries()) {
    now = find(now?.children ?? after, step.name);
    if (!isStill(step, now)) return formatFieldPath(chain.slice(0, depth + 1).map(({ name }) => name));
  }
  const inside = now === undefined ? null : changedInside(field, now, same);
  return inside && formatFieldPath([...chain.map(({ name }) => name), ...inside]);
}

/** @param same fields that have no changed one inside, for those that several paths lead to */
function changedInside(before: TableField, after: TableField, same: Set<TableField>): string[] | null {
  if (same.has(before)) return null;
  for (const [index, child] of before.children.entries()) {
    const now: TableField | undefined = after.children[index];
    if (!isStill(child, now)) return [child.name];
    const inside = changedInside(child, now, same);
    if (inside !== null) return [child.name, ...inside];
  }
  same.add(before);
  return null;
}

/** A field keeps its id as long as its values are the same. */
const isStill = (before: TableField, after: TableField | undefined): after is TableField =>
  after !== undefined && before.id === after.id && before.name === after.name;

/** By the name of each column that others are computed from, the name of one of these. */
export const computedByInput = (fields: readonly DeclaredField[]): ReadonlyMap<string, string> =>
  new Map(fields.flatMap((field) => inputNames(field).map((input) => [input, field.name] as const)));
