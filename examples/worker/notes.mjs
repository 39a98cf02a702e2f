/** Notes about trees, and vectors of texts. The Worker and the program that fills the bucket share them. */

export { DIMENSION, notes, vectorOf } from "../browser/notes.mjs";
