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
import { type ArithmeticOperator, type ComparisonOperator, NOWHERE, type Syntax } from "./parse/syntax.js";

/** What may stand where an operand is expected: an expression, or a value. */
export type Operable = Expression | FilterValue;

/**
 * An expression that a program made. It never changes; every method gives another.
 *
 * @example
 * const cheap = col("price").lt(10).and(col("name").like("a%"));
 * await ns.queryTable({ id: ["orders"], filter: cheap });
 */
export class Expression {
  /** What the expression is made of. */
  readonly syntax: Syntax;

  /** @internal */
  constructor(syntax: Syntax) {
    this.syntax = syntax;
  }

  /** Whether the values are equal; null where one is null, as with all comparisons. */
  eq(operand: Operable): Expression {
    return this.#compared("=", operand);
  }

  /** Whether the values differ. */
  ne(operand: Operable): Expression {
    return this.#compared("!=", operand);
  }

  /** Whether the value is less. */
  lt(operand: Operable): Expression {
    return this.#compared("<", operand);
  }

  /** Whether the value is less, or equal. */
  lte(operand: Operable): Expression {
    return this.#compared("<=", operand);
  }

  /** Whether the value is greater. */
  gt(operand: Operable): Expression {
    return this.#compared(">", operand);
  }

  /** Whether the value is greater, or equal. */
  gte(operand: Operable): Expression {
    return this.#compared(">=", operand);
  }

  /** Whether the value is one of these. */
  in(values: readonly Operable[]): Expression {
    return this.#in(values, false);
  }

  /** Whether the value is none of these. */
  notIn(values: readonly Operable[]): Expression {
    return this.#in(values, true);
  }

  /** Whether the value lies between two others, or is one of them. */
  between(low: Operable, high: Operable): Expression {
    const operand = this.syntax;
    return make({
      kind: "between",
      isNegated: false,
      operand,
      low: syntaxOf(low),
      high: syntaxOf(high),
      offset: NOWHERE,
    });
  }

  /**
   * Whether a text matches a pattern, in which `%` stands for any characters and `_` for one.
   * @param escaping one character that makes a wildcard mean itself. Default: the backslash
   */
  like(pattern: Operable, escaping: string | null = null): Expression {
    return this.#like(pattern, escaping, false);
  }

  /** The same as {@link like} in any case. */
  ilike(pattern: Operable, escaping: string | null = null): Expression {
    return this.#like(pattern, escaping, true);
  }

  /** Whether the value is null. */
  isNull(): Expression {
    return make({ kind: "is", isNegated: false, what: "null", operand: this.syntax, offset: NOWHERE });
  }

  /** Whether the value is not null. */
  isNotNull(): Expression {
    return make({ kind: "is", isNegated: true, what: "null", operand: this.syntax, offset: NOWHERE });
  }

  /** Whether both are true. */
  and(...others: readonly Operable[]): Expression {
    return make({ kind: "and", operands: [this.syntax, ...others.map(syntaxOf)], offset: NOWHERE });
  }

  /** Whether one is true, or both. */
  or(...others: readonly Operable[]): Expression {
    return make({ kind: "or", operands: [this.syntax, ...others.map(syntaxOf)], offset: NOWHERE });
  }

  /** The opposite. */
  not(): Expression {
    return make({ kind: "not", operand: this.syntax, offset: NOWHERE });
  }

  /** The sum. */
  plus(operand: Operable): Expression {
    return this.#computed("+", operand);
  }

  /** The difference. */
  minus(operand: Operable): Expression {
    return this.#computed("-", operand);
  }

  /** The product. */
  times(operand: Operable): Expression {
    return this.#computed("*", operand);
  }

  /** The quotient. */
  over(operand: Operable): Expression {
    return this.#computed("/", operand);
  }

  /**
   * The value as another type.
   * @param type as SQL names it: `INT`, `DECIMAL(10, 2)`
   */
  cast(type: string): Expression {
    const parsed = parseExpression(`CAST(NULL AS ${type})`, "type");
    if (parsed.kind !== "cast") throw new InvalidInputError(`type: ${type} is none`);
    return make({ kind: "cast", operand: this.syntax, types: parsed.types, offset: NOWHERE });
  }

  /** The expression as SQL text. */
  toString(): string {
    return printExpression(this.syntax);
  }

  #compared(operator: ComparisonOperator, operand: Operable): Expression {
    return make({
      kind: "comparison",
      operator,
      left: this.syntax,
      right: syntaxOf(operand),
      offset: NOWHERE,
    });
  }

  #computed(operator: ArithmeticOperator, operand: Operable): Expression {
    return make({
      kind: "arithmetic",
      operator,
      left: this.syntax,
      right: syntaxOf(operand),
      offset: NOWHERE,
    });
  }

  #in(values: readonly Operable[], isNegated: boolean): Expression {
    if (values.length === 0) return make({ kind: "boolean", value: isNegated, offset: NOWHERE });
    return make({
      kind: "in",
      isNegated,
      operand: this.syntax,
      items: values.map(syntaxOf),
      offset: NOWHERE,
    });
  }

  #like(pattern: Operable, escaping: string | null, ignoresCase: boolean): Expression {
    if (escaping !== null && Array.from(escaping).length !== 1) {
      throw new InvalidInputError("escape: must be one character");
    }
    return make({
      kind: "like",
      isNegated: false,
      ignoresCase,
      operand: this.syntax,
      pattern: syntaxOf(pattern),
      escape: escaping,
      offset: NOWHERE,
    });
  }
}

/**
 * A column, or a member of one, by its path: `a`, `a.b`, `` a.`c.d` ``.
 * @throws InvalidInputError for a malformed path
 */
export function col(path: string): Expression {
  return make({ kind: "name", segments: parseFieldPath(path), isExact: true, offset: NOWHERE });
}

/** A value. Whole numbers are integers; a `Date` is a timestamp in milliseconds. */
export function lit(value: FilterValue): Expression {
  return make({ kind: "value", value, offset: NOWHERE });
}

/**
 * An expression as SQL, with values and expressions in it: `` sql`lower(name) = ${name}` ``.
 * @throws InvalidInputError for a text that is no expression
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
  return make(replace(parseExpression(whole, "sql")));
}

/** Begins the names of the places of operands. */
const PLACE = "__place_";

const make = (syntax: Syntax): Expression => new Expression(syntax);

function syntaxOf(operand: Operable): Syntax {
  if (isExpression(operand)) return operand.syntax;
  return { kind: "value", value: operand as FilterValue, offset: NOWHERE };
}

/** Whether a value is an expression, of another copy of this package too. */
export const isExpression = (value: unknown): value is Expression =>
  value instanceof Expression ||
  (typeof value === "object" && value !== null && "syntax" in value && typeof value.syntax === "object");

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
