/** Serves a page and the files of a bundle on loopback. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface BundleServer {
  readonly url: string;
  close(): void;
}

/** Path of the page that is cross-origin isolated, and may share memory with its workers. */
export const ISOLATED = "/isolated";

/**
 * @param pages HTML by path
 * @param files scripts by path, without a slash before it
 */
export async function serveBundle(
  pages: Readonly<Record<string, string>>,
  files: ReadonlyMap<string, { readonly code: string }>,
): Promise<BundleServer> {
  const server = createServer(({ url = "/" }, response) => {
    if (url === ISOLATED) response.setHeader("cross-origin-opener-policy", "same-origin");
    // Pages that are isolated load only workers with this header.
    if (url === ISOLATED || !Object.hasOwn(pages, url)) {
      response.setHeader("cross-origin-embedder-policy", "require-corp");
    }
    if (Object.hasOwn(pages, url)) return response.setHeader("content-type", "text/html").end(pages[url]);
    const file = files.get(url.slice(1));
    if (file === undefined) return response.writeHead(404).end();
    response.setHeader("content-type", "text/javascript").end(file.code);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
