/**
 * Names as text: field paths (`a.b`), object identifiers (parts joined by a delimiter), and the rules for
 * names. Pure. A segment of a field path that contains a dot or a backtick is quoted:
 *
 *     field path   segment ("." segment)*
 *     segment      bare text without dot and backtick, or "`" text "`" with each backtick of the text doubled
 */

import { InvalidInputError } from "./errors.js";

/** Default delimiter between the parts of an identifier. */
export const DEFAULT_DELIMITER = "$";

/** Maximum bytes of UTF-8 in the name of a namespace, or of a table inside one. */
const MAX_OBJECT_NAME_BYTES = 200;

/**
 * Returns the segments of a field path without quotes. Spaces are ordinary characters, and nothing is
 * trimmed.
 * @throws InvalidInputError naming the position of the mistake
 */
export function parseFieldPath(text: string): string[] {
  if (typeof text !== "string") throw new InvalidInputError("field path must be a string");
  if (text === "") throw new InvalidInputError("field path cannot be empty");
  const invalid = (reason: string, position: number) =>
    new InvalidInputError(`invalid field path '${text}': ${reason} at position ${position}`);
  const segments: string[] = [];
  let position = 0;
  for (;;) {
    const start = position;
    if (text[position] === "`") {
      let segment = "";
      position++;
      for (;;) {
        const quote = text.indexOf("`", position);
        if (quote < 0) throw invalid("unclosed quote", start);
        segment += text.slice(position, quote);
        position = quote + 1;
        if (text[position] !== "`") break;
        segment += "`";
        position++;
      }
      if (segment === "") throw invalid("empty field name", start);
      if (position < text.length && text[position] !== ".") {
        throw invalid("expected '.' or the end after a closing quote", position);
      }
      segments.push(segment);
    } else {
      const dot = text.indexOf(".", position);
      const segment = text.slice(position, dot < 0 ? text.length : dot);
      if (segment === "") {
        throw invalid(position === text.length ? "trailing dot" : "empty field name", position);
      }
      const quote = segment.indexOf("`");
      if (quote >= 0) throw invalid("quote in the middle of a field name", position + quote);
      segments.push(segment);
      position += segment.length;
    }
    if (position === text.length) return segments;
    position++;
  }
}

/** Returns the canonical text of a field path, in which only segments that need quotes are quoted. */
export function formatFieldPath(segments: readonly string[]): string {
  return segments.map(formatSegment).join(".");
}

/** Returns a field path as LanceDB lists it: quoted unless it only has letters, digits and `_`. */
export const formatQuotedPath = (segments: readonly string[]): string =>
  segments
    .map((segment) =>
      /^[\p{Alphabetic}\p{N}_]*$/u.test(segment) ? segment : `\`${segment.replaceAll("`", "``")}\``,
    )
    .join(".");

function formatSegment(segment: string): string {
  return /[.`]/.test(segment) ? `\`${segment.replaceAll("`", "``")}\`` : segment;
}

/**
 * Returns the parts of an identifier. The delimiter alone is the root namespace, which has no parts.
 * @throws InvalidInputError for an empty text, part or delimiter
 */
export function parseIdentifier(text: string, delimiter: string = DEFAULT_DELIMITER): string[] {
  checkDelimiter(delimiter);
  if (typeof text !== "string") throw new InvalidInputError("identifier must be a string");
  if (text === delimiter) return [];
  if (text === "") throw new InvalidInputError("identifier cannot be empty");
  const parts = text.split(delimiter);
  let position = 0;
  for (const part of parts) {
    if (part === "")
      throw new InvalidInputError(`invalid identifier '${text}': empty part at position ${position}`);
    position += part.length + delimiter.length;
  }
  return parts;
}

/** Returns the text of an identifier. The root namespace is the delimiter alone. */
export function formatIdentifier(parts: readonly string[], delimiter: string = DEFAULT_DELIMITER): string {
  checkDelimiter(delimiter);
  return parts.length === 0 ? delimiter : parts.join(delimiter);
}

function checkDelimiter(delimiter: string): void {
  if (typeof delimiter !== "string" || delimiter === "")
    throw new InvalidInputError("delimiter cannot be empty");
}

/**
 * Checks the name of a table directly under the root. The name is also that of a directory, so it must be
 * legal on every file system and in the reference.
 * @throws InvalidInputError
 */
export function checkRootTableName(name: string): void {
  if (typeof name !== "string" || !/^[A-Za-z0-9_.-]{1,200}$/.test(name)) {
    throw invalidName("table", name, "must be 1 to 200 of the characters A-Z a-z 0-9 _ . -");
  }
  if (name === "." || name === "..") throw invalidName("table", name, "is reserved");
  if (name.startsWith("__")) throw invalidName("table", name, "must not start with two underscores");
}

/** True if {@link checkRootTableName} accepts a name. */
export function isRootTableName(name: string): boolean {
  return /^[A-Za-z0-9_.-]{1,200}$/.test(name) && name !== "." && name !== ".." && !name.startsWith("__");
}

/**
 * Checks the name of a namespace, or of a table inside one.
 * @throws InvalidInputError
 */
export function checkObjectName(name: string): void {
  if (typeof name !== "string" || name === "") throw invalidName("object", name, "cannot be empty");
  if (name === "." || name === "..") throw invalidName("object", name, "is reserved");
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index);
    if (unit < 0x20 || (unit >= 0x7f && unit <= 0x9f)) {
      throw invalidName("object", name, `has a control character at position ${index}`);
    }
    if (unit === 0x2f || unit === 0x5c || unit === 0x24) {
      throw invalidName("object", name, `has '${name[index]}' at position ${index}`);
    }
  }
  if (!isWellFormed(name)) throw invalidName("object", name, "is not well-formed Unicode");
  if (new TextEncoder().encode(name).length > MAX_OBJECT_NAME_BYTES) {
    throw invalidName("object", name, `takes more than ${MAX_OBJECT_NAME_BYTES} bytes of UTF-8`);
  }
}

/** True if a text is well-formed Unicode. UTF-8 would replace a lone surrogate with another character. */
export const isWellFormed = (text: string): boolean => !/[\ud800-\udfff]/u.test(text);

/**
 * Checks the name of a namespace. A single quote is not allowed: the reference can't list the namespace's
 * content.
 * @throws InvalidInputError
 */
export function checkNamespaceName(name: string): void {
  checkObjectName(name);
  const quote = name.indexOf("'");
  if (quote >= 0) throw invalidName("namespace", name, `has ' at position ${quote}`);
}

function invalidName(kind: string, name: unknown, reason: string): InvalidInputError {
  const shown = typeof name === "string" ? JSON.stringify(name.slice(0, 300)) : `of type ${typeof name}`;
  return new InvalidInputError(`invalid ${kind} name ${shown}: ${reason}`);
}

/** Form of a UUID from `crypto.randomUUID`. */
export const UUID_FORM = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
