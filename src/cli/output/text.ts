/** Texts that a terminal shows and does not obey. Pure. */

/** Control characters, and those that change the direction of a text or cannot be seen. */
const UNSHOWN = /[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;
/** Characters of {@link UNSHOWN} except the end of a line. */
const UNSHOWN_IN_LINES =
  /(?!\n)[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

const SHORT_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

const escapeOf = (character: string): string =>
  SHORT_ESCAPES[character] ?? `\\u{${(character.codePointAt(0) as number).toString(16)}}`;

/** Replaces characters that a terminal would obey by escapes, such as `\u{1b}`. */
export const visibleText = (text: string): string => text.replace(UNSHOWN, escapeOf);

/** Replaces the same characters except ends of lines. */
export const visibleLines = (text: string): string => text.replace(UNSHOWN_IN_LINES, escapeOf);

/** Replaces the same characters in JSON text by escapes of JSON, so that its value does not change. */
export const visibleJson = (json: string): string =>
  json.replace(UNSHOWN_IN_LINES, (characters) =>
    Array.from({ length: characters.length }, (_, index) => {
      const unit = characters.charCodeAt(index);
      return `\\u${unit.toString(16).padStart(4, "0")}`;
    }).join(""),
  );

/**
 * Returns a value as indented JSON. Integers of 64 bits are numbers if they are safe, else texts. Bytes are
 * base64, and vectors arrays.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(
    value,
    (_, member) => {
      if (ArrayBuffer.isView(member)) {
        const items = Array.from(member as Uint8Array);
        return (member as Uint8Array)[Symbol.toStringTag] === "Uint8Array"
          ? Buffer.from(items).toString("base64")
          : items;
      }
      if (typeof member !== "bigint") return member;
      const number = Number(member);
      return Number.isSafeInteger(number) ? number : String(member);
    },
    2,
  );
  return visibleJson(text ?? "null");
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Returns a number of bytes with a unit: `1.4 MiB`. */
export function sizeText(bytes: number): string {
  let unit = 0;
  let value = bytes;
  for (; value >= 1024 && unit < UNITS.length - 1; unit++) value /= 1024;
  return `${unit === 0 ? value : value < 100 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

/** Returns a number with groups of three digits: `1,048,576`. */
export const countText = (count: number): string => count.toLocaleString("en-US");

/** Returns a number with its noun: `1 row`, `2 rows`. */
export const countOf = (count: number, noun: string, plural = `${noun}s`): string =>
  `${countText(count)} ${count === 1 ? noun : plural}`;

/** Returns a moment as text: `2026-11-28 06:00:00Z`. */
export const timeText = (millis: number): string =>
  new Date(millis)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, "Z");
