/** Decimals: texts parsed, scales changed. */

/** Converts an unscaled value to another scale. Halves are rounded away from zero. */
export function rescale(value: bigint, from: number, to: number): bigint {
  if (to >= from) return value * 10n ** BigInt(to - from);
  const divisor = 10n ** BigInt(from - to);
  const half = divisor / 2n;
  return value < 0n ? -((-value + half) / divisor) : (value + half) / divisor;
}

/** Maximum number of characters of a number: no type has nearly as many digits, and parsing them is slow. */
const MAX_NUMBER_TEXT = 1000;

export function parseDecimal(text: string, scale: number): bigint | null {
  if (text.length > MAX_NUMBER_TEXT) return null;
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (match === null || `${match[2]}${match[3] ?? ""}` === "") return null;
  const fraction = match[3] ?? "";
  const digits = BigInt(match[2] + fraction);
  const value = rescale(digits, fraction.length - Number(match[4] ?? 0), scale);
  return match[1] === "-" ? -value : value;
}
