/** Widths of texts in a terminal, and texts without characters that a terminal obeys. Pure. */

/** Control characters, and those that change the direction or break lines. */
const UNSHOWN = /[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;
/** Characters of East Asian scripts, and signs, that take two columns. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]/u;
const EMOJI = /\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f/u;
/** Marks that belong to the character before them. */
const ONLY_MARKS = /^[\p{M}\u200c\u200d]+$/u;

const SHORT_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Replaces characters that a terminal would obey by escapes, such as `\u{1b}`. */
export const shownText = (text: string): string =>
  text.replace(
    UNSHOWN,
    (character) => SHORT_ESCAPES[character] ?? `\\u{${(character.codePointAt(0) as number).toString(16)}}`,
  );

/** Returns the number of columns that a text takes in a terminal. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += segmentWidth(segment);
  return width;
}

/** Returns the start of a text that fits into a number of columns, at least 1. A cut text ends with `…`. */
export function cutToWidth(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let cut = "";
  let used = 1;
  for (const { segment } of segmenter.segment(text)) {
    used += segmentWidth(segment);
    if (used > width) break;
    cut += segment;
  }
  return `${cut}…`;
}

function segmentWidth(segment: string): number {
  if (ONLY_MARKS.test(segment)) return 0;
  return WIDE.test(segment) || EMOJI.test(segment) ? 2 : 1;
}
