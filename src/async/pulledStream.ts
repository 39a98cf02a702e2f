/** Makes streams of iterators. */

/**
 * Returns a stream that reads a piece when one is wanted, and none ahead.
 * @param cancel releases the source if the stream is cancelled
 */
export function pulledStream<Piece>(
  pieces: AsyncIterator<Piece>,
  cancel: () => Promise<unknown>,
): ReadableStream<Piece> {
  return new ReadableStream<Piece>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await cancel();
      },
    },
    { highWaterMark: 0 },
  );
}
