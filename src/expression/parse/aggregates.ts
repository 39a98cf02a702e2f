/** Calls of aggregate functions: `count(*)`, `count(DISTINCT a)`, `sum(a) FILTER (WHERE b)`. */

import type { Steps } from "../../async/eventLoop.js";
import { SPELLINGS } from "./aggregateNames.js";
import type { Grammar } from "./grammar.js";
import { numberLiteral } from "./literals.js";
import { LOOSEST } from "./operators.js";
import { NOWHERE, type Syntax } from "./syntax.js";

/** Parses a call after its opening parenthesis, with WITHIN GROUP and FILTER after it. */
export function* parseAggregate(grammar: Grammar, spelling: string, index: number): Steps<Syntax> {
  const { lexer } = grammar;
  const name = SPELLINGS.get(spelling) ?? spelling;
  const isDistinct = lexer.keyword === "DISTINCT";
  if (isDistinct) lexer.next();
  const isOfRows = name === "count" && !isDistinct && grammar.accept("*");
  let operands = isOfRows ? [] : yield* operandsOf(grammar);
  grammar.expectSymbol(")");
  if (lexer.keyword === "WITHIN" && operands.length === 1) operands = yield* sorted(grammar, operands[0]);
  const filter = lexer.keyword === "FILTER" ? yield* filterOf(grammar) : null;
  return { kind: "aggregate", name, operands, isDistinct, filter, offset: index };
}

function* operandsOf(grammar: Grammar): Steps<Syntax[]> {
  const operands: Syntax[] = [];
  if (grammar.lexer.isSymbol(")")) throw grammar.fail("expected an operand");
  do operands.push(yield* grammar.expression(LOOSEST));
  while (grammar.accept(","));
  return operands;
}

/** Parses WITHIN GROUP (ORDER BY operand). Returns the operand, and the fraction from the lowest value up. */
function* sorted(grammar: Grammar, fraction: Syntax): Steps<Syntax[]> {
  const { lexer } = grammar;
  lexer.next();
  grammar.expectWord("GROUP");
  grammar.expectSymbol("(");
  grammar.expectWord("ORDER");
  grammar.expectWord("BY");
  const operand = yield* grammar.expression(LOOSEST);
  const isDescending = lexer.keyword === "DESC";
  if (isDescending || lexer.keyword === "ASC") lexer.next();
  grammar.expectSymbol(")");
  if (!isDescending) return [operand, fraction];
  const one = numberLiteral("1", NOWHERE);
  return [
    operand,
    { kind: "arithmetic", operator: "-", left: one, right: fraction, offset: fraction.offset },
  ];
}

/** Parses FILTER (WHERE condition). */
function* filterOf(grammar: Grammar): Steps<Syntax> {
  grammar.lexer.next();
  grammar.expectSymbol("(");
  grammar.expectWord("WHERE");
  const condition = yield* grammar.expression(LOOSEST);
  grammar.expectSymbol(")");
  return condition;
}
