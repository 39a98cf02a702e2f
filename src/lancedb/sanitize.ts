/** Arrow values of another copy of apache-arrow, as values of this one. */

export {};
