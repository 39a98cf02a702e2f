/**
 * The tree of an expression before binding, from the parser or the builder. Chains of AND and of OR are flat,
 * whatever their length. Positions count UTF-16 units of the text; nodes that a program built have none.
 */

import type { FilterValue } from "../../namespace/queries.js";

/** Position of a node without a text. */
export const NOWHERE = -1;

export type ArithmeticOperator = "+" | "-" | "*" | "/" | "%" | "||" | "<<" | ">>";
export type ComparisonOperator = "=" | "!=" | "<" | "<=" | ">" | ">=";

/** The SQL name of a type: `DECIMAL(10, 2)`, `INT UNSIGNED`. */
export interface TypeName {
  /** In upper case. */
  readonly name: string;
  readonly isUnsigned: boolean;
  readonly parameters: readonly number[];
  readonly offset: number;
}

/** A node without its position. */
export type SyntaxForm =
  | { readonly kind: "null" }
  | { readonly kind: "boolean"; readonly value: boolean }
  | {
      readonly kind: "number";
      /** Exact for whole numbers, otherwise the nearest double. */
      readonly value: number | bigint;
      /** True if the number is whole and has neither point nor exponent. */
      readonly isWhole: boolean;
      /** The digits, from which a decimal is exact. */
      readonly text: string;
    }
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "bytes"; readonly value: Uint8Array }
  /** A length of time, with its unit: `1 month 2 days`. */
  | { readonly kind: "interval"; readonly text: string }
  /** A value of a program. */
  | { readonly kind: "value"; readonly value: FilterValue }
  /**
   * A column, or a member of one. It is exact if the first segment is in quotes or comes from a program. Then
   * the segment matches in exact case only.
   */
  | { readonly kind: "name"; readonly segments: readonly string[]; readonly isExact: boolean }
  /** A column if the table has one of that name, and otherwise a text. */
  | { readonly kind: "nameOrText"; readonly name: string }
  /** A value that the caller passes beside the text: `$name`. */
  | { readonly kind: "parameter"; readonly name: string }
  | { readonly kind: "negative" | "not"; readonly operand: Syntax }
  | (Pair & { readonly kind: "arithmetic"; readonly operator: ArithmeticOperator })
  | (Pair & { readonly kind: "comparison"; readonly operator: ComparisonOperator })
  /** IS [NOT] DISTINCT FROM: equality in which null equals null. */
  | (Pair & { readonly kind: "distinct"; readonly isNegated: boolean })
  | { readonly kind: "and" | "or"; readonly operands: readonly Syntax[] }
  | (Test & { readonly kind: "in"; readonly items: readonly Syntax[] })
  | (Test & { readonly kind: "between"; readonly low: Syntax; readonly high: Syntax })
  | (Test & {
      readonly kind: "like";
      readonly ignoresCase: boolean;
      readonly pattern: Syntax;
      /** One character; null without ESCAPE. */
      readonly escape: string | null;
    })
  | (Test & { readonly kind: "is"; readonly truth: "null" | "true" | "false" | "unknown" })
  | {
      readonly kind: "cast";
      readonly operand: Syntax;
      /** The types one after another: `a::int::string` has two. */
      readonly types: readonly { readonly type: TypeName; readonly isTry: boolean }[];
    }
  | {
      readonly kind: "case";
      /** The value that the branches compare with; null if they are conditions. */
      readonly subject: Syntax | null;
      readonly branches: readonly { readonly when: Syntax; readonly result: Syntax }[];
      readonly otherwise: Syntax | null;
    }
  /** A call of a function, whose name is in lower case. */
  | { readonly kind: "call"; readonly name: string; readonly operands: readonly Syntax[] }
  /** A call of an aggregate function, whose name is in lower case. `count(*)` has no operands. */
  | {
      readonly kind: "aggregate";
      readonly name: string;
      readonly operands: readonly Syntax[];
      readonly isDistinct: boolean;
      /** Condition of FILTER (WHERE …); null without one. */
      readonly filter: Syntax | null;
    }
  /** `a[1]`, or `a['b']`, which is a member of a struct. */
  | { readonly kind: "subscript"; readonly operand: Syntax; readonly index: Syntax }
  | { readonly kind: "array"; readonly items: readonly Syntax[] };

interface Pair {
  readonly left: Syntax;
  readonly right: Syntax;
}

interface Test {
  readonly isNegated: boolean;
  readonly operand: Syntax;
}

export type Syntax = SyntaxForm & {
  /** Offset of the node in the text, or of its operator if it has one; {@link NOWHERE} without a text. */
  readonly offset: number;
};

/** The node of a kind. */
export type SyntaxOf<Kind extends Syntax["kind"]> = Extract<Syntax, { readonly kind: Kind }>;

/** True if the value holds a parsed expression. */
export const hasSyntax = (value: unknown): value is { readonly syntax: Syntax } =>
  typeof value === "object" && value !== null && "syntax" in value && typeof value.syntax === "object";
