/** Handles of jobs. */

export {};
