/** Functions that the host registers for computed columns, checked once, when the namespace is opened. */

import { Field as ArrowField, type DataType } from "apache-arrow";
import type { Layout } from "../arrow/columns/column.js";
import { adoptType } from "../arrow/types/foreignTypes.js";
import { layoutOf } from "../arrow/types/layouts.js";
import { type LogicalField, logicalFieldOf } from "../arrow/types/logicalTypes.js";
import type { ForeignType } from "../arrow/types/typeParameters.js";
import { InvalidInputError, UnsupportedError } from "../errors.js";
import { formatFieldPath, parseFieldPath } from "../ident.js";
import type { BatchFunction, RowFunction, UserFunction } from "../namespace/options.js";

/** A checked function of the host. */
export interface RegisteredFunction {
  readonly name: string;
  readonly version: string;
  /** Canonical paths. */
  readonly inputs: readonly string[];
  /** Names of the inputs in the calls, as the host registered them. */
  readonly inputNames: readonly string[];
  /** Field of the function's values, under any name; it may be null. */
  readonly output: LogicalField;
  readonly outputType: DataType;
  readonly layout: Layout;
  readonly mayBeNull: boolean;
  readonly retries: number;
  readonly call:
    | { readonly kind: "row"; readonly row: RowFunction["row"] }
    | { readonly kind: "batch"; readonly batch: BatchFunction["batch"] };
}

const MEMBERS: ReadonlySet<string> = new Set([
  ...["version", "inputs", "output", "nullable", "retries", "row", "batch"],
]);
const DEFAULT_RETRIES = 2;
const MAX_RETRIES = 100;

/**
 * @param functions the option `functions`
 * @throws InvalidInputError naming function and member; UnsupportedError for an output that tables can't have
 */
export function registerFunctions(functions: unknown): ReadonlyMap<string, RegisteredFunction> {
  if (functions === undefined) return new Map();
  if (typeof functions !== "object" || functions === null || Array.isArray(functions)) {
    throw new InvalidInputError("functions: must be an object with a function for each name");
  }
  return new Map(
    Object.entries(functions).map(([name, each]) => [name, register(name, each as UserFunction)]),
  );
}

function register(name: string, userFunction: UserFunction): RegisteredFunction {
  const label = `functions.${formatFieldPath([name])}`;
  if (typeof userFunction !== "object" || userFunction === null)
    throw new InvalidInputError(`${label}: must be an object`);
  const unknownMember = Object.keys(userFunction).find((member) => !MEMBERS.has(member));
  if (unknownMember !== undefined) {
    throw new InvalidInputError(
      `${label}: has no member ${unknownMember}; it has ${[...MEMBERS].join(", ")}`,
    );
  }
  const { version, inputs, output, nullable, retries } = userFunction;
  if (typeof version !== "string" || version === "") {
    throw new InvalidInputError(`${label}.version: must be a text that is not empty`);
  }
  if (nullable !== undefined && typeof nullable !== "boolean") {
    throw new InvalidInputError(`${label}.nullable: must be true or false`);
  }
  if (retries !== undefined && !(Number.isSafeInteger(retries) && retries >= 0 && retries <= MAX_RETRIES)) {
    throw new InvalidInputError(
      `${label}.retries: must be an integer from 0 to ${MAX_RETRIES}, not ${retries}`,
    );
  }
  const paths = inputPaths(inputs, `${label}.inputs`);
  const { field, type } = outputField(output, `${label}.output`);
  return {
    name,
    version,
    inputs: paths,
    inputNames: [...inputs],
    output: field,
    outputType: type,
    layout: layoutOf(type, `${label}.output`),
    mayBeNull: nullable ?? true,
    retries: retries ?? DEFAULT_RETRIES,
    call: callOf(userFunction, label),
  };
}

function callOf(userFunction: UserFunction, label: string): RegisteredFunction["call"] {
  const { row, batch } = userFunction;
  if ((row === undefined) === (batch === undefined)) {
    throw new InvalidInputError(`${label}: must have either row or batch`);
  }
  if (row !== undefined) {
    if (typeof row !== "function") throw new InvalidInputError(`${label}.row: must be a function`);
    return { kind: "row", row: row.bind(userFunction) };
  }
  if (typeof batch !== "function") throw new InvalidInputError(`${label}.batch: must be a function`);
  return { kind: "batch", batch: batch.bind(userFunction) };
}

function inputPaths(inputs: unknown, label: string): string[] {
  if (!Array.isArray(inputs) || inputs.length === 0) {
    throw new InvalidInputError(`${label}: must be a list of at least one path`);
  }
  const paths = inputs.map((input: unknown, index) => {
    if (typeof input !== "string")
      throw new InvalidInputError(`${label}[${index}]: must be the path of a field`);
    return formatFieldPath(parseFieldPath(input));
  });
  if (new Set(paths).size < paths.length) throw new InvalidInputError(`${label}: names a field twice`);
  return paths;
}

function outputField(output: unknown, label: string): { field: LogicalField; type: DataType } {
  if (typeof output !== "object" || output === null || !("typeId" in output)) {
    throw new InvalidInputError(`${label}: must be a type of apache-arrow`);
  }
  const type = adoptType(output as ForeignType);
  const field = logicalFieldOf(new ArrowField("output", type, true), label);
  if (holdsDictionary(field)) {
    throw new UnsupportedError(`${label}: dictionaries are not supported as values of functions`);
  }
  return { field, type };
}

const holdsDictionary = ({ type, children }: LogicalField): boolean =>
  type.kind === "dictionary" || children.some(holdsDictionary);
