/** Blob columns: their fields, and files read in pieces. */

export {};
