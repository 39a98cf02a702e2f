/** Connections to databases. */

export {};
