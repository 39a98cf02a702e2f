/** Merging of rows by key. Its first call loads this module. */

export { mergeInsertIntoTable } from "../operations/rows/mergeInsertIntoTable.js";
