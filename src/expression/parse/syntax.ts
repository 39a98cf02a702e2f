/**
 * The tree of an expression before binding, from the parser or the builder. Chains of AND and of OR are flat,
 * whatever their length. Positions count UTF-16 units of the text; nodes that a program built have none.
 */

import type { FilterValue } from "../../namespace/queries.js";

/** Position of a node without a text. */
export const NOWHERE = -1;

/** A number in the text: exact for whole numbers, otherwise the nearest double. */
export type LiteralNumber = number | bigint;

export type ArithmeticOperator = "+" | "-" | "*" | "/" | "%" | "||" | "<<" | ">>";
export type ComparisonOperator = "=" | "!=" | "<" | "<=" | ">" | ">=";

interface Node {
  /** Offset of the node in the text, or of its operator if it has one; {@link NOWHERE} without a text. */
  readonly offset: number;
}

export interface NullLiteral extends Node {
  readonly kind: "null";
}

export interface BooleanLiteral extends Node {
  readonly kind: "boolean";
  readonly value: boolean;
}

export interface NumberLiteral extends Node {
  readonly kind: "number";
  readonly value: LiteralNumber;
  /** True if the number is whole and has neither point nor exponent. */
  readonly isWhole: boolean;
  /** The digits, from which a decimal is exact. */
  readonly text: string;
}

export interface TextLiteral extends Node {
  readonly kind: "text";
  readonly value: string;
}

export interface BytesLiteral extends Node {
  readonly kind: "bytes";
  readonly value: Uint8Array;
}

/** A length of time: `INTERVAL '1 month 2 days'`, `INTERVAL '1' DAY`. */
export interface IntervalLiteral extends Node {
  readonly kind: "interval";
  /** With its unit. */
  readonly text: string;
}

/** A value of a program. */
export interface ValueLiteral extends Node {
  readonly kind: "value";
  readonly value: FilterValue;
}

/** A column, or a member of one. */
export interface Name extends Node {
  readonly kind: "name";
  readonly segments: readonly string[];
  /** True if the first segment is in quotes, or comes from a program. It matches in exact case only. */
  readonly isExact: boolean;
}

/** A value that the caller passes beside the text: `$name`. */
export interface Parameter extends Node {
  readonly kind: "parameter";
  readonly name: string;
}

export interface Negative extends Node {
  readonly kind: "negative";
  readonly operand: Syntax;
}

export interface Not extends Node {
  readonly kind: "not";
  readonly operand: Syntax;
}

export interface Arithmetic extends Node {
  readonly kind: "arithmetic";
  readonly operator: ArithmeticOperator;
  readonly left: Syntax;
  readonly right: Syntax;
}

export interface Comparison extends Node {
  readonly kind: "comparison";
  readonly operator: ComparisonOperator;
  readonly left: Syntax;
  readonly right: Syntax;
}

/** IS [NOT] DISTINCT FROM: equality in which null equals null. */
export interface Distinct extends Node {
  readonly kind: "distinct";
  readonly isNegated: boolean;
  readonly left: Syntax;
  readonly right: Syntax;
}

export interface Logic extends Node {
  readonly kind: "and" | "or";
  readonly operands: readonly Syntax[];
}

export interface In extends Node {
  readonly kind: "in";
  readonly isNegated: boolean;
  readonly operand: Syntax;
  readonly items: readonly Syntax[];
}

export interface Between extends Node {
  readonly kind: "between";
  readonly isNegated: boolean;
  readonly operand: Syntax;
  readonly low: Syntax;
  readonly high: Syntax;
}

export interface Like extends Node {
  readonly kind: "like";
  readonly isNegated: boolean;
  readonly ignoresCase: boolean;
  readonly operand: Syntax;
  readonly pattern: Syntax;
  /** One character; null without ESCAPE. */
  readonly escape: string | null;
}

export interface Is extends Node {
  readonly kind: "is";
  readonly isNegated: boolean;
  readonly truth: "null" | "true" | "false" | "unknown";
  readonly operand: Syntax;
}

/** The SQL name of a type: `DECIMAL(10, 2)`, `INT UNSIGNED`. */
export interface TypeName {
  /** In upper case. */
  readonly name: string;
  readonly isUnsigned: boolean;
  readonly parameters: readonly number[];
  readonly offset: number;
}

export interface CastSyntax extends Node {
  readonly kind: "cast";
  readonly operand: Syntax;
  /** The types one after another: `a::int::string` has two. */
  readonly types: readonly { readonly type: TypeName; readonly isTry: boolean }[];
}

export interface Case extends Node {
  readonly kind: "case";
  /** The value that the branches compare with; null if they are conditions. */
  readonly subject: Syntax | null;
  readonly branches: readonly { readonly when: Syntax; readonly result: Syntax }[];
  readonly otherwise: Syntax | null;
}

export interface CallSyntax extends Node {
  readonly kind: "call";
  /** In lower case. */
  readonly name: string;
  readonly operands: readonly Syntax[];
}

/** `a[1]`, or `a['b']`, which is a member of a struct. */
export interface Subscript extends Node {
  readonly kind: "subscript";
  readonly operand: Syntax;
  readonly index: Syntax;
}

export interface ArrayLiteral extends Node {
  readonly kind: "array";
  readonly items: readonly Syntax[];
}

export type Syntax =
  | NullLiteral
  | BooleanLiteral
  | NumberLiteral
  | TextLiteral
  | BytesLiteral
  | IntervalLiteral
  | ValueLiteral
  | Name
  | Parameter
  | Negative
  | Not
  | Arithmetic
  | Comparison
  | Distinct
  | Logic
  | In
  | Between
  | Like
  | Is
  | CastSyntax
  | Case
  | CallSyntax
  | Subscript
  | ArrayLiteral;
