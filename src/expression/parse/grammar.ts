/** The common part of the rules of the grammar: the current token, expected tokens, and errors. */

import { Pace, type Steps } from "../../async/eventLoop.js";
import { type ExpressionSource, problem } from "./problem.js";
import type { Syntax } from "./syntax.js";
import type { Lexer } from "./tokens.js";

/** Words that begin a statement; in the position of an operand, a subquery. */
const STATEMENTS: ReadonlySet<string> = new Set(["SELECT", "WITH", "EXISTS"]);

export abstract class Grammar {
  readonly lexer: Lexer;
  readonly pace = new Pace();
  readonly #source: ExpressionSource;

  constructor(lexer: Lexer, source: ExpressionSource) {
    this.lexer = lexer;
    this.#source = source;
  }

  /** Parses up to an operator that binds no more strongly. */
  abstract expression(precedence: number): Steps<Syntax>;

  accept(symbol: string): boolean {
    if (!this.lexer.isSymbol(symbol)) return false;
    this.lexer.next();
    return true;
  }

  expectSymbol(symbol: string): void {
    if (!this.accept(symbol)) throw this.fail(`expected ${symbol}, not ${this.shown()}`);
  }

  expectWord(keyword: string): void {
    if (this.lexer.keyword !== keyword) throw this.fail(`expected ${keyword}, not ${this.shown()}`);
    this.lexer.next();
  }

  refuseStatement(): void {
    if (STATEMENTS.has(this.lexer.keyword)) throw this.fail("subqueries are not supported");
  }

  shown(): string {
    const { kind, start, end } = this.lexer;
    if (kind === "end") return "the end";
    const text = (this.#source.text ?? "").slice(start, end);
    return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  }

  fail(reason: string): Error {
    return problem(this.#source, this.lexer.start, reason);
  }
}

const MAX_SHOWN = 40;
