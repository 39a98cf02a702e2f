/** Queries that are built step by step. */

export {};
