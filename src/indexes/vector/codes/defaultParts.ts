/** Number of parts into which product codes cut a vector. */

/** Returns the default number of subvectors. */
export const defaultParts = (dimension: number): number =>
  dimension % 16 === 0 ? dimension / 16 : dimension % 8 === 0 ? dimension / 8 : 1;
