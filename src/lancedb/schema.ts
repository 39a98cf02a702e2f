/** Schemas inferred from rows. */

export {};
