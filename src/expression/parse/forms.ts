/** Forms that begin with a word: CASE, CAST, and calls, some with words between the operands. */

import type { Steps } from "../../async/eventLoop.js";
import { AGGREGATES } from "./aggregateNames.js";
import { parseAggregate } from "./aggregates.js";
import type { Grammar } from "./grammar.js";
import { numberLiteral, typeNameAt } from "./literals.js";
import { COMPARE, LOOSEST } from "./operators.js";
import type { Syntax } from "./syntax.js";

/** Parses CASE after that word. */
export function* parseCase(grammar: Grammar, index: number): Steps<Syntax> {
  const { lexer } = grammar;
  const subject = lexer.keyword === "WHEN" ? null : yield* grammar.expression(LOOSEST);
  const branches: { when: Syntax; result: Syntax }[] = [];
  while (lexer.keyword === "WHEN") {
    lexer.next();
    const when = yield* grammar.expression(LOOSEST);
    grammar.expectWord("THEN");
    branches.push({ when, result: yield* grammar.expression(LOOSEST) });
  }
  if (branches.length === 0) throw grammar.fail(`expected WHEN, not ${grammar.shown()}`);
  let otherwise: Syntax | null = null;
  if (lexer.keyword === "ELSE") {
    lexer.next();
    otherwise = yield* grammar.expression(LOOSEST);
  }
  grammar.expectWord("END");
  return { kind: "case", subject, branches, otherwise, offset: index };
}

/** Parses CAST after that word. */
export function* parseCast(grammar: Grammar, index: number, isTry: boolean): Steps<Syntax> {
  grammar.expectSymbol("(");
  const operand = yield* grammar.expression(LOOSEST);
  grammar.expectWord("AS");
  const type = typeNameAt(grammar);
  grammar.expectSymbol(")");
  return { kind: "cast", operand, types: [{ type, isTry }], offset: index };
}

/** Parses a call from its opening parenthesis on. @param name in lower case */
export function* parseCall(grammar: Grammar, name: string, index: number): Steps<Syntax> {
  grammar.expectSymbol("(");
  grammar.refuseStatement();
  if (AGGREGATES.has(name)) return yield* parseAggregate(grammar, name, index);
  const form = WORDED_FORMS.get(name);
  const [called, operands] = form === undefined ? [name, yield* operandsOf(grammar)] : yield* form(grammar);
  grammar.expectSymbol(")");
  return { kind: "call", name: called, operands, offset: index };
}

/** Parses the operands of a function with words between them, and decides which function it is. */
type WordedForm = (grammar: Grammar) => Steps<readonly [name: string, operands: readonly Syntax[]]>;

/** EXTRACT(part FROM time). */
const extraction: WordedForm = function* (grammar) {
  const { lexer } = grammar;
  if (lexer.kind !== "word" && lexer.kind !== "text") throw grammar.fail("expected a part of a date");
  const part: Syntax = { kind: "text", value: lexer.text.toLowerCase(), offset: lexer.start };
  lexer.next();
  grammar.expectWord("FROM");
  return ["date_part", [part, yield* grammar.expression(LOOSEST)]];
};

/** POSITION(wanted IN text). */
const position: WordedForm = function* (grammar) {
  const wanted = yield* grammar.expression(COMPARE);
  grammar.expectWord("IN");
  return ["strpos", [yield* grammar.expression(LOOSEST), wanted]];
};

/** TRIM([side] [characters] FROM text), TRIM(text, characters). */
const trimming: WordedForm = function* (grammar) {
  const { lexer } = grammar;
  const side = TRIM_SIDES[lexer.keyword];
  if (side !== undefined) lexer.next();
  const called = side ?? "btrim";
  const first = lexer.keyword === "FROM" ? [] : [yield* grammar.expression(LOOSEST)];
  if (lexer.keyword === "FROM") {
    lexer.next();
    return [called, [yield* grammar.expression(LOOSEST), ...first]];
  }
  const operands = first;
  while (grammar.accept(",")) operands.push(yield* grammar.expression(LOOSEST));
  return [called, operands];
};

const TRIM_SIDES: Readonly<Record<string, string>> = { BOTH: "btrim", LEADING: "ltrim", TRAILING: "rtrim" };

/** SUBSTRING(text [FROM start] [FOR length]). */
const part = (name: string): WordedForm =>
  function* (grammar) {
    const { lexer } = grammar;
    const operands = yield* operandsOf(grammar);
    if (operands.length !== 1) return [name, operands];
    if (lexer.keyword === "FROM") {
      lexer.next();
      operands.push(yield* grammar.expression(LOOSEST));
    }
    if (lexer.keyword === "FOR") {
      lexer.next();
      if (operands.length === 1) operands.push(numberLiteral("1", lexer.start));
      operands.push(yield* grammar.expression(LOOSEST));
    }
    return [name, operands];
  };

const WORDED_FORMS: ReadonlyMap<string, WordedForm> = new Map([
  ["extract", extraction],
  ["position", position],
  ["trim", trimming],
  ["substring", part("substring")],
  ["substr", part("substr")],
]);

function* operandsOf(grammar: Grammar): Steps<Syntax[]> {
  const operands: Syntax[] = [];
  if (grammar.lexer.isSymbol(")")) return operands;
  if (grammar.lexer.isSymbol("*")) throw grammar.fail("expected an operand, not *");
  do operands.push(yield* grammar.expression(LOOSEST));
  while (grammar.accept(","));
  return operands;
}
