/** Rows that come batch by batch. */

export {};
