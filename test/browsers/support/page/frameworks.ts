/** Stands for servers in a page: `fetch` passes requests for their addresses to the handlers. */

type Handler = (request: Request) => Promise<Response>;

const handlers = new Map<string, Handler>();
const fetchOutside = globalThis.fetch;

globalThis.fetch = async (input, init) => {
  const request = new Request(input, init);
  const handler = handlers.get(new URL(request.url).origin);
  return handler === undefined ? fetchOutside(request) : handler(request);
};

interface PageServer {
  readonly handler: Handler;
  closeAllConnections(): void;
  close(closed: () => void): void;
}

export const serverBehind = async (_framework: string, handler: Handler): Promise<PageServer> => ({
  handler,
  closeAllConnections: () => undefined,
  close: (closed) => closed(),
});

export async function listen({ handler }: PageServer): Promise<string> {
  // Handlers answer for the loopback only. Nobody listens on port 1 and those after it.
  const url = `http://127.0.0.1:${handlers.size + 1}`;
  handlers.set(url, handler);
  return url;
}
