/** Base classes of functions that embed values. */

export {};
