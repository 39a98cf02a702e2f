/** Creation of a table with its first rows. Its first call loads this module. */

export { createTable } from "../operations/table/createTable.js";
