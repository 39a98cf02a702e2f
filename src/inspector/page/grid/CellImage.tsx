import { useEffect, useState } from "preact/hooks";
import { connected, type ImageCell } from "../calls.ts";

interface CellImageProps {
  readonly of: ImageCell;
  readonly alt: string;
  readonly class: string;
}

/** An image in a cell. The browser decodes it; formats that run code are never passed on. */
export function CellImage({ of, ...attributes }: CellImageProps) {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    const image = connected().image(of, abort.signal);
    if (typeof image === "string") {
      setAddress(image);
      return undefined;
    }
    setAddress(null);
    let objectUrl: string | null = null;
    image.then(
      (blob) => {
        if (abort.signal.aborted) return;
        objectUrl = URL.createObjectURL(blob);
        setAddress(objectUrl);
      },
      // The alternative text stays.
      () => abort.signal.aborted || setAddress(""),
    );
    return () => {
      abort.abort();
      if (objectUrl !== null) URL.revokeObjectURL(objectUrl);
    };
  }, [JSON.stringify(of)]);
  if (address === null) return <span class="pending" />;
  return <img loading="lazy" decoding="async" src={address} {...attributes} />;
}
