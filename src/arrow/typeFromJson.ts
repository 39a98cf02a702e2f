/**
 * Types as programs name them: by the namespace spec's JSON, in its vocabulary (`utf8`, `float64`) or in that of
 * tables' schemas (`string`, `double`, `timestamp:us:-`), or by an apache-arrow type of any version.
 */

import {
  type DataType,
  Decimal,
  Field,
  FixedSizeBinary,
  FixedSizeList,
  LargeList,
  List,
  Map_,
  Struct,
} from "apache-arrow";
import { InvalidInputError } from "../errors.js";
import { adoptType, arrowTypeFromLogical, type ForeignType } from "./types.js";

/** The spec's names for types that tables' schemas have another name for. */
const SPEC_NAMES: ReadonlyMap<string, string> = new Map([
  ["boolean", "bool"],
  ["float16", "halffloat"],
  ["float32", "float"],
  ["float64", "double"],
  ["utf8", "string"],
  ["large_utf8", "large_string"],
  ["date32", "date32:day"],
  ["date64", "date64:ms"],
]);
/** Names that leave open in which unit; with one they are names of tables' schemas. */
const WITHOUT_UNIT = ["timestamp", "time32", "time64", "duration"];
/** No type is nested deeper. */
const MAX_DEPTH = 64;

/**
 * @param path the column, for messages
 * @throws InvalidInputError on something that names no type, UnsupportedError on a type that is not stored
 */
export function typeFromJson(given: unknown, path: string, depth = 0): DataType {
  const invalid = (reason: string) => new InvalidInputError(`type of column ${path}: ${reason}`);
  if (depth > MAX_DEPTH) throw invalid(`nested deeper than ${MAX_DEPTH}`);
  if (typeof given === "string") return typeFromJson({ type: given }, path, depth);
  if (typeof given !== "object" || given === null) throw invalid("must be an object with a member type");
  if ("typeId" in given) return adoptType(given as ForeignType);
  const { type: name, length, fields } = given as Record<string, unknown>;
  if (typeof name !== "string") throw invalid("must be an object with a member type");
  const children = (count: number | null): Field[] => {
    if (!Array.isArray(fields) || (count !== null && fields.length !== count)) {
      throw invalid(`${name} needs ${count === null ? "a list of fields" : `fields, ${count} of them`}`);
    }
    return fields.map((field) => fieldFromJson(field, path, depth + 1));
  };
  switch (name) {
    case "list":
      return new List(children(1)[0]);
    case "large_list":
      return new LargeList(children(1)[0]);
    case "fixed_size_list":
      return new FixedSizeList(size(length, invalid), children(1)[0]);
    case "struct":
      return new Struct(children(null));
    case "map":
      return new Map_(children(1)[0] as ConstructorParameters<typeof Map_>[0]);
    case "fixed_size_binary":
      return new FixedSizeBinary(size(length, invalid));
    case "decimal128":
    case "decimal256": {
      const digits = size(length, invalid);
      return new Decimal(digits % 1000, Math.floor(digits / 1000), Number(name.slice(7)));
    }
  }
  if (WITHOUT_UNIT.includes(name))
    throw invalid(
      `${name} leaves the unit open; write one as in ${name}:us${name === "timestamp" ? ":-" : ""}`,
    );
  return arrowTypeFromLogical(SPEC_NAMES.get(name) ?? name, path);
}

function fieldFromJson(given: unknown, path: string, depth: number): Field {
  if (typeof given !== "object" || given === null) {
    throw new InvalidInputError(`type of column ${path}: fields must be objects`);
  }
  const { name, nullable = true, type, metadata = {} } = given as Record<string, unknown>;
  if (typeof name !== "string" || typeof nullable !== "boolean") {
    throw new InvalidInputError(`type of column ${path}: a field needs a name, and nullable is a boolean`);
  }
  if (typeof metadata !== "object" || metadata === null) {
    throw new InvalidInputError(`type of column ${path}: metadata must be an object of strings`);
  }
  const entries = Object.entries(metadata);
  if (entries.some(([, value]) => typeof value !== "string")) {
    throw new InvalidInputError(`type of column ${path}: metadata must be an object of strings`);
  }
  return new Field(name, typeFromJson(type, `${path}.${name}`, depth), nullable, new Map(entries));
}

function size(length: unknown, invalid: (reason: string) => InvalidInputError): number {
  if (typeof length === "number" && Number.isSafeInteger(length) && length > 0) return length;
  throw invalid("length must be a positive integer");
}
