/**
 * Columns whose values are computed from other columns of their row: how a field's metadata declares one.
 * Other engines recognise such columns by the same keys. A value that is not computed yet, or is outdated, is
 * null. Changes of rows set outdated values to null. Changes of columns are refused if a computed column
 * would get other inputs. Other engines do neither; `write/backfill/outdatedRows` finds the values that they
 * leave outdated.
 *
 *     virtual_column              "true": computed by a function that programs register
 *     virtual_column.udf_name     its name
 *     virtual_column.udf_version  its version
 *     virtual_column.udf_backend  "tiltyard": no engine but this one has the function
 *     virtual_column.udf_inputs   JSON array of the paths of its inputs
 *     virtual_column.auto_backfill  "false"
 *
 *     computed_column             "true": computed by SQL
 *     computed_column.kind        "sql"
 *     computed_column.expression  its text
 *     computed_column.inputs      JSON array of the paths that it names
 *     computed_refresh.…          what its values were computed from (write/backfill/refreshSignatures.ts)
 *
 * A declaration of another kind, or a damaged one, is _foreign_. Its column is read and written like any
 * computed column, and its metadata stays unchanged. Only another engine computes its values. All kinds name
 * their inputs by the same key.
 */

import { fieldNamed } from "../arrow/types/fieldNamed.js";
import { parseBoundedJson } from "../bytes/boundedJson.js";
import { InvalidInputError } from "../errors.js";
import { formatFieldPath, parseFieldPath } from "../ident.js";
import { type FieldAtPath, findField } from "./fieldPaths.js";
import type { TableField } from "./schema.js";

/** The function or SQL that computes a column, as the field's metadata declares it. */
export type ColumnDeclaration =
  | {
      readonly kind: "function";
      readonly udfName: string;
      /** Undefined if another engine declared the column. */
      readonly udfVersion: string | undefined;
      /** Paths of the columns that the value is computed from. */
      readonly inputs: readonly string[];
    }
  | { readonly kind: "sql"; readonly expression: string; readonly inputs: readonly string[] }
  | ForeignDeclaration;

/** A declaration that this release does not understand. */
export interface ForeignDeclaration {
  readonly kind: "foreign";
  /** `computed_column.kind` of the metadata; undefined if it has none. */
  readonly declaredKind: string | undefined;
  /** Why this release cannot compute the values, as a sentence about the column. */
  readonly problem: string;
  /** Paths; none if the metadata does not name them in a way that this release understands. */
  readonly inputs: readonly string[];
}

interface DeclaredField {
  readonly name: string;
  readonly metadata: ReadonlyMap<string, string>;
}

const VIRTUAL = "virtual_column";
const COMPUTED = "computed_column";
/** Key of the signatures of the inputs that the values of an SQL column were computed from. */
export const REFRESH_SIGNATURES = "computed_refresh.source_signature";
const SQL = "sql";
const BACKEND = "tiltyard";
/** Characters of another engine's text that an error shows. */
const MAX_SHOWN = 40;
/** Maximum inputs of one column that are read. */
const MAX_INPUTS = 10_000;

/** Returns the metadata that declares a field as a computed one. */
export function declarationMetadata(
  declaration: Exclude<ColumnDeclaration, ForeignDeclaration>,
): Map<string, string> {
  const inputs = JSON.stringify(declaration.inputs);
  if (declaration.kind === "sql") {
    return new Map([
      [COMPUTED, "true"],
      [`${COMPUTED}.kind`, SQL],
      [`${COMPUTED}.expression`, declaration.expression],
      [`${COMPUTED}.inputs`, inputs],
      [REFRESH_SIGNATURES, "{}"],
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

/** True if a field is declared as a computed one, even if the declaration is damaged. */
export const isComputed = ({ metadata }: DeclaredField): boolean =>
  metadata.get(VIRTUAL) === "true" || metadata.get(COMPUTED) === "true";

/** Returns the declaration of a computed field; null for a plain one. */
export function declarationOf({ metadata }: DeclaredField): ColumnDeclaration | null {
  if (metadata.get(VIRTUAL) === "true") return functionDeclaration(metadata);
  return metadata.get(COMPUTED) === "true" ? ruleDeclaration(metadata) : null;
}

function functionDeclaration(metadata: ReadonlyMap<string, string>): ColumnDeclaration {
  const udfName = metadata.get(`${VIRTUAL}.udf_name`);
  const inputs = pathList(metadata.get(`${VIRTUAL}.udf_inputs`));
  if (udfName === undefined) return foreign(undefined, damaged(`${VIRTUAL}.udf_name`), inputs);
  if (inputs === null) return foreign(undefined, damaged(`${VIRTUAL}.udf_inputs`), inputs);
  return { kind: "function", udfName, udfVersion: metadata.get(`${VIRTUAL}.udf_version`), inputs };
}

function ruleDeclaration(metadata: ReadonlyMap<string, string>): ColumnDeclaration {
  const kind = metadata.get(`${COMPUTED}.kind`);
  const expression = metadata.get(`${COMPUTED}.expression`);
  const inputs = pathList(metadata.get(`${COMPUTED}.inputs`));
  if (kind === undefined) return foreign(kind, damaged(`${COMPUTED}.kind`), inputs);
  if (kind !== SQL) {
    const shown = JSON.stringify(kind.slice(0, MAX_SHOWN));
    return foreign(kind, `another engine computes it: ${COMPUTED}.kind of its metadata is ${shown}`, inputs);
  }
  if (expression === undefined) return foreign(kind, damaged(`${COMPUTED}.expression`), inputs);
  if (inputs === null) return foreign(kind, damaged(`${COMPUTED}.inputs`), inputs);
  return { kind, expression, inputs };
}

const damaged = (key: string): string => `its metadata has no ${key} that this release understands`;

const foreign = (
  declaredKind: string | undefined,
  problem: string,
  inputs: readonly string[] | null,
): ForeignDeclaration => ({ kind: "foreign", declaredKind, problem, inputs: inputs ?? [] });

/** Parses a JSON array of paths; null for anything else. */
function pathList(text: string | undefined): readonly string[] | null {
  if (text === undefined || text === "null") return [];
  let list: unknown;
  try {
    list = parseBoundedJson(text);
  } catch {
    // Parsing fails only for text that is not JSON.
    return null;
  }
  if (!Array.isArray(list) || list.length > MAX_INPUTS) return null;
  try {
    for (const path of list) {
      if (typeof path !== "string") return null;
      parseFieldPath(path);
    }
  } catch (error) {
    if (error instanceof InvalidInputError) return null;
    throw error;
  }
  return list as string[];
}

/**
 * Returns the computed columns whose values are outdated after some columns of a row are set. A column that
 * is computed from an outdated one is outdated too. Columns whose declaration names no inputs are left out.
 * @param set names of the columns that are set; they are never outdated
 */
export function outdatedFields<Field extends DeclaredField>(
  fields: readonly Field[],
  set: ReadonlySet<string>,
): Field[] {
  const computedFrom = new Map<string, Field[]>();
  for (const field of fields) {
    if (set.has(field.name)) continue;
    for (const input of new Set(inputNames(field))) {
      const dependents = computedFrom.get(input);
      if (dependents === undefined) computedFrom.set(input, [field]);
      else dependents.push(field);
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

/** Paths of a field's inputs, each once. */
const inputPaths = (field: DeclaredField): string[][] =>
  [...new Set(declarationOf(field)?.inputs)].map((path) => parseFieldPath(path));

/** An input of a computed column that a change of the schema would alter. */
export interface ChangedInput {
  /** Path of the input. */
  readonly input: string;
  /** Path of the changed field: the input itself, a field around it or a field inside it. */
  readonly changed: string;
  /** Name of the column that is computed from it. */
  readonly computed: string;
}

/**
 * Returns an input, of a column that stays, whose path no longer leads to the same values. The input, or a
 * field around it or inside it, has another name or type, or is gone. Nothing records which values were
 * computed from the earlier input. Inputs that were missing before are left out. Each path and field is
 * visited once.
 */
export function changedInput(
  staying: readonly TableField[],
  before: readonly TableField[],
  after: readonly TableField[],
): ChangedInput | null {
  const same = new Set<TableField>();
  for (const column of staying) {
    for (const path of inputPaths(column)) {
      const input = findField(before, path);
      if (input === null) continue;
      const changed = changedPart(input, after, same);
      if (changed !== null) return { input: input.path, changed, computed: column.name };
    }
  }
  return null;
}

/** Path of the first field, on the way to an input or inside it, that is gone or changed. */
function changedPart(
  { chain, field }: FieldAtPath,
  after: readonly TableField[],
  same: Set<TableField>,
): string | null {
  let now: TableField | undefined;
  for (const [depth, step] of chain.entries()) {
    now = fieldNamed(now?.children ?? after, step.name);
    if (!isStill(step, now)) return formatFieldPath(chain.slice(0, depth + 1).map(({ name }) => name));
  }
  const inside = now === undefined ? null : changedInside(field, now, same);
  return inside && formatFieldPath([...chain.map(({ name }) => name), ...inside]);
}

/** @param same cache of fields in which nothing changed, for paths that share fields */
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

/** True if the field has the same values: a field keeps its id as long as its values do not change. */
const isStill = (before: TableField, after: TableField | undefined): after is TableField =>
  after !== undefined && before.id === after.id && before.name === after.name;

/** Maps the name of each input column to the name of one column that is computed from it. */
export const computedByInput = (fields: readonly DeclaredField[]): ReadonlyMap<string, string> =>
  new Map(fields.flatMap((field) => inputNames(field).map((input) => [input, field.name] as const)));
