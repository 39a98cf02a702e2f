/**
 * Parses JSON of files that anybody may have written, with a bound on nesting. `JSON.parse` takes values so
 * deep that `JSON.stringify` and other recursive code runs out of stack.
 */

/** Deeper than any release writes. */
const MAX_DEPTH = 64;

/** @throws SyntaxError for text that is not JSON, or that nests more than 64 objects and lists */
export function parseBoundedJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (isTooDeep(text)) throw new SyntaxError(`JSON values are nested more than ${MAX_DEPTH} deep`);
  return value;
}

/** @param text valid JSON */
function isTooDeep(text: string): boolean {
  let depth = 0;
  let isInText = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (isInText) {
      if (character === "\\") index++;
      else if (character === '"') isInText = false;
    } else if (character === '"') isInText = true;
    else if (character === "[" || character === "{") {
      if (++depth > MAX_DEPTH) return true;
    } else if (character === "]" || character === "}") depth--;
  }
  return false;
}
