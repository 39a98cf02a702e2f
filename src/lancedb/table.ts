/** Handles of tables. */

export {};
