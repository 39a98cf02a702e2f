/** Kinds of indexes and their settings. */

export {};
