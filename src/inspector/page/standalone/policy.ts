/** Limits the requests of the page to the address that the user chose. */

/**
 * Adds a policy to the page, which nothing can take back. The browser then refuses requests to all other
 * addresses, also those that a host redirects to another host.
 * @param directory the only address that may be read; null: no request is allowed
 */
export function limitRequests(directory: URL | null): void {
  const meta = document.createElement("meta");
  meta.httpEquiv = "Content-Security-Policy";
  meta.content = `connect-src ${directory === null ? "'none'" : sourceOf(directory)}`;
  document.head.append(meta);
}

/** Returns a directory as a source of a policy. Semicolons and commas would end the source. */
const sourceOf = ({ origin, pathname }: URL): string =>
  origin + pathname.replaceAll(";", "%3B").replaceAll(",", "%2C");
