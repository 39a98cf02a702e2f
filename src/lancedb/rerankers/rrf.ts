/** Reciprocal rank fusion. */

export {};
