/** Arrow data of LanceDB's calls: programs' rows to tables, and everything that apache-arrow exports. */

export {};
