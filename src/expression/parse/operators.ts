/** Operators, with their precedences: stronger ones have greater numbers. */

/** Precedence of a whole expression. */
export const LOOSEST = 0;
export const AND = 10;
export const NOT = 15;
export const IS = 17;
export const LIKE = 19;
export const COMPARE = 20;
const SHIFT = 22;
const ADD = 30;
export const MULTIPLY = 40;
const CAST = 50;
const MEMBER = 100;

export const PRECEDENCE: Readonly<Record<string, number>> = {
  OR: 5,
  AND,
  IS,
  LIKE,
  ILIKE: LIKE,
  IN: COMPARE,
  BETWEEN: COMPARE,
  "=": COMPARE,
  "==": COMPARE,
  "!=": COMPARE,
  "<>": COMPARE,
  "<": COMPARE,
  "<=": COMPARE,
  ">": COMPARE,
  ">=": COMPARE,
  "<<": SHIFT,
  ">>": SHIFT,
  "+": ADD,
  "-": ADD,
  "*": MULTIPLY,
  "/": MULTIPLY,
  "%": MULTIPLY,
  "||": MULTIPLY,
  "::": CAST,
  "[": MEMBER,
  ".": MEMBER,
};
