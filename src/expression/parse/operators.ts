/** Operators: how strongly they bind (stronger ones have greater numbers), and which of them compare. */

import type { ComparisonOperator } from "./syntax.js";

/** Of nothing: a whole expression. */
export const LOOSEST = 0;
export const OR = 5;
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

export const SYMBOL_PRECEDENCE: Readonly<Record<string, number>> = {
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

/** Comparisons by how they are written. */
export const COMPARISONS: Readonly<Record<string, ComparisonOperator>> = {
  "=": "=",
  "==": "=",
  "!=": "!=",
  "<>": "!=",
  "<": "<",
  "<=": "<=",
  ">": ">",
  ">=": ">=",
};
