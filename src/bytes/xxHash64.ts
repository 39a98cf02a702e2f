/**
 * xxHash64 with seed 0, over 32-bit words, without bigints. A hash is two words. All products are computed in
 * halves of 16 bits, which doubles hold exactly.
 */

import { readUint32 } from "./littleEndian.js";

/** Words of the primes: high, low. */
const PRIME_1 = [0x9e37_79b1, 0x85eb_ca87] as const;
const PRIME_2 = [0xc2b2_ae3d, 0x27d4_eb4f] as const;
const PRIME_3 = [0x1656_67b1, 0x9e37_79f9] as const;
const PRIME_4 = [0x85eb_ca77, 0xc2b2_ae63] as const;
const PRIME_5 = [0x27d4_eb2f, 0x1656_67c5] as const;

/** Bytes of a stripe: four lanes of eight. */
const STRIPE_BYTES = 32;

/** Holds one hash at a time; one instance serves many values. */
export class XxHash64 {
  /** High and low word of the last hash. */
  high = 0;
  low = 0;
  readonly #lanes = new Uint32Array(8);

  hash(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start;
    let offset = start;
    if (length >= STRIPE_BYTES) {
      offset = this.#stripes(bytes, start, end);
    } else {
      this.high = PRIME_5[0];
      this.low = PRIME_5[1];
    }
    this.#add(0, length);
    for (; offset + 8 <= end; offset += 8) {
      this.#mixWord(readUint32(bytes, offset + 4), readUint32(bytes, offset));
      this.#rotate(27);
      this.#multiply(PRIME_1);
      this.#add(PRIME_4[0], PRIME_4[1]);
    }
    if (offset + 4 <= end) {
      const { high, low } = this;
      this.high = 0;
      this.low = readUint32(bytes, offset);
      this.#multiply(PRIME_1);
      this.#xor(high, low);
      this.#rotate(23);
      this.#multiply(PRIME_2);
      this.#add(PRIME_3[0], PRIME_3[1]);
      offset += 4;
    }
    for (; offset < end; offset++) {
      const { high, low } = this;
      this.high = 0;
      this.low = bytes[offset];
      this.#multiply(PRIME_5);
      this.#xor(high, low);
      this.#rotate(11);
      this.#multiply(PRIME_1);
    }
    this.#xorShifted(33);
    this.#multiply(PRIME_2);
    this.#xorShifted(29);
    this.#multiply(PRIME_3);
    // A shift by 32 moves the high word into the low one.
    this.low = (this.low ^ this.high) >>> 0;
  }

  /** Hashes whole stripes. @returns start of the rest */
  #stripes(bytes: Uint8Array, start: number, end: number): number {
    const lanes = this.#lanes;
    [this.high, this.low] = PRIME_1;
    this.#add(PRIME_2[0], PRIME_2[1]);
    this.#storeLane(0);
    lanes.set(PRIME_2, 2);
    lanes[4] = 0;
    lanes[5] = 0;
    // The first prime, subtracted from 0.
    lanes[6] = ~PRIME_1[0];
    lanes[7] = -PRIME_1[1];
    let index = start;
    for (; index + STRIPE_BYTES <= end; index += STRIPE_BYTES) {
      for (let lane = 0; lane < 4; lane++) {
        const word = index + 8 * lane;
        this.high = readUint32(bytes, word + 4);
        this.low = readUint32(bytes, word);
        this.#multiply(PRIME_2);
        this.#add(lanes[2 * lane], lanes[2 * lane + 1]);
        this.#rotate(31);
        this.#multiply(PRIME_1);
        this.#storeLane(lane);
      }
    }
    let high = 0;
    let low = 0;
    for (let lane = 0; lane < 4; lane++) {
      this.high = lanes[2 * lane];
      this.low = lanes[2 * lane + 1];
      this.#rotate([1, 7, 12, 18][lane]);
      this.#add(high, low);
      ({ high, low } = this);
    }
    for (let lane = 0; lane < 4; lane++) {
      this.#mixWord(lanes[2 * lane], lanes[2 * lane + 1]);
      this.#multiply(PRIME_1);
      this.#add(PRIME_4[0], PRIME_4[1]);
    }
    return index;
  }

  #storeLane(lane: number): void {
    this.#lanes[2 * lane] = this.high;
    this.#lanes[2 * lane + 1] = this.low;
  }

  #mixWord(high: number, low: number): void {
    const { high: hashHigh, low: hashLow } = this;
    this.high = high;
    this.low = low;
    this.#multiply(PRIME_2);
    this.#rotate(31);
    this.#multiply(PRIME_1);
    this.#xor(hashHigh, hashLow);
  }

  #xor(high: number, low: number): void {
    this.high = (this.high ^ high) >>> 0;
    this.low = (this.low ^ low) >>> 0;
  }

  #add(high: number, low: number): void {
    const sum = this.low + low;
    this.low = sum >>> 0;
    this.high = (this.high + high + (sum > 0xffff_ffff ? 1 : 0)) >>> 0;
  }

  #rotate(bits: number): void {
    const { high, low } = this;
    this.high = ((high << bits) | (low >>> (32 - bits))) >>> 0;
    this.low = ((low << bits) | (high >>> (32 - bits))) >>> 0;
  }

  #xorShifted(bits: number): void {
    const { high, low } = this;
    if (bits >= 32) {
      this.low = (low ^ (high >>> (bits - 32))) >>> 0;
      return;
    }
    this.low = (low ^ ((low >>> bits) | (high << (32 - bits)))) >>> 0;
    this.high = (high ^ (high >>> bits)) >>> 0;
  }

  #multiply([high, low]: readonly [number, number]): void {
    const a = this.low & 0xffff;
    const b = this.low >>> 16;
    const c = low & 0xffff;
    const d = low >>> 16;
    const bottom = a * c;
    const middle = b * c + (bottom >>> 16);
    const cross = a * d + (middle & 0xffff);
    const carried = b * d + Math.floor(middle / 0x1_0000) + Math.floor(cross / 0x1_0000);
    this.high = (carried + Math.imul(this.high, low) + Math.imul(this.low, high)) >>> 0;
    this.low = (((cross & 0xffff) << 16) | (bottom & 0xffff)) >>> 0;
  }
}
