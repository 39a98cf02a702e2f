/**
 * Makes expressions in programs. Values are put in as values, never as text, so that nothing in them can be
 * taken for SQL:
 *
 *     col("a.b").gt(3).and(col("name").like("x%"))
 *     sql`lower(${col("name")}) = ${name}`
 */

import { InvalidInputError } from "../errors.js";
import { parseFieldPath } from "../ident.js";
import type { FilterValue } from "../namespace/queries.js";
import { parseExpression } from "./parse/parse.js";
import { printExpression } from "./parse/print.js";
import {
  type ArithmeticOperator,
  type ComparisonOperator,
  hasSyntax,
  NOWHERE,
  type Syntax,
  type SyntaxForm,
} from "./parse/syntax.js";

/** An operand: an expression, or a value. */
export type Operable = Expression | FilterValue;

/**
 * An expression that a program builds. It never changes; every method returns a new one.
 *
 * @example
 * const cheap = col("price").lt(10).and(col("name").like("a%"));
 * await ns.queryTable({ id: ["orders"], filter: cheap });
 */
export class Expression {
  /** The parsed form of the expression. */
  readonly syntax: Syntax;

  /** @internal */
  constructor(syntax: Syntax) {
    this.syntax = syntax;
  }

  /** True if the values are equal. Null if either is null, like all comparisons. */
  eq(operand: Operable): Expression {
    return this.#compared("=", operand);
  }

  /** True if the values differ. */
  ne(operand: Operable): Expression {
    return this.#compared("!=", operand);
  }

  /** True if the value is less. */
  lt(operand: Operable): Expression {
    return this.#compared("<", operand);
  }

  /** True if the value is less or equal. */
  lte(operand: Operable): Expression {
    return this.#compared("<=", operand);
  }

  /** True if the value is greater. */
  gt(operand: Operable): Expression {
    return this.#compared(">", operand);
  }

  /** True if the value is greater or equal. */
  gte(operand: Operable): Expression {
    return this.#compared(">=", operand);
  }

  /** True if the value is one of these. */
  in(values: readonly Operable[]): Expression {
    return this.#in(values, false);
  }

  /** True if the value is none of these. */
  notIn(values: readonly Operable[]): Expression {
    return this.#in(values, true);
  }

  /** True if the value lies between the bounds, or equals one of them. */
  between(low: Operable, high: Operable): Expression {
    const bounds = { low: syntaxOf(low), high: syntaxOf(high) };
    return make({ kind: "between", isNegated: false, operand: this.syntax, ...bounds });
  }

  /**
   * True if a text matches a pattern, in which `%` stands for any characters and `_` for one.
   * @param escaping one character that makes the wildcard after it literal. Default: the backslash
   */
  like(pattern: Operable, escaping: string | null = null): Expression {
    return this.#like(pattern, escaping, false);
  }

  /** Matches a pattern like {@link like}, in any case. */
  ilike(pattern: Operable, escaping: string | null = null): Expression {
    return this.#like(pattern, escaping, true);
  }

  /** True if the value is null. */
  isNull(): Expression {
    return make({ kind: "is", isNegated: false, truth: "null", operand: this.syntax });
  }

  /** True if the value is not null. */
  isNotNull(): Expression {
    return make({ kind: "is", isNegated: true, truth: "null", operand: this.syntax });
  }

  /** True if all conditions are true. */
  and(...others: readonly Operable[]): Expression {
    return make({ kind: "and", operands: [this.syntax, ...others.map(syntaxOf)] });
  }

  /** True if at least one condition is true. */
  or(...others: readonly Operable[]): Expression {
    return make({ kind: "or", operands: [this.syntax, ...others.map(syntaxOf)] });
  }

  /** Negates the condition. */
  not(): Expression {
    return make({ kind: "not", operand: this.syntax });
  }

  /** Adds two values. */
  plus(operand: Operable): Expression {
    return this.#computed("+", operand);
  }

  /** Subtracts a value. */
  minus(operand: Operable): Expression {
    return this.#computed("-", operand);
  }

  /** Multiplies two values. */
  times(operand: Operable): Expression {
    return this.#computed("*", operand);
  }

  /** Divides by a value. */
  over(operand: Operable): Expression {
    return this.#computed("/", operand);
  }

  /**
   * Casts the value to a type.
   * @param type its SQL name: `INT`, `DECIMAL(10, 2)`
   */
  cast(type: string): Expression {
    const parsed = parseExpression(`CAST(NULL AS ${type})`, "type");
    if (parsed.kind !== "cast") throw new InvalidInputError(`type: ${type} is not a type`);
    return make({ kind: "cast", operand: this.syntax, types: parsed.types });
  }

  /** Returns the expression as SQL text. */
  toString(): string {
    return printExpression(this.syntax);
  }

  #compared(operator: ComparisonOperator, operand: Operable): Expression {
    return make({ kind: "comparison", operator, left: this.syntax, right: syntaxOf(operand) });
  }

  #computed(operator: ArithmeticOperator, operand: Operable): Expression {
    return make({ kind: "arithmetic", operator, left: this.syntax, right: syntaxOf(operand) });
  }

  #in(values: readonly Operable[], isNegated: boolean): Expression {
    if (values.length === 0) return make({ kind: "boolean", value: isNegated });
    return make({ kind: "in", isNegated, operand: this.syntax, items: values.map(syntaxOf) });
  }

  #like(pattern: Operable, escaping: string | null, ignoresCase: boolean): Expression {
    if (escaping !== null && Array.from(escaping).length !== 1) {
      throw new InvalidInputError("escape: must be one character");
    }
    const form = { pattern: syntaxOf(pattern), escape: escaping, ignoresCase };
    return make({ kind: "like", isNegated: false, operand: this.syntax, ...form });
  }
}

/**
 * A column, or a member of one, by its path: `a`, `a.b`, `` a.`c.d` ``.
 * @throws InvalidInputError for a malformed path
 */
export function col(path: string): Expression {
  return make({ kind: "name", segments: parseFieldPath(path), isExact: true });
}

/** A constant value. Whole numbers are integers; a `Date` is a timestamp in milliseconds. */
export function lit(value: FilterValue): Expression {
  return make({ kind: "value", value });
}

/**
 * Parses SQL that contains values and expressions: `` sql`lower(name) = ${name}` ``.
 * @throws InvalidInputError if the text is not an expression
 */
export function sql(text: TemplateStringsArray, ...operands: readonly Operable[]): Expression {
  const names = operands.map((_, index) => `${PLACE}${index}`);
  const whole = text.reduce((before, part, index) => `${before} $${names[index - 1]} ${part}`);
  const replace = (node: Syntax): Syntax => {
    if (node.kind === "parameter" && node.name.startsWith(PLACE)) {
      const index = Number(node.name.slice(PLACE.length));
      if (index < operands.length) return syntaxOf(operands[index]);
    }
    return mapChildren(node, replace);
  };
  return new Expression(replace(parseExpression(whole, "sql")));
}

/**
 * Parses SQL in which a double-quoted name is a text if no column has that name, as in LanceDB before 0.30.
 * @param label the caller's name for the text, for messages
 * @throws InvalidInputError if the text is not an expression
 */
export function sqlWithQuotedTexts(text: string, label: string): Expression {
  const replace = (node: Syntax): Syntax => {
    const isQuoted = node.kind === "name" && node.segments.length === 1 && text[node.offset] === '"';
    return isQuoted
      ? { kind: "nameOrText", name: node.segments[0], offset: node.offset }
      : mapChildren(node, replace);
  };
  return new Expression(replace(parseExpression(text, label)));
}

/** Prefix of the placeholders of operands. */
const PLACE = "__place_";

const make = (form: SyntaxForm): Expression => new Expression({ ...form, offset: NOWHERE });

function syntaxOf(operand: Operable): Syntax {
  if (hasSyntax(operand)) return operand.syntax;
  return { kind: "value", value: operand as FilterValue, offset: NOWHERE };
}

function mapChildren(node: Syntax, map: (child: Syntax) => Syntax): Syntax {
  switch (node.kind) {
    case "negative":
    case "not":
    case "is":
    case "cast":
      return { ...node, operand: map(node.operand) };
    case "arithmetic":
    case "comparison":
    case "distinct":
      return { ...node, left: map(node.left), right: map(node.right) };
    case "and":
    case "or":
      return { ...node, operands: node.operands.map(map) };
    case "in":
      return { ...node, operand: map(node.operand), items: node.items.map(map) };
    case "between":
      return { ...node, operand: map(node.operand), low: map(node.low), high: map(node.high) };
    case "like":
      return { ...node, operand: map(node.operand), pattern: map(node.pattern) };
    case "case":
      return {
        ...node,
        subject: node.subject === null ? null : map(node.subject),
        branches: node.branches.map(({ when, result }) => ({ when: map(when), result: map(result) })),
        otherwise: node.otherwise === null ? null : map(node.otherwise),
      };
    case "call":
      return { ...node, operands: node.operands.map(map) };
    case "subscript":
      return { ...node, operand: map(node.operand), index: map(node.index) };
    case "array":
      return { ...node, items: node.items.map(map) };
    default:
      return node;
  }
}
