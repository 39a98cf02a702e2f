/** Small helpers that LanceDB exports. */

export {};
