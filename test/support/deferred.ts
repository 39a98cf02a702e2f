/** Makes a promise and the function that resolves it, as `Promise.withResolvers` does from Node 22 on. */
export function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
