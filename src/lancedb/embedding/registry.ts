/** Functions that embed values, by name. */

export {};
