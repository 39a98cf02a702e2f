/**
 * Letters in another case. Long texts are changed piece by piece. They are cut between two characters on which the case of
 * no other depends: a final sigma is told by the letters around it, past marks and apostrophes.
 */

import type { Steps } from "../../async/eventLoop.js";
import { endOfCharacter } from "../values/characters.js";
import type { GrowingTexts } from "../values/growing.js";
import { decodeText } from "../values/operands.js";

export const lowerCase = (text: string): string => text.toLowerCase();
export const upperCase = (text: string): string => text.toUpperCase();

/** Bytes of a piece. */
const PIECE_BYTES = 2 ** 15;
/** Bytes behind a piece in which a place to cut is looked for. */
const MAX_LOOKED = 2 ** 14;

const encoder = new TextEncoder();

/** Adds a text with its letters changed. */
export function* changedInPieces(
  bytes: Uint8Array,
  start: number,
  end: number,
  texts: GrowingTexts,
  change: (piece: string) => string,
): Steps<void> {
  for (let from = start; from < end; ) {
    const stop = end - from <= PIECE_BYTES ? end : cutBehind(bytes, from + PIECE_BYTES, end);
    const changed = encoder.encode(change(decodeText(bytes, from, stop)));
    texts.put(changed, 0, changed.length);
    from = stop;
    if (from < end) yield;
  }
}

/** The first place from `least` on at which a text may be cut. */
function cutBehind(bytes: Uint8Array, least: number, end: number): number {
  let at = least;
  while (at < end && (bytes[at] & 0xc0) === 0x80) at++;
  const most = Math.min(end, at + MAX_LOOKED);
  let isBefore = false;
  for (let place = at; place < most; ) {
    const next = endOfCharacter(bytes, place, end);
    const isPlain = PLAIN.test(decodeText(bytes, place, next));
    if (isPlain && isBefore) return place;
    isBefore = isPlain;
    place = next;
  }
  // Nobody writes so many marks behind each other.
  return at;
}

/** Characters other than the sigma that end what its case depends on. */
const PLAIN = /^(?!Σ)[\p{Lu}\p{Ll}\p{Lo}\p{N}\p{Zs}]$/u;

/** Words with an upper-case letter first, piece by piece. */
export class WordCase {
  /** Whether the piece before ended inside a word. */
  #isInWord = false;

  change(piece: string): string {
    const lower = piece.toLowerCase();
    let isFirst = this.#isInWord;
    const changed = lower.replace(/[\p{L}\p{N}]+/gu, (word, offset: number) => {
      const goesOn = isFirst && offset === 0;
      isFirst = false;
      if (goesOn) return word;
      const first = String.fromCodePoint(word.codePointAt(0) as number);
      return first.toUpperCase() + word.slice(first.length);
    });
    this.#isInWord = /[\p{L}\p{N}]$/u.test(lower);
    return changed;
  }
}
