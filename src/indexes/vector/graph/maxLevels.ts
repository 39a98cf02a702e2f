/** Bound on the height of a graph. */

/** Maximum number of levels. */
export const MAX_LEVELS = 7;
