/** Insertion of rows. Its first call loads this module. */

export { insertIntoTable } from "../operations/rows/insertIntoTable.js";
