/**
 * Parses SQL expressions by precedence climbing, with the precedences that the reference's parser has.
 * Operators that bind most strongly come first:
 *
 *     a.b  a[1]            members and items
 *     ::                   casts
 *     -  (prefix)
 *     *  /  %  ||
 *     +  -
 *     <<  >>
 *     comparisons, IN, BETWEEN
 *     LIKE, ILIKE
 *     IS
 *     NOT  (prefix)
 *     AND
 *     OR
 *
 * Chains of AND and of OR become one node each. Statements, subqueries and text after the end are errors.
 */

import { runSync, type Steps } from "../../async/eventLoop.js";
import { parseCall, parseCase, parseCast } from "./forms.js";
import { Grammar } from "./grammar.js";
import { hexBytes, intervalLiteral, listItems, numberLiteral, typeNameAt } from "./literals.js";
import { readLongTexts } from "./longTexts.js";
import { AND, COMPARE, IS, LIKE, LOOSEST, MULTIPLY, NOT, PRECEDENCE } from "./operators.js";
import { problem } from "./problem.js";
import type { ArithmeticOperator, ComparisonOperator, Syntax, TypeName } from "./syntax.js";
import { Lexer } from "./tokens.js";

/** Maximum number of UTF-16 units of an expression. */
const MAX_LENGTH = 2 ** 24;
/** Maximum depth of parentheses, arguments and prefix operators. */
const MAX_NESTING = 64;
/** Maximum number of operators in a row other than AND and OR: `a + a + a …`. */
const MAX_CHAIN = 512;
/** Maximum number of names in a path: types nest no deeper. */
const MAX_MEMBERS = 256;

/** Parses like {@link parseInSteps}, in one go. */
export const parseExpression = (text: string, label: string): Syntax => runSync(parseInSteps(text, label));

/**
 * @param label the caller's name for the text, for messages
 * @throws InvalidInputError with position and a caret line
 */
export function* parseInSteps(text: string, label: string): Steps<Syntax> {
  const source = { label, text };
  if (text.length > MAX_LENGTH) {
    throw problem({ label, text: null }, 0, `it has more than ${MAX_LENGTH} characters`);
  }
  const lexer = new Lexer(source, yield* readLongTexts(text));
  if (lexer.kind === "end") throw problem({ label, text: null }, 0, "the expression is empty");
  const parser = new Parser(lexer, source);
  const parsed = yield* parser.expression(LOOSEST);
  parser.end();
  return parsed;
}

/** Words that cannot be names in the position of an operand. */
const RESERVED = new Set(
  "AND OR IN IS LIKE ILIKE BETWEEN FROM WHERE GROUP ORDER HAVING LIMIT OFFSET UNION INTERSECT EXCEPT WHEN THEN ELSE END AS ON JOIN ESCAPE".split(
    " ",
  ),
);
/** Functions that are called without parentheses. */
const MOMENTS: ReadonlySet<string> = new Set(["CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP"]);
/** Types whose name makes the text after it a literal of that type. */
const TYPED_LITERALS = new Set(
  "DATE TIMESTAMP DATETIME BOOLEAN TINYINT SMALLINT INT INTEGER BIGINT FLOAT DOUBLE STRING BINARY".split(" "),
);
/** Comparisons with several spellings. */
const SPELLINGS: Readonly<Record<string, ComparisonOperator>> = { "==": "=", "<>": "!=" };

class Parser extends Grammar {
  #nesting = 0;

  end(): void {
    const { lexer } = this;
    if (lexer.isSymbol(";")) lexer.next();
    if (lexer.kind !== "end") throw this.fail(`unexpected ${this.shown()} after the end of the expression`);
  }

  *expression(precedence: number): Steps<Syntax> {
    if (++this.#nesting > MAX_NESTING) throw this.fail(`the expression is nested deeper than ${MAX_NESTING}`);
    if (this.pace.isStep()) yield;
    let left = this.#leaf() ?? (yield* this.#form());
    let chain = 0;
    for (;;) {
      const next = this.#precedence();
      if (next <= precedence) break;
      if (next > AND && ++chain > MAX_CHAIN)
        throw this.fail(`there are more than ${MAX_CHAIN} operators in a row`);
      left = yield* this.#infix(left, next);
    }
    this.#nesting--;
    return left;
  }

  #precedence(): number {
    const { lexer } = this;
    const { kind, text, keyword, start } = lexer;
    if (keyword !== "NOT") return PRECEDENCE[kind === "symbol" ? text : keyword] ?? LOOSEST;
    lexer.next();
    const negated = PRECEDENCE[lexer.keyword] ?? LOOSEST;
    lexer.rewind(start);
    return negated >= LIKE ? negated : LOOSEST;
  }

  *#infix(left: Syntax, precedence: number): Steps<Syntax> {
    const { lexer } = this;
    const index = lexer.start;
    if (lexer.kind === "symbol") {
      const symbol = lexer.text;
      if (symbol === "[") return yield* this.#subscript(left, index);
      if (symbol === ".") return this.#memberSuffix(left, index);
      if (symbol === "::") return this.#castSuffix(left, index);
      lexer.next();
      const right = yield* this.expression(precedence);
      if (precedence !== COMPARE) {
        return { kind: "arithmetic", operator: symbol as ArithmeticOperator, left, right, offset: index };
      }
      const operator = SPELLINGS[symbol] ?? (symbol as ComparisonOperator);
      return { kind: "comparison", operator, left, right, offset: index };
    }
    const { keyword } = lexer;
    switch (keyword) {
      case "AND":
      case "OR": {
        lexer.next();
        const right = yield* this.expression(precedence);
        const kind = keyword === "AND" ? "and" : "or";
        // The node was made here, and nothing else refers to it.
        const operands: Syntax[] = left.kind === kind ? (left.operands as Syntax[]) : [left];
        if (right.kind === kind) for (const operand of right.operands) operands.push(operand);
        else operands.push(right);
        return left.kind === kind ? left : { kind, operands, offset: index };
      }
      case "IS":
        lexer.next();
        return yield* this.#is(left, index);
    }
    const isNegated = keyword === "NOT";
    if (isNegated) lexer.next();
    switch (lexer.keyword) {
      case "IN":
        lexer.next();
        return yield* this.#in(left, isNegated, index);
      case "BETWEEN": {
        lexer.next();
        const low = yield* this.expression(COMPARE);
        this.expectWord("AND");
        const high = yield* this.expression(COMPARE);
        return { kind: "between", isNegated, operand: left, low, high, offset: index };
      }
      default:
        return yield* this.#like(left, isNegated, index);
    }
  }

  *#is(operand: Syntax, index: number): Steps<Syntax> {
    const { lexer } = this;
    const isNegated = lexer.keyword === "NOT";
    if (isNegated) lexer.next();
    const { keyword } = lexer;
    switch (keyword) {
      case "NULL":
      case "TRUE":
      case "FALSE":
      case "UNKNOWN": {
        lexer.next();
        const truth = keyword.toLowerCase() as "null" | "true" | "false" | "unknown";
        return { kind: "is", isNegated, truth, operand, offset: index };
      }
      case "DISTINCT": {
        lexer.next();
        this.expectWord("FROM");
        const right = yield* this.expression(IS);
        return { kind: "distinct", isNegated, left: operand, right, offset: index };
      }
    }
    throw this.fail(`expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM, not ${this.shown()}`);
  }

  *#in(operand: Syntax, isNegated: boolean, index: number): Steps<Syntax> {
    this.expectSymbol("(");
    this.refuseStatement();
    const items = yield* listItems(this, ")");
    if (items.length === 0) throw this.fail("expected a value");
    this.expectSymbol(")");
    return { kind: "in", isNegated, operand, items, offset: index };
  }

  *#like(operand: Syntax, isNegated: boolean, index: number): Steps<Syntax> {
    const { lexer } = this;
    const ignoresCase = lexer.keyword === "ILIKE";
    lexer.next();
    const pattern = yield* this.expression(LIKE);
    let escaping: string | null = null;
    if (lexer.keyword === "ESCAPE") {
      lexer.next();
      if (lexer.kind !== "text" || Array.from(lexer.text).length !== 1) {
        throw this.fail("expected one character in single quotes after ESCAPE");
      }
      escaping = lexer.text;
      lexer.next();
    }
    return { kind: "like", isNegated, ignoresCase, operand, pattern, escape: escaping, offset: index };
  }

  *#subscript(operand: Syntax, slot: number): Steps<Syntax> {
    const { lexer } = this;
    lexer.next();
    const index = yield* this.expression(LOOSEST);
    this.expectSymbol("]");
    if (operand.kind === "name" && index.kind === "text") {
      return { ...operand, segments: [...operand.segments, index.value] };
    }
    return { kind: "subscript", operand, index, offset: slot };
  }

  /** Parses a member of an item, or of the result of a function. */
  #memberSuffix(operand: Syntax, slot: number): Syntax {
    const { lexer } = this;
    if (operand.kind !== "subscript" && operand.kind !== "call") {
      throw this.fail("expected a column before the dot");
    }
    lexer.next();
    if (lexer.kind !== "word" && lexer.kind !== "quoted") throw this.fail("expected a name after the dot");
    const index = this.#token({ kind: "text", value: lexer.text, offset: lexer.start });
    return { kind: "subscript", operand, index, offset: slot };
  }

  #castSuffix(operand: Syntax, index: number): Syntax {
    const { lexer } = this;
    const types: { type: TypeName; isTry: boolean }[] = [];
    while (lexer.isSymbol("::")) {
      lexer.next();
      types.push({ type: typeNameAt(this), isTry: false });
    }
    return { kind: "cast", operand, types, offset: index };
  }

  /** Parses a literal, a name or a parameter; null for anything else. */
  #leaf(): Syntax | null {
    const { kind, text, start: offset } = this.lexer;
    switch (kind) {
      case "number":
        return this.#token(numberLiteral(text, offset));
      case "text":
        return this.#token({ kind: "text", value: text, offset });
      case "hex":
        return this.#token({ kind: "bytes", value: hexBytes(this, text), offset });
      case "parameter":
        return this.#token({ kind: "parameter", name: text, offset });
      case "quoted":
        return this.#name(true);
      case "symbol":
        return null;
      case "end":
        throw this.fail("the expression ends where an operand was expected");
      case "word":
        return this.#wordLeaf(offset);
    }
  }

  /** Returns a node that is one token, and goes on to the next. */
  #token<Node extends Syntax>(node: Node): Node {
    this.lexer.next();
    return node;
  }

  #wordLeaf(index: number): Syntax | null {
    const { lexer } = this;
    const { keyword } = lexer;
    switch (keyword) {
      case "NULL":
        return this.#token({ kind: "null", offset: index });
      case "TRUE":
      case "FALSE":
        return this.#token({ kind: "boolean", value: keyword === "TRUE", offset: index });
      case "NOT":
      case "CASE":
        return null;
    }
    this.refuseStatement();
    if (RESERVED.has(keyword)) throw this.fail(`expected an operand, not ${this.shown()}`);
    lexer.next();
    if (lexer.isSymbol("(") || (keyword === "ARRAY" && lexer.isSymbol("["))) {
      lexer.rewind(index);
      return null;
    }
    if (TYPED_LITERALS.has(keyword) && lexer.kind === "text") {
      const operand = this.#token({ kind: "text", value: lexer.text, offset: lexer.start });
      const type: TypeName = { name: keyword, isUnsigned: false, parameters: [], offset: index };
      return { kind: "cast", operand, types: [{ type, isTry: false }], offset: index };
    }
    if (keyword === "INTERVAL" && (lexer.kind === "text" || lexer.kind === "number")) {
      return intervalLiteral(this, index);
    }
    if (MOMENTS.has(keyword))
      return { kind: "call", name: keyword.toLowerCase(), operands: [], offset: index };
    lexer.rewind(index);
    return this.#name(false);
  }

  /** Parses a form that begins with a word or symbol and has operands. */
  *#form(): Steps<Syntax> {
    const { lexer } = this;
    const { keyword, start: index } = lexer;
    if (lexer.kind === "symbol") return yield* this.#symbolForm(index);
    lexer.next();
    switch (keyword) {
      case "NOT":
        return { kind: "not", operand: yield* this.expression(NOT), offset: index };
      case "CASE":
        return yield* parseCase(this, index);
      case "CAST":
      case "TRY_CAST":
        return yield* parseCast(this, index, keyword === "TRY_CAST");
      case "ARRAY":
        if (this.accept("[")) return yield* this.#array(index);
    }
    return yield* parseCall(this, keyword.toLowerCase(), index);
  }

  *#symbolForm(index: number): Steps<Syntax> {
    const { lexer } = this;
    switch (lexer.text) {
      case "(": {
        lexer.next();
        this.refuseStatement();
        const inner = yield* this.expression(LOOSEST);
        if (lexer.isSymbol(",")) throw this.fail("expected ), because only IN takes a list");
        this.expectSymbol(")");
        return inner;
      }
      case "-": {
        lexer.next();
        // A cast binds more strongly than the sign. For a literal, the order makes no difference.
        if (lexer.kind === "number") return this.#token(numberLiteral(`-${lexer.text}`, index));
        return { kind: "negative", operand: yield* this.expression(MULTIPLY), offset: index };
      }
      case "[":
        lexer.next();
        return yield* this.#array(index);
    }
    throw this.fail(`expected an operand, not ${this.shown()}`);
  }

  #name(isExact: boolean): Syntax {
    const { lexer } = this;
    const index = lexer.start;
    const segments = [lexer.text];
    lexer.next();
    while (lexer.isSymbol(".")) {
      lexer.next();
      if (lexer.kind !== "word" && lexer.kind !== "quoted") throw this.fail("expected a name after the dot");
      if (segments.length === MAX_MEMBERS)
        throw this.fail(`there are more than ${MAX_MEMBERS} names in a row`);
      segments.push(lexer.text);
      lexer.next();
    }
    if (lexer.isSymbol("(")) throw this.fail("the name of a function has no dots and no quotes");
    return { kind: "name", segments, isExact, offset: index };
  }

  *#array(index: number): Steps<Syntax> {
    const items = yield* listItems(this, "]");
    this.expectSymbol("]");
    return { kind: "array", items, offset: index };
  }
}
