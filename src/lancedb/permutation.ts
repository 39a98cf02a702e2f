/** Shuffles and splits of tables. */

export {};
