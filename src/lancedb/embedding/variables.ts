/** Values that options of embedding functions name, such as API keys. The registry sets them. */

/** Values by name. */
export const variables = new Map<string, string>();
