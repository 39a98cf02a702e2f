/** Credentials for OAuth tokens. */

export {};
