/** Errors that point into the text of an expression. */

import { InvalidInputError } from "../../errors.js";
import { NOWHERE } from "./syntax.js";

/** The origin of an expression, for messages. */
export interface ExpressionSource {
  /** The caller's name for it: `filter`, `expression of column a`. */
  readonly label: string;
  /** Null for an expression that a program built. */
  readonly text: string | null;
}

const CONTEXT = 40;

/**
 * The message with the position, and below it the part of the text around it with a caret:
 *
 *     filter: expected an operand at position 8
 *         x > 1 and
 *                 ^
 */
export function problemText({ label, text }: ExpressionSource, offset: number, reason: string): string {
  if (text === null || offset === NOWHERE) return `${label}: ${reason}`;
  const start = Math.max(0, Math.min(offset, text.length) - CONTEXT);
  const end = Math.min(text.length, offset + CONTEXT);
  const head = start > 0 ? "…" : "";
  // A tab or line break would move the caret.
  const shown = (part: string) => part.replace(/[\s\p{Cc}]/gu, " ");
  const before = `${head}${shown(text.slice(start, offset))}`;
  const line = `${before}${shown(text.slice(offset, end))}${end < text.length ? "…" : ""}`;
  return `${label}: ${reason} at position ${offset}\n    ${line}\n    ${" ".repeat(before.length)}^`;
}

export function problem(source: ExpressionSource, index: number, reason: string): InvalidInputError {
  return new InvalidInputError(problemText(source, index, reason));
}
