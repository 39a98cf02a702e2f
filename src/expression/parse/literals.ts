/** Literals, lists of literals, and names of types. */

import type { Steps } from "../../async/eventLoop.js";
import type { Grammar } from "./grammar.js";
import { LOOSEST } from "./operators.js";
import type { Syntax, SyntaxOf, TypeName } from "./syntax.js";
import { hexDigit } from "./tokens.js";

/** Maximum number of digits that a double always holds exactly. */
const EXACT_DIGITS = 15;
/** Maximum number of digits of a whole number. No type holds more, and reading them takes long. */
const MOST_DIGITS = 1000;

export function numberLiteral(text: string, index: number): SyntaxOf<"number"> {
  const isWhole = !/[.eE]/.test(text);
  if (!isWhole || text.length <= EXACT_DIGITS) {
    return { kind: "number", value: Number(text), isWhole, text, offset: index };
  }
  const digits = text.length <= MOST_DIGITS ? text : text.replace(/^(-?)0+(?=.)/, "$1");
  const value = digits.length <= MOST_DIGITS ? BigInt(digits) : Number(digits);
  return { kind: "number", value, isWhole: typeof value === "bigint", text: digits, offset: index };
}

export function hexBytes(grammar: Grammar, digits: string): Uint8Array {
  if (!/^[0-9a-fA-F]*$/.test(digits)) throw grammar.fail("expected hexadecimal digits");
  // The first digit of an odd number of digits is a byte.
  const bytes = new Uint8Array((digits.length + 1) >>> 1);
  for (let index = digits.length - 1, low = true, byte = bytes.length; index >= 0; index--, low = !low) {
    const digit = hexDigit(digits.charCodeAt(index));
    if (low) bytes[--byte] = digit;
    else bytes[byte] |= digit << 4;
  }
  return bytes;
}

/** Parses items with commas between them, up to a bracket. The list may be empty. */
export function* listItems(grammar: Grammar, closing: ")" | "]"): Steps<Syntax[]> {
  const items: Syntax[] = [];
  if (!grammar.lexer.isSymbol(closing)) {
    do {
      if (grammar.pace.isStep()) yield;
      items.push(simpleItem(grammar) ?? (yield* grammar.expression(LOOSEST)));
    } while (grammar.accept(","));
  }
  return items;
}

/** Returns a literal before a comma or parenthesis, like most items of long lists; null for other items. */
function simpleItem(grammar: Grammar): Syntax | null {
  const { lexer } = grammar;
  const { start } = lexer;
  if (lexer.kind !== "number" && lexer.kind !== "text") return null;
  const item: Syntax =
    lexer.kind === "number"
      ? numberLiteral(lexer.text, start)
      : { kind: "text", value: lexer.text, offset: start };
  lexer.next();
  if (lexer.isSymbol(",") || lexer.isSymbol(")")) return item;
  lexer.rewind(start);
  return null;
}

/** Units that may follow the number of an interval. */
const INTERVAL_UNITS: ReadonlySet<string> = new Set(
  "CENTURY DECADE YEAR MONTH WEEK DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND NANOSECOND".split(" "),
);

/** Parses an interval after that word. */
export function intervalLiteral(grammar: Grammar, index: number): Syntax {
  const { lexer } = grammar;
  const { text } = lexer;
  lexer.next();
  const unit = lexer.keyword.replace(/S$/, "");
  if (!INTERVAL_UNITS.has(unit)) return { kind: "interval", text, offset: index };
  lexer.next();
  return { kind: "interval", text: `${text} ${unit.toLowerCase()}`, offset: index };
}

export function typeNameAt(grammar: Grammar): TypeName {
  const { lexer } = grammar;
  const { start: index, keyword: name } = lexer;
  if (lexer.kind !== "word") throw grammar.fail(`expected a type, not ${grammar.shown()}`);
  lexer.next();
  const parameters: number[] = [];
  if (grammar.accept("(")) {
    do {
      if (!/^\d{1,9}$/.test(lexer.text)) throw grammar.fail("expected a whole number");
      parameters.push(Number(lexer.text));
      lexer.next();
    } while (grammar.accept(","));
    grammar.expectSymbol(")");
  }
  const isUnsigned = lexer.keyword === "UNSIGNED";
  if (isUnsigned) lexer.next();
  return { name, isUnsigned, parameters, offset: index };
}
