/** Typed arrays that grow as numbers or bytes are added. */

type Numbers = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array | Float64Array;

/** Returns a copy with zeros after it: twice as long, but at least `least` and at most `most` elements. */
export function enlarged<Values extends Numbers>(
  values: Values,
  least = 0,
  most: number = Number.POSITIVE_INFINITY,
): Values {
  const Type = values.constructor as new (length: number) => Values;
  const larger = new Type(Math.min(most, Math.max(least, 2 * values.length)));
  larger.set(values);
  return larger;
}

/** A list of numbers below 2^32. */
export class NumberList {
  #numbers = new Uint32Array(16);
  length = 0;

  push(number: number): void {
    if (this.length === this.#numbers.length) this.#numbers = enlarged(this.#numbers);
    this.#numbers[this.length++] = number;
  }

  get numbers(): Uint32Array {
    return this.#numbers.subarray(0, this.length);
  }
}
