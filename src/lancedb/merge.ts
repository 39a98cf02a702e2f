/** Merges of rows by key. */

export {};
