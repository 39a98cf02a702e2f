/** Parses and formats decimals as text. Pure. */

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;

/**
 * Parses a number as a whole number of units of 10^-scale.
 * @returns null for a text that is not a number, or has more digits than the precision and scale hold
 */
export function unscaledOf(text: string, precision: number, scale: number): bigint | null {
  const match = DECIMAL.exec(text.trim());
  if (match === null) return null;
  const [, sign, whole, fraction = "", exponent = "0"] = match;
  if (whole === "" && fraction === "") return null;
  const shift = scale + Number(exponent) - fraction.length;
  const digits = (whole + fraction).replace(/^0+(?=\d)/, "");
  // Only zeros may be dropped.
  const kept = shift >= 0 ? digits : digits.slice(0, shift);
  if (shift < 0 && /[1-9]/.test(digits.slice(shift))) return null;
  if (kept.length + Math.max(shift, 0) > precision && /[1-9]/.test(kept)) return null;
  const unscaled = /[1-9]/.test(kept) ? BigInt(kept) * 10n ** BigInt(Math.max(shift, 0)) : 0n;
  return sign === "-" ? -unscaled : unscaled;
}

/** Formats a number of units of 10^-scale: `formatDecimal(1230n, 2)` is "12.30". */
export function formatDecimal(unscaled: bigint, scale: number): string {
  if (scale <= 0) return `${unscaled * 10n ** BigInt(-scale)}`;
  const digits = `${unscaled < 0n ? -unscaled : unscaled}`.padStart(scale + 1, "0");
  return `${unscaled < 0n ? "-" : ""}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
