/**
 * Multiplicative hashing after Knuth: the highest bits of a word's product with {@link HASH_PRIME} are its
 * slot.
 */

/** A prime near 2^32 divided by the golden ratio. */
export const HASH_PRIME = 0x9e3779b1;
