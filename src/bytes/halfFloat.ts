/**
 * 16-bit floats (IEEE 754 binary16) as their bits:
 *
 *     bit 15       sign
 *     bits 14..10  exponent, biased by 15; 0 for zero and subnormals, 31 for infinities and NaN
 *     bits 9..0    fraction
 */

/** Finite values of at least this size round to infinity. */
const OVERFLOW = 65_520;
const SMALLEST_NORMAL = 2 ** -14;
const SUBNORMAL_UNIT = 2 ** -24;
const NAN_BITS = 0x7e00;
const INFINITY_BITS = 0x7c00;

const float64 = new Float64Array(1);
const words = new Uint32Array(float64.buffer);

/** Returns the nearest 16-bit float, ties to even. */
export function encodeHalfFloat(value: number): number {
  if (Number.isNaN(value)) return NAN_BITS;
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude >= OVERFLOW) return sign | INFINITY_BITS;
  if (magnitude < SMALLEST_NORMAL) return sign | roundToEven(magnitude / SUBNORMAL_UNIT);
  float64[0] = magnitude;
  const exponent = ((words[1] >>> 20) & 0x7ff) - 1023;
  const fraction = roundToEven(magnitude * 2 ** (10 - exponent)) - 1024;
  // A fraction that was rounded up to 1024 correctly carries into the exponent.
  return sign | (((exponent + 15) << 10) + fraction);
}

export function decodeHalfFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * fraction * SUBNORMAL_UNIT;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

function roundToEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below;
}
