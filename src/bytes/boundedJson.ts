/**
 * JSON of files that anybody may have written. Values within values are bounded: `JSON.stringify`, and whatever else walks
 * a value by recursion, would run out of stack on one that `JSON.parse` still takes.
 */

/** Deeper than what any release writes. */
const MAX_DEPTH = 64;

/** @throws SyntaxError for what is not JSON, or has more than 64 objects and lists within each other */
export function parseBoundedJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (isTooDeep(text)) throw new SyntaxError(`more than ${MAX_DEPTH} JSON values lie within each other`);
  return value;
}

/** @param text JSON */
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
