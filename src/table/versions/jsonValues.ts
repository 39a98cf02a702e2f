/**
 * Checks of what parsing JSON has given: the small files beside the manifests come from other programs too.
 */

/**
 * True if a value is an integer of at least 0 that a double holds exactly, such as a number of bytes or a
 * version.
 */
export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;

export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isStringMap = (value: unknown): value is Record<string, string> =>
  isJsonObject(value) && Object.values(value).every((entry) => typeof entry === "string");
