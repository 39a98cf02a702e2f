/**
 * Changes the case of letters. Long texts are changed piece by piece. A cut lies between two characters that
 * do not affect the case of others: the letters around a final sigma decide its form, across marks and
 * apostrophes.
 */

import type { Steps } from "../../async/eventLoop.js";
import type { TextLane } from "../kernels/textRows.js";
import { endOfCharacter } from "../values/characters.js";
import type { GrowingTexts } from "../values/growing.js";
import { decodeText } from "../values/operands.js";

const PIECE_BYTES = 2 ** 15;
/** Maximum number of bytes after a piece in which a cut is searched. */
const MAX_LOOKED = 2 ** 14;

/** Adds a text of a row with its letters changed. Long texts are changed in steps. */
export function addChanged(
  lane: TextLane,
  row: number,
  texts: GrowingTexts,
  change: (piece: string) => string,
): Steps<void> | undefined {
  const [start, end] = [lane.start(row), lane.end(row)];
  if (end - start > PIECE_BYTES) return changedInPieces(lane.bytes, start, end, texts, change);
  texts.putText(change(decodeText(lane.bytes, start, end)));
  return undefined;
}

function* changedInPieces(
  bytes: Uint8Array,
  start: number,
  end: number,
  texts: GrowingTexts,
  change: (piece: string) => string,
): Steps<void> {
  for (let from = start; from < end; ) {
    const stop = end - from <= PIECE_BYTES ? end : cutAfter(bytes, from + PIECE_BYTES, end);
    texts.putText(change(decodeText(bytes, from, stop)));
    from = stop;
    if (from < end) yield;
  }
}

/** Returns the first offset from `min` on at which a cut is allowed. */
function cutAfter(bytes: Uint8Array, min: number, end: number): number {
  const first = endOfCharacter(bytes, min - 1, end);
  const max = Math.min(end, first + MAX_LOOKED);
  let isPlainBefore = false;
  for (let offset = first; offset < max; ) {
    const next = endOfCharacter(bytes, offset, end);
    const isPlain = PLAIN.test(decodeText(bytes, offset, next));
    if (isPlain && isPlainBefore) return offset;
    isPlainBefore = isPlain;
    offset = next;
  }
  // No natural text has this many marks in a row.
  return first;
}

/** Characters other than sigma that do not affect the case of letters after them. */
const PLAIN = /^(?!Σ)[\p{Lu}\p{Ll}\p{Lo}\p{N}\p{Zs}]$/u;

/** Changes words to begin with an upper-case letter, piece by piece. */
export class WordCase {
  #before = "";

  change(piece: string): string {
    const lower = piece.toLowerCase();
    const isInWord = this.#before !== "" && WORD_END.test(this.#before);
    this.#before = lower;
    return lower.replace(WORDS, (word, offset: number) => {
      if (isInWord && offset === 0) return word;
      const first = String.fromCodePoint(word.codePointAt(0) as number);
      return first.toUpperCase() + word.slice(first.length);
    });
  }
}

const WORDS = /[\p{L}\p{N}]+/gu;
const WORD_END = /[\p{L}\p{N}]$/u;
