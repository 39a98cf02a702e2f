/** Types by their SQL names. */

import type { TimeUnit } from "../../arrow/types/type.js";
import type { TypeName } from "../parse/syntax.js";
import { BINARY, BOOL, DATE, FLOAT32, FLOAT64, STRING, timestamp, type ValueType } from "../values/types.js";
import type { BoundNodes } from "./nodes.js";

/**
 * @param precision digits of a second in a timestamp whose name has none
 * @throws InvalidInputError, UnsupportedError for an unknown name
 */
export function namedType(nodes: BoundNodes, name: TypeName, precision: 6 | 9): ValueType {
  const { parameters, isUnsigned } = name;
  const refuse = (): never => {
    throw nodes.invalid({ offset: name.offset }, `the type ${name.name} does not take these parameters`);
  };
  const bits = INTEGER_BITS[name.name];
  if (bits !== undefined) return { kind: "int", bits, signed: !isUnsigned };
  if (isUnsigned) return refuse();
  switch (name.name) {
    case "BOOLEAN":
      return BOOL;
    case "FLOAT":
      return FLOAT32;
    case "DOUBLE":
      return FLOAT64;
    case "STRING":
      return STRING;
    case "BINARY":
      return BINARY;
    case "DATE":
      return DATE;
    case "TIMESTAMP":
    case "DATETIME": {
      const unit = TIMESTAMP_UNITS[parameters[0] ?? precision];
      return unit === undefined || parameters.length > 1 ? refuse() : timestamp(unit, null);
    }
    case "DECIMAL": {
      const [digits, scale] = parameters;
      if (parameters.length !== 2 || digits < 1 || digits > 38 || scale > digits) return refuse();
      return { kind: "decimal", bits: 128, precision: digits, scale };
    }
  }
  throw nodes.unsupported(name, `the type ${name.name}`);
}

const INTEGER_BITS: Readonly<Record<string, 8 | 16 | 32 | 64>> = {
  TINYINT: 8,
  SMALLINT: 16,
  INT: 32,
  INTEGER: 32,
  BIGINT: 64,
};

const TIMESTAMP_UNITS: Readonly<Record<number, TimeUnit>> = { 0: "s", 3: "ms", 6: "us", 9: "ns" };
