/** Telling apart kinds of memory of any realm: `instanceof` knows only the classes of the realm that asks. */

/**
 * What the platform calls a value, e.g. "ArrayBuffer" or "Uint32Array". An object that gives itself such a name gets
 * through, so this serves for what is checked again where it is read.
 */
export const tagOf = (value: unknown): string =>
  Object.prototype.toString.call(value).slice("[object ".length, -1);
