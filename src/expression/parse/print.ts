/** Prints expressions as SQL text that parses to the same expression. Values of programs become literals. */

import { isDate, isUint8Array } from "../../bytes/anyRealm.js";
import { InvalidInputError } from "../../errors.js";
import type { FilterValue } from "../../namespace/queries.js";
import type { Syntax, TypeName } from "./syntax.js";

/** Prints every operand in parentheses, except names and literals. */
export function printExpression(node: Syntax): string {
  switch (node.kind) {
    case "null":
      return "NULL";
    case "boolean":
      return node.value ? "TRUE" : "FALSE";
    case "number":
      return node.text;
    case "text":
      return quote(node.value);
    case "bytes":
      return hex(node.value);
    case "interval":
      return `INTERVAL ${quote(node.text)}`;
    case "value":
      return printValue(node.value);
    case "name":
      return printName(node.segments, node.isExact);
    case "nameOrText":
      return `"${node.name.replaceAll('"', '""')}"`;
    case "parameter":
      return `$${node.name}`;
    case "negative":
      return `-${operand(node.operand)}`;
    case "not":
      return `NOT ${operand(node.operand)}`;
    case "arithmetic":
    case "comparison":
      return `${operand(node.left)} ${node.operator} ${operand(node.right)}`;
    case "distinct":
      return `${operand(node.left)} IS ${not(node.isNegated)}DISTINCT FROM ${operand(node.right)}`;
    case "and":
    case "or":
      return node.operands.map(operand).join(node.kind === "and" ? " AND " : " OR ");
    case "in":
      return `${operand(node.operand)} ${not(node.isNegated)}IN (${node.items.map(printExpression).join(", ")})`;
    case "between":
      return `${operand(node.operand)} ${not(node.isNegated)}BETWEEN ${operand(node.low)} AND ${operand(node.high)}`;
    case "like": {
      const escaping = node.escape === null ? "" : ` ESCAPE ${quote(node.escape)}`;
      const word = node.ignoresCase ? "ILIKE" : "LIKE";
      return `${operand(node.operand)} ${not(node.isNegated)}${word} ${operand(node.pattern)}${escaping}`;
    }
    case "is":
      return `${operand(node.operand)} IS ${not(node.isNegated)}${node.truth.toUpperCase()}`;
    case "cast":
      return node.types.reduce(
        (text, { type, isTry }) => `${isTry ? "TRY_CAST" : "CAST"}(${text} AS ${printType(type)})`,
        printExpression(node.operand),
      );
    case "case": {
      const branches = node.branches.map(
        ({ when, result }) => ` WHEN ${printExpression(when)} THEN ${printExpression(result)}`,
      );
      const subject = node.subject === null ? "" : ` ${operand(node.subject)}`;
      const otherwise = node.otherwise === null ? "" : ` ELSE ${printExpression(node.otherwise)}`;
      return `CASE${subject}${branches.join("")}${otherwise} END`;
    }
    case "call":
      return `${node.name}(${node.operands.map(printExpression).join(", ")})`;
    case "aggregate": {
      const distinct = node.isDistinct ? "DISTINCT " : "";
      const operands = node.operands.length === 0 ? "*" : node.operands.map(printExpression).join(", ");
      const filter = node.filter === null ? "" : ` FILTER (WHERE ${printExpression(node.filter)})`;
      return `${node.name}(${distinct}${operands})${filter}`;
    }
    case "subscript":
      return `${operand(node.operand)}[${printExpression(node.index)}]`;
    case "array":
      return `[${node.items.map(printExpression).join(", ")}]`;
  }
}

const not = (isNegated: boolean): string => (isNegated ? "NOT " : "");

function operand(node: Syntax): string {
  const text = printExpression(node);
  return BARE.has(node.kind) && !text.startsWith("-") ? text : `(${text})`;
}

/** Kinds of operands without parentheses, unless they have a sign. */
const BARE: ReadonlySet<Syntax["kind"]> = new Set<Syntax["kind"]>(
  "null boolean text bytes interval name parameter call cast case array subscript number value".split(
    " ",
  ) as Syntax["kind"][],
);

const PLAIN_NAME = /^[A-Za-z_]\w*$/;

function printName(segments: readonly string[], isExact: boolean): string {
  const text = segments.map((segment, index) =>
    PLAIN_NAME.test(segment) && (index > 0 || !isExact) ? segment : `\`${segment.replaceAll("`", "``")}\``,
  );
  return text.join(".");
}

const printType = ({ name, isUnsigned, parameters }: TypeName): string =>
  `${name}${parameters.length > 0 ? `(${parameters.join(", ")})` : ""}${isUnsigned ? " UNSIGNED" : ""}`;

function printValue(value: FilterValue): string {
  if (value === null) return "NULL";
  switch (typeof value) {
    case "boolean":
      return value ? "TRUE" : "FALSE";
    case "bigint":
      return value.toString();
    case "number":
      return Number.isFinite(value) ? printNumber(value) : `CAST('${value}' AS DOUBLE)`;
    case "string":
      return quote(value);
  }
  if (isDate(value)) {
    if (Number.isNaN(value.getTime()))
      throw new InvalidInputError("a value of an expression is not a valid date");
    return `TIMESTAMP ${quote(value.toISOString().replace("T", " ").replace("Z", ""))}`;
  }
  if (isUint8Array(value)) return hex(value);
  return `[${value.map(printValue).join(", ")}]`;
}

/** Whole numbers beyond 2^53 are doubles, and remain doubles. */
function printNumber(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return String(value);
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const hex = (bytes: Uint8Array): string =>
  `X'${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}'`;
