/**
 * Files of the built page. The bundler puts a module with the files in the place of this one. Run from the
 * sources, there is no built page.
 */

/** Text of each file by its path below the page. Null: the page is not built. */
export const PAGE_FILES: Readonly<Record<string, string>> | null = null;
